"""Calls that process 1 answers: a user namespace is refused, random bytes follow from the run's seed, the
wall clock of programs without a shim is the run's, and a replay counts processors as they were recorded.

Who was refused is told, so that the user hears of the setting, and so is who draws without a shim. The name
is the program's own word (`prctl(PR_SET_NAME)`), good for a hint and for nothing else. The agent waits in its
call until process 1 has answered; it cannot install a second listener of this kind (EBUSY).
"""

import contextlib
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Callable
from functools import partial
from typing import Final

from launcher.draws import Draws, has_shim
from launcher.numbers import NUMBERS
from launcher.processors import Answers
from launcher.unshimmed import CLOCKS, START, NotOursError, Unshimmed

# include/uapi/linux/seccomp.h: struct seccomp_notif is 80 bytes (id, pid, flags, data), the response 24.
_RECEIVE: Final = 0xC0502100
_ANSWER: Final = 0xC0182101
_IS_VALID: Final = 0x40082102
_SET_FLAGS: Final = 0x40082104
_SYNC_WAKE_UP: Final = 1  # Linux 6.6: who asked goes on at once, on the processor that answered
_CONTINUE: Final = 1
# Of either architecture: the filter notifies of no other call by these numbers.
_GETRANDOM: Final = NUMBERS["getrandom"]
_GETAFFINITY: Final = NUMBERS["sched_getaffinity"]
_NOTIFICATION_BYTES: Final = 80
_MARK: Final = b"\0"  # goes with the descriptor: a stream cannot carry one alone, and no report begins so
_REPORT_BYTES: Final = 1 << 16
type Answer = Callable[[int, int, tuple[int, ...]], tuple[int, int]]
"""MUST return value and error of the call of a thread, whose memory is the first argument."""
_MAX_NAME: Final = 15  # characters, as of the kernel's own names
MAX_NAMES: Final = 8  # programs named at the end of a run
MAX_REACHED: Final = 1000  # names of programs with a shim; what is called otherwise by then is not looked at


class Refusals:
    """The listening end of the agent's filter, and the names that were seen."""

    def __init__(
        self,
        listener: int,
        draws: Draws | None = None,
        processors: Answers | None = None,
        unshimmed: Unshimmed | None = None,
    ) -> None:
        self._listener = listener
        self._unshimmed = unshimmed
        if listener >= 0:
            with contextlib.suppress(OSError):
                fcntl.ioctl(listener, _SET_FLAGS, _SYNC_WAKE_UP)
        self._draws = draws or Draws(b"")
        self._processors = processors or Answers(None)
        self._seen: set[tuple[str, str]] = set()
        self._reached: set[str] = set()

    def fileno(self) -> int:
        """What to poll."""
        return self._listener

    def answer(self) -> tuple[str, str] | None:
        """Answer one call that waits; a word and the program's name if it is one to tell of."""
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, notification)
            identifier, process, _flags, number = struct.unpack_from("=QIIi", notification)
            arguments = struct.unpack_from("=6Q", notification, 32)
            name, word, new, flags = "", "", False, 0
            if self._unshimmed is not None and number in CLOCKS:
                value, error, flags = self._clock(self._unshimmed, identifier, process, number, arguments)
            elif self._unshimmed is not None and number == START:
                value, error, flags = 0, 0, _CONTINUE
                new = not self._unshimmed.start(process, lambda: self._confirm(identifier))
                word, name = "unreached", _name(process) if new else ""
            elif number in _GETRANDOM:
                name = _name(process)
                word, new = "unreached", self._is_unreached(process, name)
                lineage = b"" if self._unshimmed is None else self._unshimmed.lineage(process)
                answer = partial(self._draws.answer, lineage=lineage)
                value, error = self._write(identifier, process, arguments, answer)
            elif number in _GETAFFINITY:
                value, error = self._write(identifier, process, arguments, self._processors.answer)
            else:
                name = _name(process)
                word, new, value, error = "refused", True, 0, -errno.EPERM
            fcntl.ioctl(self._listener, _ANSWER, struct.pack("=QqiI", identifier, value, error, flags))
        except OSError as failure:
            if failure.errno in (errno.ENOENT, errno.EINTR):  # whoever asked was ended in the meantime
                return None
            raise
        if not new or not self._is_news(word, name):
            return None
        self._seen.add((word, name))
        return word, name

    def _is_news(self, word: str, name: str) -> bool:
        told = sum(word == seen for seen, _name in self._seen)
        return (word, name) not in self._seen and told < MAX_NAMES

    def _write(
        self, identifier: int, process: int, arguments: tuple[int, ...], answer: Answer
    ) -> tuple[int, int]:
        try:
            memory = os.open(f"/proc/{process}/mem", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return 0, -errno.ENOSYS  # libraries then take another way
        try:
            # Only now is it sure that the memory is that of who asked: its number may have been given on.
            self._confirm(identifier)
            return answer(memory, process, arguments)
        finally:
            os.close(memory)

    def _confirm(self, identifier: int) -> None:
        """Raise OSError where who asked waits no longer."""
        fcntl.ioctl(self._listener, _IS_VALID, struct.pack("=Q", identifier))

    def _clock(
        self, programs: Unshimmed, identifier: int, process: int, number: int, arguments: tuple[int, ...]
    ) -> tuple[int, int, int]:
        """Value, error and flags of a call for the wall clock."""
        try:
            answer = programs.read(process, number, arguments, lambda: self._confirm(identifier))
        except NotOursError:
            return 0, 0, _CONTINUE
        return *answer, 0

    def _is_unreached(self, process: int, name: str) -> bool:
        """Tell whether a program without a shim draws; looked at only where that would be told of."""
        known = name in self._reached or len(self._reached) >= MAX_REACHED
        if known or not self._is_news("unreached", name):
            return False
        if has_shim(process) or (self._unshimmed is not None and self._unshimmed.covers(process)):
            self._reached.add(name)
            return False
        return True


def _name(process: int) -> str:
    name = ""
    with contextlib.suppress(OSError), open(f"/proc/{process}/comm", "rb") as file:
        name = file.read().rstrip(b"\n").decode(errors="replace").replace("\0", "")
    if not name or name.isdigit():  # executed as /proc/self/fd/NUMBER, whose last part is its name
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/{process}/exe".encode()).decode(errors="replace")
            name = os.path.basename(path).removesuffix(" (deleted)").removeprefix("memfd:")[:_MAX_NAME]
    return name or "a program"


def hand_over(status: int, listener: int) -> None:
    """In the agent's process: give the listener to whoever reads the status."""
    with socket.socket(fileno=os.dup(status)) as channel:
        socket.send_fds(channel, [_MARK], [listener])
    os.close(listener)


def read_status(status: socket.socket) -> tuple[bytes, int | None]:
    """In process 1: what the agent reported before it was executed, if it was not, and the listener."""
    report, listener = b"", None
    while True:
        data, descriptors, _flags, _sender = socket.recv_fds(
            status, _REPORT_BYTES, 1, socket.MSG_CMSG_CLOEXEC
        )
        if descriptors:
            listener = descriptors[0]
        if not data:
            return report.removeprefix(_MARK), listener
        report += data
