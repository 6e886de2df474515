"""What the supervisor reports of a boundary: what was in force, how the run ended, why it never started.

Values and errors alone; `launcher.supervise` makes them out of what the processes inside said.
"""

from dataclasses import dataclass
from typing import ClassVar

from hark.errors import HarkError


class NeverStarted(HarkError):  # noqa: N818  (the outcome's own name)
    """The boundary stood, but the program could not be executed in it."""


class NotFoundError(NeverStarted):
    """The program or its interpreter is not there."""

    exit_code: ClassVar[int] = 127


class NotExecutableError(NeverStarted):
    """The program is there and cannot be executed."""

    exit_code: ClassVar[int] = 126


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended. Exactly one of `code` and `signal` is set."""

    code: int | None = None
    signal: int | None = None
    passed_on: int | None = None
    """The last SIGINT, SIGTERM, SIGHUP or SIGQUIT that was sent to us, and passed on, while the agent ran.
    What the agent's own terminal makes of Ctrl-C is the agent's own affair and not in here."""
    limit: str | None = None
    """Which of the plan's limits was passed, in words: everything inside was ended."""
    killed: str | None = None
    """Why the boundary was ended by us or by an accident; the agent's own end otherwise."""
    refused: tuple[str, ...] = ()
    """Programs, by the names they gave themselves, that were refused a user namespace."""
    unreached: tuple[str, ...] = ()
    """Programs, by the same, that asked the kernel for random bytes and have no shim: static ones."""
    unheard: bool = False
    """Something above this run is told of system calls already, so process 1 could answer none of them."""
    replaced: tuple[str, ...] = ()
    """Paths that are kept from the agent and lay bare for a moment, since another program replaced them."""
    unwritten: str | None = None
    """Why what the agent printed is not all where its output leads to."""
    left: int = 0
    """How many processes of the agent's were still there when its first one ended, and were ended with it."""
    cut_short: bool = False
    """The run was to wait for every process, and a signal ended that."""

    @property
    def interrupted(self) -> int | None:
        """The signal that was passed on, if the run ended of it: the agent killed, or its code says so."""
        of_it = self.passed_on is not None and self.status == 128 + self.passed_on
        return self.passed_on if of_it or self.cut_short else None

    @property
    def status(self) -> int:
        """The exit status as a shell gives it."""
        return 128 + (self.signal or 0) if self.code is None else self.code


@dataclass(frozen=True, slots=True)
class AppliedGrant:
    """One grant as it was put in force."""

    path: str
    access: str
    why: str
    owners: str
    """How the agent meets the owners of the files in it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What was in force, for the record."""

    kernel: str
    machine: str
    landlock_abi: int
    uid: int
    gid: int
    grants: tuple[AppliedGrant, ...]
    withheld: tuple[str, ...]
    """Grants not given, because a hidden path contains them."""
    uncovered: tuple[str, ...]
    """Masked, protected or hidden paths that were not there, so that nothing could be put over them."""
    settings_unset: tuple[str, ...]
    """Network settings this kernel would not take: refusals may then be slower, never weaker."""
