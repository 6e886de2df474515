"""Says, inside a boundary, how the one test of a process ended: pytest's exit code does not.

Always: nothing is said before pytest has come to its end with a report of the test, so that a process which
code under test has left (`os._exit(0)`, another program in its place, a C library's `exit`) says nothing.
Not done here: keeping code that means to deceive from saying it as well.
"""

from typing import Any, Final

import pytest

PASSED: Final = "passed"
SKIPPED: Final = "skipped"
_SAID: Final = "hark-inside: the test's report: "


class Inside:
    """A plugin of the pytest that is inside."""

    def __init__(self) -> None:
        self._outcome = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what became of the test: its call, unless that was never come to."""
        if report.when == "call" or not report.passed:
            self._outcome = "failed as expected" if _is_expected(report) else report.outcome

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say it, where nothing captures what is printed."""
        if self._outcome:
            terminalreporter.ensure_newline()
            terminalreporter.write_line(_SAID + self._outcome)


def _is_expected(report: pytest.TestReport) -> bool:
    return report.skipped and hasattr(report, "wasxfail")


def outcome_in(printed: str) -> str:
    """Return how the test ended, by what the process inside has printed; empty where it did not say so."""
    _, said, rest = printed.rpartition(_SAID)  # what a test prints may end without a line's end
    return rest.partition("\n")[0].rstrip("\r") if said else ""
