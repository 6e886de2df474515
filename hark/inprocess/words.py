"""What the test's process and its attendant say to each other: messages of `launcher.wire` on one channel.

    down    job (JSON) | dial FAMILY LOCAL-PORT ADDRESS PORT | ended CODE
    up      ready PORT4 PORT6 PEM ENVIRONMENT (JSON) | ok | over WHY | verdict (JSON) | failed WHY

A `dial` stands before the connection that it is about, and is answered by `ok`, or by `over` once the run has
ended. Nobody else holds an end of the channel.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from os.path import basename
from typing import Any, Final, Self

from hark.visible import visible

JOB: Final = "job"
DIAL: Final = "dial"
ENDED: Final = "ended"
READY: Final = "ready"
OK: Final = "ok"
OVER: Final = "over"
VERDICT: Final = "verdict"
FAILED: Final = "failed"
WHERE: Final = "the test's own process"
"""RunStart's Uncontained, in every record that is made here."""
_INTERPRETER: Final = re.compile(r"(?:python|pypy)[0-9.]*t?", re.ASCII)
EXIT_FAILED: Final = 1
"""What a test that failed ends with, as pytest itself does."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the attendant is asked to do: record the test into `output`, or play `bundle` to it."""

    argv: tuple[str, ...]
    """The command of the run: what would run this test alone, in a boundary."""
    workdir: str
    output: str
    """Where the record goes: a recording's, or the replay's own."""
    bundle: str | None = None
    policy: str | None = None

    def said(self) -> dict[str, Any]:
        """Return it for the channel."""
        return asdict(self)

    @classmethod
    def heard(cls, said: dict[str, Any]) -> Self:
        """Return what `said` says."""
        return cls(**said | {"argv": tuple(said["argv"])})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of it."""

    exit_code: int
    """0 where the record was made, or where all was done again as recorded."""
    lines: tuple[str, ...]
    """For the user; the verdict stands first."""
    strayed: bool = False
    """Whether it reached for something that is not recorded, and not only did less than was."""


def is_another(recorded: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell whether a bundle's command is not that of a test; the interpreter may lie elsewhere.

    But it is one: `true` takes the same words, and passes every test.
    """
    return tuple(recorded[1:]) != tuple(wanted[1:]) or not _INTERPRETER.fullmatch(basename(recorded[0]))


def other_test(recorded: Sequence[str], wanted: Sequence[str]) -> str:
    """Say that a bundle is of another test."""
    likewise = tuple(recorded[1:-1]) == tuple(wanted[1:-1]) and recorded[-1] != wanted[-1]
    what = recorded[-1] if likewise else " ".join(recorded)
    return (
        f"it was recorded of {visible(what)}, and not of {wanted[-1]}: a bundle is of one test; "
        "record this one with --hark-record=all"
    )
