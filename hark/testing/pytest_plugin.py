"""The pytest plugin: a test marked `@pytest.mark.hark("run.hark")` is replayed from its bundle.

Always: a marked test is recorded only where that was asked for, and otherwise replayed, without network. It
runs inside a boundary (`hark.testing.pytest_boundary`), or in pytest's own process
(`hark.testing.pytest_process`), and the report says which it was. Where no boundary can be had a replay is
played in the process; a recording is made there only by the caller's word, since nothing is contained then.
"""

import sys
from typing import Any, Final

import pytest

from hark.testing.pytest_marks import MARKER, HarkFailure, bundle_of, is_recorded, marker_of

MARKER_WORDS: Final = (
    f"{MARKER}(bundle, policy, programs): run the test again from this bundle, without network; the policy "
    "is for recording, and programs may be started where the test runs in pytest's own process"
)
MODES: Final = ("none", "once", "all")
AUTO: Final = "auto"
BOUNDARY: Final = "boundary"
PROCESS: Final = "process"
_WHY = pytest.StashKey[str]()
"""Why this machine has no boundary; empty where it has one."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the options of the plugin."""
    group = parser.getgroup("hark")
    group.addoption(
        "--hark-record",
        choices=MODES,
        default="none",
        help="record the bundles of marked tests: none (default), once (where there is none), all (anew)",
    )
    group.addoption(
        "--hark-way",
        choices=(AUTO, BOUNDARY, PROCESS),
        default=AUTO,
        help="run marked tests in a boundary, or in pytest's own process, where nothing is contained; auto "
        "(default): in a boundary, and replays in the process where this machine has none",
    )
    group.addoption(
        "--hark-inside",
        action="store_true",
        help="hark's own: this process is inside a boundary, and runs marked tests as they stand",
    )
    parser.addini("hark_policy", "policy for recording marked tests, unless the marker names one", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and have a process inside say how its test ended."""
    config.addinivalue_line("markers", MARKER_WORDS)
    if config.getoption("hark_inside"):
        from hark.testing.pytest_inside import Inside

        config.pluginmanager.register(Inside(), "hark-inside")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test in this process where that is the way."""
    marker = marker_of(item)
    if marker is None:
        return None
    if way_of(item, marker) == PROCESS:
        from hark.testing import pytest_process

        pytest_process.run(item, marker, nextitem)
        return True
    item.setup = _nothing  # type: ignore[method-assign]  # the fixtures are made where the test runs
    return None


def _nothing() -> None:
    """Set up nothing."""


def way_of(item: pytest.Item, marker: pytest.Mark) -> str:
    """Return which way a marked test goes. This machine is asked once."""
    asked: str = item.config.getoption("hark_way")
    if asked != AUTO:
        return asked
    bundle = bundle_of(item, marker)
    if not bundle.exists() or is_recorded(item, bundle) or not _missing(item):
        return BOUNDARY
    return PROCESS


def _missing(item: pytest.Item) -> str:
    if _WHY not in item.config.stash:
        from hark.testing.pytest_boundary import cannot_be_had

        item.config.stash[_WHY] = cannot_be_had(item)
    return item.config.stash[_WHY]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin to attend a test in this process: once it is known not to be skipped, and before its fixtures."""
    if marker_of(item) is not None:
        from hark.testing import pytest_process

        pytest_process.begin(item)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a marked test inside the boundary, and any other as it stands."""
    marker = marker_of(pyfuncitem)
    if marker is None or way_of(pyfuncitem, marker) == PROCESS:
        return None
    from hark.testing import pytest_boundary

    said = pytest_boundary.run(pyfuncitem, marker)
    pyfuncitem.add_report_section("call", "hark", said)
    return True


def pytest_exception_interact(call: pytest.CallInfo[Any], report: Any) -> None:
    """Show the words of a failure of ours, and no traceback of the plugin's."""
    if call.excinfo is not None and isinstance(call.excinfo.value, HarkFailure):
        report.longrepr = str(call.excinfo.value)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where something that an attended test has left reached for more after it."""
    if _late() and session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _late() -> list[str]:
    guarding = sys.modules.get("hark.inprocess.guard")
    return [] if guarding is None else [*dict.fromkeys(guarding.LATE.refusals)]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests were recorded and replayed, and in which way."""
    counts: dict[tuple[bool, str], int] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, text in getattr(report, "sections", ()):
                if name == "Captured hark call" and report.when == "call":
                    key = (" in a boundary " in text, text.partition(" ")[0])
                    counts[key] = counts.get(key, 0) + 1
    for contained, where in ((True, _IN_BOUNDARY), (False, _IN_PROCESS)):
        said = [f"{number} {word}" for (found, word), number in sorted(counts.items()) if found is contained]
        if said:
            terminalreporter.write_line(f"hark: {', '.join(said)}, {where}")
    for late in _late():
        terminalreporter.write_line(f"hark: what a test left running reached for {late}")
    why = terminalreporter.config.stash.get(_WHY, "")
    if why and any(not contained for contained, _ in counts):
        terminalreporter.write_line(f"hark: this machine has no boundary: {why}")


_IN_BOUNDARY: Final = "each in a boundary of its own without other network"
_IN_PROCESS: Final = "in pytest's own process, where nothing is contained"
