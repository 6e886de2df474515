"""What the agent gets from the process that called hark, and what of that is refused.

Handed down: umask, ignored signals, the three standard streams. Refused: a stream that leads around the
boundary, that is a directory (from which the host's tree could be walked) or a network socket (which can be
connected anew, in the host's network).
"""

import os
import re
import signal
import socket
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hark.errors import ConfinementError

_STREAMS: Final = ("standard input", "standard output", "standard error")
_PYTHON_IGNORES: Final = (signal.SIGPIPE, signal.SIGXFSZ)  # the interpreter's doing, not the caller's


_MASK: Final = re.compile("0[0-7]{3}")
_TO_ALL: Final = frozenset((signal.SIGKILL, signal.SIGSTOP))
"""Which nobody ignores."""


@dataclass(frozen=True, slots=True)
class Inherited:
    """What of the caller's process the agent gets, as a program started by a shell would."""

    umask: int
    ignored: tuple[int, ...]
    """Signals that the caller ignores (nohup)."""

    def told(self) -> tuple[str, tuple[str, ...]]:
        """Return the mask and the names of the signals, as a record has them."""
        named = (signal.Signals(number).name for number in self.ignored if number in set(signal.Signals))
        return f"{self.umask:04o}", tuple(named)

    @classmethod
    def read(cls, umask: str, ignored: Iterable[str]) -> "Inherited | None":
        """Return what a record has; None where that is none that a program begins with."""
        names = {one.name: one for one in signal.Signals if one not in _TO_ALL}
        numbers = [names.get(name) for name in ignored]
        if not _MASK.fullmatch(umask) or None in numbers:
            return None
        return cls(int(umask, 8), tuple(sorted(int(number) for number in numbers if number is not None)))


def inherited() -> Inherited:
    """Read from the calling process, before anything is changed in it."""
    catchable = signal.valid_signals() - set(_PYTHON_IGNORES)
    ignored = [number for number in catchable if signal.getsignal(number) is signal.SIG_IGN]
    return Inherited(_umask(), tuple(sorted(int(number) for number in ignored)))


def _umask() -> int:
    """Read the mask without setting another meanwhile, which other threads would make files with."""
    with open("/proc/self/status", "rb") as status:
        return next(int(line.split()[1], 8) for line in status if line.startswith(b"Umask:"))


def settle_streams() -> None:
    """Put /dev/null where a standard stream is closed, and refuse those that lead around the boundary."""
    for descriptor, name in enumerate(_STREAMS):
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:
            _fill(descriptor)
            continue
        if stat.S_ISDIR(mode):
            raise ConfinementError(
                f"{name} is a directory, from which the whole host can be reached: use a file"
            )
        if stat.S_ISSOCK(mode) and _family(descriptor) != socket.AF_UNIX:
            raise ConfinementError(f"{name} is a network socket, which leads around the boundary: use a pipe")


def _fill(descriptor: int) -> None:
    opened = os.open("/dev/null", os.O_RDWR)
    if opened == descriptor:
        os.set_inheritable(descriptor, True)  # noqa: FBT003  (positional only)
    else:
        os.dup2(opened, descriptor)
        os.close(opened)


def _family(descriptor: int) -> int:
    with socket.socket(fileno=os.dup(descriptor)) as duplicate:
        return duplicate.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN)
