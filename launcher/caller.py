"""What the agent gets from the process that called hark, and what of that is refused.

Handed down: umask, ignored signals, the three standard streams. Refused: a stream that leads around the
boundary, that is a directory (from which the host's tree could be walked) or a network socket (which can be
connected anew, in the host's network).
"""

import os
import signal
import socket
import stat
from dataclasses import dataclass
from typing import Final

from hark.errors import ConfinementError

_STREAMS: Final = ("standard input", "standard output", "standard error")
_PYTHON_IGNORES: Final = (signal.SIGPIPE, signal.SIGXFSZ)  # the interpreter's doing, not the caller's


@dataclass(frozen=True, slots=True)
class Inherited:
    """What of the caller's process the agent gets, as a program started by a shell would."""

    umask: int
    ignored: tuple[int, ...]
    """Signals that the caller ignores (nohup)."""


def inherited() -> Inherited:
    """Read from the calling process, before anything is changed in it."""
    umask = os.umask(0o077)
    os.umask(umask)
    catchable = signal.valid_signals() - set(_PYTHON_IGNORES)
    ignored = [number for number in catchable if signal.getsignal(number) is signal.SIG_IGN]
    return Inherited(umask, tuple(sorted(int(number) for number in ignored)))


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
