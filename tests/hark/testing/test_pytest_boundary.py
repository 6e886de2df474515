"""What is decided before a boundary is made; tests/e2e/test_pytest_plugin.py has one."""

import sys

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, RunStart
from tests.hark.bundle.bundles import RUN, write

pytest_plugins = ["pytester"]

PYTEST = (sys.executable, "-B", "-m", "pytest", "--hark-inside", "-p", "no:cacheprovider", "-q")


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ((*PYTEST, "test_it.py::test_b"),
         "*x.hark: it was recorded of test_it.py::test_b, and not of test_it.py::test_a*"),
        (("true",), "*x.hark: it was recorded of true, and not of test_it.py::test_a*"),
        (("/bin/true", *PYTEST[1:], "test_it.py::test_a"), "*x.hark: it was recorded of /bin/true*"),
    ],
)  # fmt: skip
def test_a_bundle_of_something_else_is_not_replayed_and_cannot_pass(
    pytester: pytest.Pytester, recorded: tuple[str, ...], said: str
) -> None:
    pytester.makepyfile(test_it="import pytest\n@pytest.mark.hark('x.hark')\ndef test_a(): pass")
    write(pytester.path / "x.hark", (RunStart(run_id=RUN, argv=recorded), RunEnd(reason="exit")))
    found = pytester.runpytest("-p", "no:cacheprovider", "--hark-way=boundary")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines([said])


@pytest.mark.parametrize("name", ["PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONOPTIMIZE", "LD_DEBUG"])
def test_a_bundle_does_not_say_what_pytest_runs(pytester: pytest.Pytester, name: str) -> None:
    pytester.makepyfile(test_it="import pytest\n@pytest.mark.hark('x.hark')\ndef test_a(): pass")
    start = RunStart(run_id=RUN, argv=(*PYTEST, "test_it.py::test_a"))
    env = ev.EnvSnapshot({name: "no_such_plugin"})
    write(pytester.path / "x.hark", (start, env, RunEnd(reason="exit")))
    found = pytester.runpytest("-p", "no:cacheprovider", "--hark-way=boundary")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines([f"*x.hark: it was recorded with {name}=no_such_plugin, by which*"])


def test_a_second_command_in_a_bundle_is_not_passed_over(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="import pytest\n@pytest.mark.hark('x.hark')\ndef test_a(): pass")
    first, second = RunStart(run_id=RUN, argv=(*PYTEST, "test_it.py::test_a")), RunStart(argv=("true",))
    write(pytester.path / "x.hark", (first, second, RunEnd(reason="exit")))
    found = pytester.runpytest("-p", "no:cacheprovider", "--hark-way=boundary")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*x.hark: it was recorded of true, and not of test_it.py::test_a*"])
