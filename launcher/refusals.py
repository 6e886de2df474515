"""Who was refused a user namespace: the filter asks before it refuses, so that the user hears of the setting.

The answer to every notification is EPERM, whatever it says of itself. The name is the program's own word
(`prctl(PR_SET_NAME)`), good for a hint and for nothing else. The agent waits in its call until process 1 has
answered; it cannot install a second listener of this kind (EBUSY).
"""

import contextlib
import errno
import fcntl
import os
import socket
import struct
from typing import Final

# include/uapi/linux/seccomp.h: struct seccomp_notif is 80 bytes (id, pid, flags, data), the response 24.
_RECEIVE: Final = 0xC0502100
_ANSWER: Final = 0xC0182101
_NOTIFICATION_BYTES: Final = 80
_MARK: Final = b"\0"  # goes with the descriptor: a stream cannot carry one alone, and no report begins so
_REPORT_BYTES: Final = 1 << 16
MAX_NAMES: Final = 8  # programs named at the end of a run


class Refusals:
    """The listening end of the agent's filter, and the names that were seen."""

    def __init__(self, listener: int) -> None:
        self._listener = listener
        self._seen: set[str] = set()

    def fileno(self) -> int:
        """What to poll."""
        return self._listener

    def answer(self) -> str | None:
        """Refuse one call that waits; the program's name if it is one to tell of."""
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, notification)
            number, process = struct.unpack_from("=QI", notification)
            name = _name(process)
            fcntl.ioctl(self._listener, _ANSWER, struct.pack("=QqiI", number, 0, -errno.EPERM, 0))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):  # whoever asked was ended in the meantime
                return None
            raise
        if name in self._seen or len(self._seen) >= MAX_NAMES:
            return None
        self._seen.add(name)
        return name


def _name(process: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{process}/comm", "rb") as file:
        return file.read().rstrip(b"\n").decode(errors="replace").replace("\0", "")
    return "a program"


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
