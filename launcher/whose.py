"""Which process inside has made a connection: found by the process that holds the boundary.

It stands in the agent's network and, once the view is the root, in its file tree with its /proc, but outside
its process namespace: nobody inside sees or signals it. Always: it answers the supervisor alone; what the
agent makes of its processes costs `MAX_LOOKED` looks a question at the most; what is not found is unknown,
and never guessed. Nothing is imported here once the agent's tree is the root. A program's arguments are its
own word.
"""

import os
import select
import socket
import struct
from typing import Final, NamedTuple

from launcher import wire

MAX_LOOKED: Final = 20_000  # open files, at a microsecond each
MAX_ARGUMENTS: Final = 1024  # bytes
_SOCK_DIAG: Final = 4
_BY_FAMILY: Final = 20
_REQUEST: Final = 1
_HEADER: Final = struct.Struct("=IHHII")
_ASKED: Final = struct.Struct("=BBBBI")  # sock_diag(7): struct inet_diag_req_v2, before its id
_INODE_AT: Final = _HEADER.size + 4 + 48 + 16  # struct inet_diag_msg: behind its id and four more words
_ANY_STATE: Final = 0xFFFFFFFF
_MAX_ANSWER: Final = 1 << 13

type Address = tuple[str, int]


class Process(NamedTuple):
    """A process as the agent sees it; `pid` 0: unknown."""

    pid: int = 0
    program: str = ""
    arguments: tuple[str, ...] = ()


UNKNOWN: Final = Process()


def ask(channel: socket.socket, near: Address, far: Address) -> None:
    """Ask whose the TCP connection from `near` to `far` is. Answers come in the order of the questions."""
    wire.send(channel, "whose", near[0], str(near[1]), far[0], str(far[1]))


def answer(channel: socket.socket) -> Process | None:
    """Receive an answer; None once nobody answers any more."""
    message = wire.receive(channel)
    if not message.word:
        return None
    pid, program, *arguments = message.fields
    return Process(int(pid), program, tuple(arguments))


def serve(channel: socket.socket, until: int) -> None:
    """Answer until the process behind the descriptor `until` has ended."""
    poll = select.poll()
    poll.register(until, select.POLLIN)
    poll.register(channel, select.POLLIN)
    finder = Finder()
    while True:
        ready = dict(poll.poll())
        if until in ready:
            return
        message = wire.receive(channel)
        if message.word != "whose":
            poll.unregister(channel)
            continue
        near, near_port, far, far_port = message.fields
        found = finder.whose((near, int(near_port)), (far, int(far_port)))
        try:
            wire.send(channel, "process", str(found.pid), found.program, *found.arguments)
        except OSError:  # whoever asked is gone
            poll.unregister(channel)


class Finder:
    """Looks in the network namespace and the /proc of the caller."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._last = ""
        self._looks = 0

    def whose(self, near: Address, far: Address) -> Process:
        """Return who has the socket of a TCP connection open."""
        self._looks = MAX_LOOKED
        try:
            number = inode(near, far)
            names = [name for name in os.listdir(self._proc) if name.isdecimal() and name != "1"]
        except (OSError, ValueError):
            return UNKNOWN
        wanted = f"socket:[{number}]"
        names.sort(key=int, reverse=True)  # who connects has often just begun
        for name in (self._last, *names) if number else ():
            if name and self._has(name, wanted):
                self._last = name
                return self._process(name)
        return UNKNOWN

    def _has(self, name: str, wanted: str) -> bool:
        folder = f"{self._proc}/{name}/fd"
        try:
            for descriptor in os.listdir(folder):
                self._looks -= 1
                if self._looks < 0:
                    return False
                if _leads_to(f"{folder}/{descriptor}") == wanted:
                    return True
        except OSError:  # it has ended, or has taken its files out of sight
            pass
        return False

    def _process(self, name: str) -> Process:
        folder = f"{self._proc}/{name}"
        program = _leads_to(f"{folder}/exe")
        try:
            descriptor = os.open(f"{folder}/cmdline", os.O_RDONLY | os.O_CLOEXEC)
            try:
                line = os.read(descriptor, MAX_ARGUMENTS)
            finally:
                os.close(descriptor)
        except OSError:
            line = b""
        words = line.removesuffix(b"\0").split(b"\0") if line else []
        return Process(int(name), program, tuple(map(os.fsdecode, words)))


def inode(near: Address, far: Address) -> int:
    """Return the number of the socket of a TCP connection; 0: there is none. Raises OSError, ValueError."""
    family = socket.AF_INET6 if ":" in near[0] else socket.AF_INET
    asked = _ASKED.pack(family, socket.IPPROTO_TCP, 0, 0, _ANY_STATE) + struct.pack("!HH", near[1], far[1])
    asked += b"".join(socket.inet_pton(family, address).ljust(16, b"\0") for address, _ in (near, far))
    asked += bytes(4) + b"\xff" * 8  # any interface, no cookie
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as diag:
        diag.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked)
        found = diag.recv(_MAX_ANSWER, socket.MSG_DONTWAIT)
    if len(found) < _INODE_AT + 4 or _HEADER.unpack_from(found)[1] != _BY_FAMILY:
        return 0
    (number,) = struct.unpack_from("=I", found, _INODE_AT)
    return int(number)


def _leads_to(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""
