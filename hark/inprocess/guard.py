"""What Python code of a test's own process may reach: its attendant, and what it serves itself. Nothing else.

Always: whatever else an audit event tells of is refused and kept, so that a test which swallows the error
fails all the same: connections and names past the redirection, datagrams, local sockets, programs, and
listening to other machines. The hook stays for the life of the process, as every audit hook does. Between
`begin` and `end` it refuses; after that it refuses what the test has left (`hark.inprocess.left`).

Not done here, nor possible here: holding back code that is not Python's and makes its own system calls
(libcurl, gRPC, ctypes). Connections that such code has open when the test ends are found by
`hark.inprocess.own`; those that it closed before are not.
"""

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from socket import AF_INET, AF_INET6
from typing import Any, Final

from hark.inprocess import left, names, own
from hark.inprocess.machine import Machine

_INTERNET: Final = frozenset((AF_INET, AF_INET6))
_CONNECT: Final = "socket.connect"
_SENDING: Final = frozenset(("socket.sendto", "socket.sendmsg"))
_LOOKUPS: Final = frozenset(("socket.getaddrinfo", "socket.gethostbyname"))
_PROGRAMS: Final = frozenset(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"))
_SHELL: Final = "os.system"
_BIND: Final = "socket.bind"
_WATCHED: Final = frozenset((_CONNECT, _BIND, *_SENDING, *_LOOKUPS, *_PROGRAMS))


class Refused(ConnectionRefusedError):  # noqa: N818  (the words are the test's)
    """The test reached for what is neither recorded nor its own."""


class Over(BaseException):
    """The run has ended, for a reason that the verdict names."""


class Guard:
    """What is let through while one test runs. From any thread."""

    def __init__(self, programs: Sequence[str] = ()) -> None:
        """`programs` may be started by the test; what they do is not recorded."""
        self._programs = frozenset(programs)
        self._machine = Machine(os.environ)
        self._pid = os.getpid()
        self.refusals: list[str] = []
        """What was refused, in words."""

    def refuse(self, words: str) -> Refused:
        """Keep what the test reached for, and return the error to be raised."""
        self.refusals.append(words)
        return Refused(f"hark: {words}")

    def check_process(self) -> None:
        """Refuse what a process that the test has forked reaches for. Raises Refused."""
        if os.getpid() != self._pid:
            raise Refused("hark: a process that the test forked is not recorded, and reaches nothing")

    def judge(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raise Refused unless what an audit event tells of is the test's own."""
        if event == _CONNECT:
            sock, address = arguments
            if sock.family not in _INTERNET or not _is_own(address, "tcp"):
                raise self.refuse(f"a connection to {shown(address)} past what is recorded")
        elif event == _BIND:
            sock, address = arguments
            if sock.family in _INTERNET and not _is_here(address):
                raise self.refuse(f"listening at {shown(address)}, where other machines could ask")
        elif event in _SENDING:
            sock, address = arguments
            if address is not None and not (sock.family in _INTERNET and _is_own(address, "udp")):
                raise self.refuse(f"a datagram to {shown(address)}, which is not recorded")
        elif event in _LOOKUPS:
            host = arguments[0]
            if host and not names.is_numeric(host.decode() if isinstance(host, bytes) else str(host)):
                raise self.refuse(f"a question for the name {shown(host)} past what is recorded")
        else:
            self._program(event, arguments)

    def _program(self, event: str, arguments: tuple[Any, ...]) -> None:
        named = arguments[1] if event == "os.spawn" else arguments[0]
        text = os.fsdecode(named) if isinstance(named, str | bytes | os.PathLike) else str(named)
        name = "sh" if event == _SHELL else os.path.basename(text)
        if name in self._programs or (event != _SHELL and self._machine.has(text, _environment(arguments))):
            return
        raise self.refuse(
            f"the program {shown(name)}: what programs do is not recorded here; name "
            "it in the marker's programs to start it all the same"
        )


def _environment(arguments: tuple[Any, ...]) -> Mapping[Any, Any]:
    """Return what a program is to have, which every one of these events tells last."""
    given = arguments[-1]
    return given if isinstance(given, Mapping) else os.environ


def _is_own(address: Any, protocol: str) -> bool:
    try:
        return own.is_loopback(str(address[0])) and own.serves(str(address[0]), int(address[1]), protocol)
    except (ValueError, TypeError, IndexError):
        return False


def _is_here(address: Any) -> bool:
    """Tell whether what is bound to it can be asked by this machine alone."""
    try:
        host = str(address[0])
        if not names.is_numeric(host):
            return host == "localhost"
        return own.is_loopback(host) and not own.is_unspecified(host)
    except (ValueError, TypeError, IndexError):
        return False


def shown(value: object) -> str:
    """Return an address or a name for a person."""
    if isinstance(value, tuple) and len(value) >= 2:
        return f"{value[0]}:{value[1]}"
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


class _State(threading.local):
    passing = False


_state = _State()
_hooked = False
_active: Guard | None = None
_marks: left.Marks | None = None


@contextmanager
def passing() -> Iterator[None]:
    """Let this thread do what is hark's own doing."""
    before, _state.passing = _state.passing, True
    try:
        yield
    finally:
        _state.passing = before


def active() -> Guard | None:
    """Return the guard of the test that runs."""
    return _active


def begin(guard: Guard) -> None:
    """Have a guard judge. One at a time."""
    global _active, _hooked, _marks  # noqa: PLW0603  (an audit hook is the process's)
    if not _hooked:
        sys.addaudithook(_audit)
        _hooked = True
    _marks = left.Marks()
    _active = guard


def end() -> None:
    """Judge no more but what is left."""
    global _active, _marks  # noqa: PLW0603  (as above)
    if _marks is not None:
        _marks.set()
        _marks = None
    _active = None


LATE: Final = Guard()
"""Judges what tests have left once they are over; its refusals are no test's any more."""


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _state.passing or (event not in _WATCHED and event not in left.STARTS):
        return
    guard = _active
    with passing():
        if guard is None and left.is_left():
            guard = LATE
        if event not in left.STARTS:
            if guard is not None:
                guard.judge(event, arguments)
        elif guard is LATE and not left.started(arguments):
            raise guard.refuse("a thread of a kind that cannot be told from others")
