"""A marked test in pytest's own process: its sockets lead to an attendant that records or plays its bundle.

Always: fixtures, test and their teardown are attended as one; the verdict is the test's report, whatever the
test made of the errors that it got. Only a test that passed leaves a bundle, whole. A test that is skipped,
or leaves pytest, is neither recorded nor replayed, but fails if it reached for what is not recorded before.
"""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from hark.errors import HarkError
from hark.inprocess.session import Session
from hark.inprocess.words import Job, Verdict
from hark.testing.pytest_marks import HarkFailure, bundle_of, command_of, failed, is_recorded, policy_of


class Attended:
    """One test's: begun before its fixtures, finished when they are gone."""

    def __init__(self, item: pytest.Item, marker: pytest.Mark) -> None:
        self._item = item
        self._marker = marker
        self._bundle = bundle_of(item, marker)
        self._session: Session | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._recorded = False
        self.failure: HarkFailure | None = None

    def begin(self) -> None:
        """Start, or keep why not: then the test is not run."""
        try:
            self._recorded = is_recorded(self._item, self._bundle)
            self._session = Session(self._job(), self._marker.kwargs.get("programs", ()))
            self._session.begin()
        except (HarkFailure, HarkError, OSError) as error:
            self._session = None
            self.failure = error if isinstance(error, HarkFailure) else HarkFailure(self._about(str(error)))

    def _job(self) -> Job:
        beside = None
        if self._recorded:
            self._bundle.parent.mkdir(parents=True, exist_ok=True)
            beside = self._bundle.parent
        self._folder = tempfile.TemporaryDirectory(prefix=".hark-", dir=beside)
        policy = policy_of(self._item, self._marker) if self._recorded else None
        return Job(
            argv=command_of(self._item),
            workdir=str(self._item.config.rootpath),
            output=str(self._made),
            bundle=None if self._recorded else str(self._bundle),
            policy=None if policy is None else str(policy),
        )

    @property
    def _made(self) -> Path:
        return Path("" if self._folder is None else self._folder.name) / "run.hark"

    def _about(self, said: str) -> str:
        return f"{self._bundle}: {said}"

    def finish(self, reports: list[pytest.TestReport]) -> str:
        """Return what was done, in words. Raises HarkFailure with the verdict where that is none to pass."""
        if self._session is None:
            return ""
        passed = all(report.passed for report in reports)
        if any(report.skipped and not _is_expected(self._item, report) for report in reports):
            return self.leave()
        try:
            if passed and all(report.when != "call" for report in reports):
                return ""  # --setup-only: it was not run
            verdict = self._verdict(self._session, 0 if passed else 1)
        finally:
            self._session.close()
        return self._recording(verdict, passed=passed) if self._recorded else self._replay(verdict)

    def leave(self) -> str:
        """End a test that does not go on. Raises HarkFailure if it reached for what is not recorded."""
        if self._session is not None:
            try:
                verdict = self._verdict(self._session, 0)
            finally:
                self._session.close()
            if verdict.strayed:
                raise failed(self._bundle, verdict.lines)
        return ""

    def _verdict(self, session: Session, exit_code: int) -> Verdict:
        try:
            return session.finish(exit_code)
        except HarkError as error:
            raise HarkFailure(self._about(str(error))) from error

    def _recording(self, verdict: Verdict, *, passed: bool) -> str:
        if verdict.exit_code or not passed or not self._made.exists():
            raise HarkFailure("\n".join(["the recording failed", *verdict.lines]))
        self._made.replace(self._bundle)
        return f"recorded {self._bundle} in the test's own process (nothing was contained)"

    def _replay(self, verdict: Verdict) -> str:
        if verdict.exit_code:
            raise failed(self._bundle, verdict.lines)
        return f"replayed {self._bundle} in the test's own process (nothing was contained)"

    def close(self) -> None:
        """Throw away what is left. Idempotent."""
        if self._session is not None:
            self._session.close()
        if self._folder is not None:
            self._folder.cleanup()


ATTENDED = pytest.StashKey[Attended]()


def run(item: pytest.Item, marker: pytest.Mark, nextitem: pytest.Item | None) -> None:
    """Run a test attended, and report it with the verdict."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    attended = Attended(item, marker)
    item.stash[ATTENDED] = attended
    try:
        reports = _reports(item, attended, nextitem)
        try:
            _note(reports, attended.finish(reports))
        except HarkFailure as failure:
            _fail(item, reports, str(failure))
    finally:
        attended.close()
        del item.stash[ATTENDED]
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _reports(item: pytest.Item, attended: Attended, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
    """Run it. A test that ends pytest itself does not end it well where it had to fail."""
    try:
        return runtestprotocol(item, log=False, nextitem=nextitem)
    except pytest.exit.Exception:
        try:
            attended.leave()
        except HarkFailure as failure:
            raise pytest.exit.Exception(str(failure), pytest.ExitCode.TESTS_FAILED) from None
        raise


def _is_expected(item: pytest.Item, report: pytest.TestReport) -> bool:
    """Tell whether a mark says that it fails; one that calls `pytest.xfail` is as if skipped."""
    return hasattr(report, "wasxfail") and item.get_closest_marker("xfail") is not None


def begin(item: pytest.Item) -> None:
    """Begin to attend a test that is about to be set up; one that cannot be attended is not run."""
    attended = item.stash.get(ATTENDED, None)
    if attended is None:
        return
    attended.begin()
    if attended.failure is not None:
        failure = attended.failure

        def fail(*_arguments: Any) -> None:
            raise failure

        item.setup = _nothing  # type: ignore[method-assign]
        item.runtest = fail  # type: ignore[method-assign]


def _nothing() -> None:
    """Set up nothing."""


def _note(reports: list[pytest.TestReport], words: str) -> None:
    for report in reports:
        if words and report.when == "call":
            report.sections.append(("Captured hark call", words))


def _fail(item: pytest.Item, reports: list[pytest.TestReport], words: str) -> None:
    """Make the verdict the report: of the call, or of the set-up where the test did not come to it."""
    report = next((one for one in reports if one.when == "call"), reports[0])
    if _is_expected(item, report):
        return
    report.__dict__.pop("wasxfail", None)
    own = str(report.longrepr) if report.failed else ""
    report.outcome = "failed"
    report.longrepr = f"{words}\n\n{own}" if own else words
