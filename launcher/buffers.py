"""What the kernel holds for the agent in its sockets: memory that belongs to no process and lies in no file.

Asked by netlink (sock_diag(7)) of the network namespace that this process is in, so of every socket there:
also of one that no program holds any more, since it is under way in another's message. A dump takes time in
proportion to their number, and so the next one waits for `REST` times as long as the last one took.

What a sender that is gone has left in a unix socket is on nobody's account any more: it counts at its
receiver, with as much beside each byte as the kernel may hold for it. Of datagrams the kernel tells only the
first one's length, so a socket for them that has no peer counts as full.

Not seen: pipes, which the kernel bounds by itself (`fs.pipe-user-pages-soft`: 64 MiB, and two pages for
each that is made beyond), netlink sockets, and namespaces that a nested agent makes. Where the kernel was
built without sock_diag, nothing is.
"""

import contextlib
import socket
import struct
import sys
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
_UNIX_QUEUE: Final = 4  # UNIX_DIAG_RQLEN
_UNIX_PEER: Final = 2  # UNIX_DIAG_PEER
_LISTENS: Final = 10  # TCP_LISTEN: its queue are connections
_BYTES_A_PIECE: Final = 1 << 10
"""What the kernel holds for one byte that was sent by itself."""
_MOST: Final = ("/proc/sys/net/core/wmem_max", "/proc/sys/net/core/wmem_default")
_QUESTIONS: Final[tuple[_Question, ...]] = (
    (
        struct.pack(
            "=BBxxIIIII", socket.AF_UNIX, 0, _ALL, 0, 0x20 | 0x10 | 0x04, 0, 0
        ),  # with queue and peer
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
            begin, end = at + _HEADER.size, at + size
            found = _attributes(data, begin + length, end)
            yield sum(_FIGURES.unpack_from(found[wanted])[one] for one in figures) if wanted in found else 0
            if wanted == _UNIX_FIGURES and data[begin + 2] != _LISTENS:
                yield _orphaned(found, datagrams=data[begin + 1] == socket.SOCK_DGRAM)
            at += _aligned(size)


def _attributes(data: bytes, at: int, end: int) -> dict[int, bytes]:
    found = {}
    while at + _ATTRIBUTE.size <= end:
        size, kind = _ATTRIBUTE.unpack_from(data, at)
        found[kind] = data[at + _ATTRIBUTE.size : at + size]
        at += _aligned(max(size, _ATTRIBUTE.size))
    return found


def _orphaned(found: dict[int, bytes], *, datagrams: bool) -> int:
    """Return what a unix socket may hold of a sender that is gone: its own buffers' size at the most."""
    queued = int.from_bytes(found.get(_UNIX_QUEUE, b"")[:4], sys.byteorder)
    if any(found.get(_UNIX_PEER, b"")):
        return 0
    if datagrams:
        return max(queued, 2 * _largest())
    return max(queued, min(queued * _BYTES_A_PIECE, 2 * _largest()))


def _largest() -> int:
    """Return the size of the largest buffer that a sender may ask for."""
    sizes = [0]
    for path in _MOST:
        with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:
            sizes.append(int(file.read()))
    return max(sizes)


def _aligned(size: int) -> int:
    return (size + 3) & ~3
