"""The pytest plugin: a test marked `@pytest.mark.hark("run.hark")` is replayed from its bundle.

Always: a marked test runs in a process of its own inside hark's boundary (`python -m pytest NODEID`),
recorded by `hark run` or replayed by `hark replay`; what it did differently fails it, in the replay's words.
A bundle is there whole or not at all: it is moved into place when a recording has passed. Nothing is recorded
unless it was asked for. A host that cannot confine a process fails the test with the reason; it never runs
unconfined instead.

Not done here: playing a bundle to code in pytest's own process. A bundle lies beside the test code and is
trusted as that is, so a replay does not ask whose key signed it.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

MARKER: Final = (
    "hark(bundle, policy): run the test again from this bundle, without network; the policy is for recording"
)
MODES: Final = ("none", "once", "all")
SECONDS: Final = 600
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_PREFIX: Final = "hark: "


class HarkFailure(Exception):  # noqa: N818 (what a test's report calls it)
    """The test did not do what its bundle says, or could not be recorded."""


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
        "--hark-inside",
        action="store_true",
        help="hark's own: this process is inside a boundary, and runs marked tests as they stand",
    )
    parser.addini("hark_policy", "policy for recording marked tests, unless the marker names one", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the fixtures of a test that is run elsewhere to the process that runs it."""
    for item in items:
        if item.get_closest_marker("hark") and not item.config.getoption("hark_inside"):
            item.setup = _nothing  # type: ignore[method-assign]


def _nothing() -> None:
    """Set up nothing."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a marked test inside the boundary, and any other as it stands."""
    marker = pyfuncitem.get_closest_marker("hark")
    if marker is None or pyfuncitem.config.getoption("hark_inside"):
        return None
    bundle, mode = bundle_of(pyfuncitem, marker), pyfuncitem.config.getoption("hark_record")
    if mode == "all" or (mode == "once" and not bundle.exists()):
        _record(pyfuncitem, marker, bundle)
    elif not bundle.exists():
        raise HarkFailure(
            f"there is no bundle {bundle}; record it: pytest --hark-record=once {pyfuncitem.nodeid}"
        )
    else:
        _replay(pyfuncitem, bundle)
    return True


def pytest_exception_interact(call: pytest.CallInfo[Any], report: Any) -> None:
    """Show the words of a failure of ours, and no traceback of the plugin's."""
    if call.excinfo is not None and isinstance(call.excinfo.value, HarkFailure):
        report.longrepr = str(call.excinfo.value)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests were recorded and replayed, and in which way."""
    counts: dict[str, int] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, text in getattr(report, "sections", ()):
                if name == "Captured hark call" and report.when == "call":
                    counts[text.partition(" ")[0]] = counts.get(text.partition(" ")[0], 0) + 1
    if counts:
        said = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
        terminalreporter.write_line(f"hark: {said}, each in a boundary of its own without other network")


def bundle_of(item: pytest.Item, marker: pytest.Mark) -> Path:
    """Return where a test's bundle lies: beside the test, or in `bundles/MODULE/TEST.hark` there."""
    folder = item.path.parent
    if marker.args:
        return folder / str(marker.args[0])
    name = _UNSAFE.sub("_", item.nodeid.partition("::")[2].replace("::", "."))
    return folder / "bundles" / item.path.stem / f"{name}.hark"


def _record(item: pytest.Item, marker: pytest.Mark, bundle: Path) -> None:
    """Record the test; only a test that passed leaves a bundle."""
    policy = marker.kwargs.get("policy")
    if policy is None and (told := item.config.getini("hark_policy")):
        policy = item.config.rootpath / told
    elif policy is not None:
        policy = item.path.parent / policy
    bundle.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".hark-", dir=bundle.parent) as folder:
        made = Path(folder) / "run.hark"
        words = ["run", "-o", str(made), *_readable(), *([f"-policy={policy}"] if policy else [])]
        inner = [sys.executable, "-B", "-m", "pytest", "--hark-inside", "-p", "no:cacheprovider", "-q"]
        done = _hark(item, [*words, "--", *inner, item.nodeid])
        if done.returncode != 0 or not made.exists():
            raise HarkFailure(
                f"the recording failed with exit code {done.returncode}\n{done.stdout}{done.stderr}"
            )
        made.replace(bundle)
    _say(item, f"recorded {bundle} in a boundary (hark run)")


def _replay(item: pytest.Item, bundle: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="hark-") as folder:
        words = ["replay", "-trust-bundle", f"-workdir={item.config.rootpath}", *_readable()]
        done = _hark(item, [*words, "-o", f"{folder}/again.hark", str(bundle)])
    if done.returncode != 0:
        said = [line.removeprefix(_PREFIX) for line in done.stderr.splitlines() if line.startswith(_PREFIX)]
        raise HarkFailure("\n".join([f"{bundle}:", *said, "", done.stdout]))
    _say(item, f"replayed {bundle} in a boundary (hark replay)")


def _say(item: pytest.Item, words: str) -> None:
    item.add_report_section("call", "hark", words)


def _readable() -> Iterator[str]:
    """Show this package inside where it lies apart from the interpreter, as when it is developed."""
    package = Path(__file__).resolve().parent.parent
    if not package.is_relative_to(Path(sys.prefix).resolve()):
        yield f"-read={package}"


def _hark(item: pytest.Item, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hark.cli.main", *words],
        cwd=item.config.rootpath,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="backslashreplace",
        timeout=SECONDS,
        check=False,
    )
