"""What Python code of a test's own process may reach: its attendant, and what it serves itself. Nothing else.

Always: whatever else an audit event tells of is refused and kept, so that a test which swallows the error
fails all the same: connections and names past the redirection, datagrams, local sockets, programs. The hook
stays for the life of the process, as every audit hook does, and refuses only between `begin` and `end`.

Not done here, nor possible here: holding back code that is not Python's and makes its own system calls
(libcurl, gRPC, ctypes). Connections that such code has open when the test ends are found by
`hark.inprocess.own`; those that it closed before are not.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from socket import AF_INET, AF_INET6
from typing import Any, Final

from hark.inprocess import names, own

_INTERNET: Final = frozenset((AF_INET, AF_INET6))
_CONNECT: Final = "socket.connect"
_SENDING: Final = frozenset(("socket.sendto", "socket.sendmsg"))
_LOOKUPS: Final = frozenset(("socket.getaddrinfo", "socket.gethostbyname"))
_PROGRAMS: Final = frozenset(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"))
_OF_THE_MACHINE: Final = frozenset(("uname", "lsb_release", "ldconfig"))
"""What Python's own platform and ctypes.util, and SDKs by them, ask about the machine: it reaches nothing."""
_WATCHED: Final = frozenset((_CONNECT, *_SENDING, *_LOOKUPS, *_PROGRAMS))


class Refused(ConnectionRefusedError):  # noqa: N818  (the words are the test's)
    """The test reached for what is neither recorded nor its own."""


class Over(BaseException):
    """The run has ended, for a reason that the verdict names."""


class Guard:
    """What is let through while one test runs. From any thread."""

    def __init__(self, programs: Sequence[str] = ()) -> None:
        """`programs` may be started by the test; what they do is not recorded."""
        self._programs = _OF_THE_MACHINE | frozenset(programs)
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
        if os.path.basename(text) not in self._programs:
            raise self.refuse(
                f"the program {shown(os.path.basename(text))}: what programs do is not recorded here; name "
                "it in the marker's programs to start it all the same"
            )


def _is_own(address: Any, protocol: str) -> bool:
    try:
        return own.is_loopback(str(address[0])) and own.serves(int(address[1]), protocol)
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
    global _active, _hooked  # noqa: PLW0603  (an audit hook is the process's)
    if not _hooked:
        sys.addaudithook(_audit)
        _hooked = True
    _active = guard


def end() -> None:
    """Judge no more."""
    global _active  # noqa: PLW0603  (as above)
    _active = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    guard = _active
    if guard is None or event not in _WATCHED or _state.passing:
        return
    with passing():
        guard.judge(event, arguments)


type Original = Callable[..., Any]
