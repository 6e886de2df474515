"""What the kernel holds for the agent in its sockets: memory that belongs to no process and lies in no file.

Asked by netlink (sock_diag(7)) of the network namespace that this process is in, so of every socket there:
also of one that no program holds any more, since it is under way in another's message. A dump takes time in
proportion to their number, and so the next one waits for `REST` times as long as the last one took.

Not seen: pipes, which the kernel bounds by itself (`fs.pipe-user-pages-soft`: 64 MiB, and two pages for
each that is made beyond), netlink sockets, and namespaces that a nested agent makes. Where the kernel was
built without sock_diag, nothing is.
"""

import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Final

REST: Final = 20
"""A twentieth of one processor at the most."""
_PROTOCOL: Final = 4  # NETLINK_SOCK_DIAG
_BY_FAMILY: Final = 20  # SOCK_DIAG_BY_FAMILY
_REQUEST_DUMP: Final = 0x301
_DONE: Final = 3
_ERROR: Final = 2
_ALL: Final = 0xFFFFFFFF
_HEADER: Final = struct.Struct("=IHHII")
_ATTRIBUTE: Final = struct.Struct("=HH")
_ROOM: Final = 1 << 18

# include/uapi/linux/sock_diag.h: SK_MEMINFO_*, nine numbers of 32 bits.
_FIGURES: Final = struct.Struct("=9I")
_RECEIVED: Final = 0
_SENT: Final = 2
_QUEUED: Final = 5

# include/uapi/linux/unix_diag.h and inet_diag.h: the request, the length of what is answered before its
# attributes, which of these has the figures, and which figures are memory that is held.
type _Question = tuple[bytes, int, int, tuple[int, int]]


def _inet(family: int, protocol: int, held: tuple[int, int]) -> _Question:
    wanted = 1 << (_INET_FIGURES - 1)
    return struct.pack("=BBBxI48x", family, protocol, wanted, _ALL), 72, _INET_FIGURES, held


_INET_FIGURES: Final = 7  # INET_DIAG_SKMEMINFO
_UNIX_FIGURES: Final = 5  # UNIX_DIAG_MEMINFO
_QUESTIONS: Final[tuple[_Question, ...]] = (
    (
        struct.pack("=BBxxIIIII", socket.AF_UNIX, 0, _ALL, 0, 0x20, 0, 0),  # UDIAG_SHOW_MEMINFO
        16,
        _UNIX_FIGURES,
        (_RECEIVED, _SENT),
    ),
    *(
        _inet(family, protocol, held)
        for family in (socket.AF_INET, socket.AF_INET6)
        for protocol, held in (
            (socket.IPPROTO_TCP, (_RECEIVED, _QUEUED)),
            (socket.IPPROTO_UDP, (_RECEIVED, _SENT)),
        )
    ),
)


class Buffers:
    """What all sockets hold, looked at now and then. `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held = 0
        self._next = 0.0

    def look(self) -> int:
        """Return how many bytes they held when they were last looked at; that is now, if it is time again."""
        began = self._clock()
        if began >= self._next:
            self._held = held()
            ended = self._clock()
            self._next = ended + REST * (ended - began)
        return self._held


def held() -> int:
    """Return how many bytes the sockets of this network namespace hold; 0 where the kernel cannot say."""
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _PROTOCOL) as channel:
            return sum(sum(_answers(channel, question)) for question in _QUESTIONS)
    except OSError:
        return 0


def _answers(channel: socket.socket, question: _Question) -> Iterator[int]:
    """Yield what each socket holds."""
    request, length, wanted, figures = question
    channel.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + request)
    while True:
        data = channel.recv(_ROOM)
        at = 0
        while at + _HEADER.size <= len(data):
            size, kind, _, _, _ = _HEADER.unpack_from(data, at)
            if kind in (_DONE, _ERROR):  # an error: a family that this kernel does not know
                return
            yield _figure(data, at + _HEADER.size + length, at + size, wanted, figures)
            at += _aligned(size)


def _figure(data: bytes, at: int, end: int, wanted: int, figures: tuple[int, int]) -> int:
    while at + _ATTRIBUTE.size <= end:
        size, kind = _ATTRIBUTE.unpack_from(data, at)
        if kind == wanted:
            found = _FIGURES.unpack_from(data, at + _ATTRIBUTE.size)
            return sum(found[one] for one in figures)
        at += _aligned(max(size, _ATTRIBUTE.size))
    return 0


def _aligned(size: int) -> int:
    return (size + 3) & ~3
