"""Forks with one model each, as processes side by side, and the check of what each left.

What always holds: a fork that did not end as FORKED has no check, and a check that ended with anything but
exit code 0 has not passed: not one that was killed, could not be started, or took too long.

The check is the caller's own command. It runs as the caller, in the caller's environment and outside of any
boundary, on files that an agent wrote.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from hark.beside import Beside
from hark.bundle.bounds import RunEnd
from hark.compare.measured import Measured, measure
from hark.compare.prices import Table
from hark.errors import BundleError
from hark.fork import apart

FORKED: Final = "FORKED"
NOT_FORKED: Final = "NOT-FORKED"
"""The word of a fork that hark refused or broke down in: there is no verdict on the agent."""
LATE: Final = "NO-ANSWER"
"""The word of a fork that took longer than it may."""
PASSED: Final = "pass"
FAILED: Final = "fail"
NOT_CHECKED: Final = "not run"
MAX_CHECK_S: Final = 1800  # a check that hangs must end some time; suites of an hour are not run per model


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one fork is made of."""

    model: str
    name: str
    """For its files: no other fork's, and nothing in it that a path would mean."""
    words: tuple[str, ...]
    """Of `hark fork`, without what differs from fork to fork."""
    bundle: str
    folder: str
    """Where its copy of the project and what was printed are put."""
    output: str | None
    """Where the fork's bundle goes; None: where `hark ls` finds it."""
    check: str | None
    prices: Table
    seconds: int | None = None
    """How long the fork may take; None: as long as it likes."""

    @property
    def log(self) -> str:
        """The file of what the fork said."""
        return f"{self.copy}.log"

    @property
    def answer(self) -> str:
        """The file of what it printed: its verdict."""
        return f"{self.copy}.json"

    @property
    def copy(self) -> str:
        """The copy of the project that the agent worked on."""
        return os.path.join(self.folder, self.name)


@dataclass(frozen=True, slots=True)
class Row:
    """How it went."""

    model: str
    word: str
    """The verdict of `hark fork`, NOT_FORKED or LATE."""
    why: str
    """What keeps the row from having passed, where the other fields do not say it."""
    check: str | None
    """PASSED, FAILED, NOT_CHECKED; None where none was wanted."""
    check_code: int | None = None
    code: int = 0
    """The exit code of `hark fork`."""
    bundle: str | None = None
    measured: Measured | None = None
    verdict: Mapping[str, Any] = field(default_factory=dict)
    """All that `hark fork -json` says."""

    @property
    def passed(self) -> bool:
        """Tell whether it forked, could be measured, and passed the check where there is one."""
        return self.word == FORKED and self.check in {None, PASSED} and self.measured is not None

    @property
    def end(self) -> RunEnd | None:
        """How the agent ended."""
        return None if self.measured is None else self.measured.end


type Tell = Callable[[Wanted, Row], None]


class _Step(NamedTuple):
    """One program that runs: a fork, or the check of the row that it came to."""

    number: int
    wanted: Wanted
    row: Row | None = None


def trials(wanted: Sequence[Wanted], jobs: int, environ: Mapping[str, str], tell: Tell) -> list[Row]:
    """Fork, measure and check, `jobs` at a time; return the rows in their order.

    `tell` is told of each that is over: the others may take long. What ends this ends them first.
    """
    beside, rows = Beside[_Step](), dict[int, Row]()
    waiting = deque(_Step(number, one) for number, one in enumerate(wanted))
    try:
        while len(rows) < len(wanted):
            while waiting and len(beside) < jobs:
                _fork(waiting.popleft(), beside, environ)
            ended = beside.ended()
            step = ended.tag
            row = _forked(step.wanted, ended.code) if step.row is None else _checked(step.row, ended.code)
            if step.row is None and row.measured is not None and step.wanted.check is not None:
                if not (why := _check(step._replace(row=row), beside, environ)):
                    continue
                row = replace(row, check=FAILED, why=why)
            rows[step.number] = row
            tell(step.wanted, row)
    except BaseException:
        beside.drop()
        raise
    return [rows[number] for number in range(len(wanted))]


def _fork(step: _Step, beside: Beside[_Step], environ: Mapping[str, str]) -> None:
    wanted = step.wanted
    words = [*wanted.words, f"-model={wanted.model}", f"-keep={wanted.copy}"]
    words += [] if wanted.output is None else [f"-o={wanted.output}"]
    with (
        open(wanted.log, "xb", opener=_private) as said,
        open(wanted.answer, "xb", opener=_private) as printed,
    ):
        command = apart.command(words, wanted.bundle)
        beside.begin(step, command, printed, said, environ=environ, seconds=wanted.seconds)


def _forked(wanted: Wanted, code: int | None) -> Row:
    """Return what a fork came to that has ended."""
    check = None if wanted.check is None else NOT_CHECKED
    if code is None:
        return Row(wanted.model, LATE, apart.late(wanted.seconds or 0), check)
    verdict = apart.verdict(wanted.answer)
    bundle = verdict.get("bundle")
    bundle = bundle if isinstance(bundle, str) and os.path.exists(bundle) else None
    if not verdict:
        return Row(wanted.model, NOT_FORKED, apart.complaint(wanted.log, code), check, code=code)
    why = str(verdict.get("why") or "")
    row = Row(wanted.model, verdict["verdict"], why, check, code=code, bundle=bundle, verdict=verdict)
    if row.word != FORKED or bundle is None:
        return row
    try:
        return replace(row, measured=measure(bundle, wanted.model, wanted.prices))
    except BundleError as error:
        return replace(row, why=str(error))


def _check(step: _Step, beside: Beside[_Step], environ: Mapping[str, str]) -> str:
    """Begin the caller's command in the fork's copy; return why it could not be, else nothing."""
    wanted, row = step.wanted, step.row
    bundle = "" if row is None or row.bundle is None else os.path.abspath(row.bundle)
    about = {**environ, "HARK_MODEL": wanted.model, "HARK_BUNDLE": bundle}
    command = ("/bin/sh", "-c", wanted.check or "")
    try:
        with open(f"{wanted.copy}.check.log", "xb", opener=_private) as said:
            beside.begin(
                step, command, said, said, environ=about, folder=wanted.copy, seconds=MAX_CHECK_S, whole=True
            )
    except OSError as error:
        return f"the check could not be started: {error.strerror}"
    return ""


def _checked(row: Row, code: int | None) -> Row:
    """Return the row with what the check came to."""
    why = ""
    if code is None:
        why = f"the check took longer than {MAX_CHECK_S} s and was ended"
    elif code < 0:
        why = f"the check was ended by signal {signal.Signals(-code).name}"
    return replace(row, check=PASSED if code == 0 else FAILED, check_code=code, why=why)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
