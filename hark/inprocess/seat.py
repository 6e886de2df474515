"""What stands around a test in place of a boundary: sockets on loopback, and the channel to the test.

Always: a connection counts for what the test said of it before it was made; whoever else connects is recorded
as unknown and refused. A run that is ended makes the test's process reach nothing from then on: it is told so
at its next step. It contains nothing, and never says that it did.
"""

import contextlib
import json
import os
import select
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from hark.errors import ConfinementError
from hark.inprocess import words
from launcher import wire
from launcher.identity import agent_identity
from launcher.intake import Record
from launcher.plan import Sockets
from launcher.report import Ended, Facts
from mediator.origin import Accepted

if TYPE_CHECKING:
    from launcher.doorway import Doorway
    from launcher.pages import Log, Page

AUTHORITY: Final = "authority"
"""Under this name `start` is given the run's root certificate."""
BACKLOG: Final = 4096


class Seat:
    """One run's Surroundings. `kill` from any thread, all else from the main one."""

    def __init__(self, channel: socket.socket, process: int, shown: Mapping[str, str]) -> None:
        """`process` is the test's; `shown` is what stands in its environment meanwhile."""
        self._channel = channel
        self._process = process
        self._shown = shown
        self._peers = tuple(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(3))
        """Nobody asks over UDP, and there are no packets: the mediator listens all the same."""
        self._six = _listener(socket.AF_INET6, "::1")
        self._sockets = Sockets(_loopback(), self._six or _loopback(), *(pair[0] for pair in self._peers))
        self._dialled: dict[int, tuple[str, int]] = {}
        self._lock = threading.Lock()
        self._woken = os.eventfd(0)
        self.killed: str | None = None
        self.begun = False
        """As of `launcher.surroundings`."""
        self.ended: int | None = None
        """The exit code of the test, once it has said that it ended."""

    @property
    def sockets(self) -> Sockets:
        """Where the test's connections are accepted."""
        return self._sockets

    @property
    def facts(self) -> Facts:
        """Where it ran, and as whom a boundary would run it: nothing was in force."""
        system = os.uname()
        uid, gid = agent_identity(os.getuid(), os.getgid(), os.environ).inside
        return Facts(system.release, system.machine, 0, uid, gid, (), (), (), ())

    @property
    def doorway(self) -> "Doorway":
        """There is none."""
        raise ConfinementError("a test in its own process publishes no port; run it in a boundary")

    @property
    def page(self) -> "Page":
        """There is none."""
        raise ConfinementError("a test in its own process has no shims; run it in a boundary")

    @property
    def log(self) -> "Log":
        """There is none."""
        raise ConfinementError("a test in its own process has no shims; run it in a boundary")

    def process(self) -> int:
        """Return the test's process."""
        return self._process

    def whose(self) -> None:
        """Nobody tells: the connections are the test's."""

    def origin(self, accepted: Accepted) -> tuple[str, int]:
        """Return what the test meant. As of `mediator.origin`."""
        peer: tuple[str, int] = accepted.getpeername()  # type: ignore[attr-defined]  # it is a socket
        with self._lock:
            found = self._dialled.pop(peer[1], None)
        if found is None:
            raise OSError("the test said nothing of it")
        return found

    def heed(self) -> None:
        """Signals are the test's."""

    def start(
        self, files: Mapping[str, bytes], record: Record, meanwhile: Callable[[], object] = bool
    ) -> None:
        """Let the test go, once `meanwhile` is done."""
        del record
        meanwhile()
        tcp4, tcp6 = self._sockets.tcp4.getsockname()[1], 0
        if self._six is not None:
            tcp6 = self._six.getsockname()[1]
        authority = files[AUTHORITY].decode("ascii")
        wire.send(self._channel, words.READY, str(tcp4), str(tcp6), authority, json.dumps(dict(self._shown)))
        self.begun = True

    def wait(self) -> Ended:
        """Take what the test says of its connections until it says that it has ended."""
        while self.killed is None:
            message = self._next()
            if message is None:
                break
            if message.word == words.DIAL:
                self._take(message)
            elif message.word == words.ENDED:
                self.ended = int(message.fields[0])
                return Ended(code=self.ended)
            else:
                self.ended = -1
                return Ended(signal=signal.SIGKILL)
        return Ended(signal=signal.SIGKILL, killed=self.killed)

    def _next(self) -> wire.Message | None:
        """Return the next message; None where the run was ended first."""
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        ready = dict(poll.poll())
        return None if self._woken in ready else wire.receive(self._channel)

    def _take(self, message: wire.Message) -> None:
        _family, local, address, port = message.fields
        with self._lock:
            self._dialled[int(local)] = (address, int(port))
        wire.send(self._channel, words.OK)

    def until_end(self) -> None:
        """Tell the test that its run is over, whatever it does next, until it has ended."""
        while self.ended is None:
            message = wire.receive(self._channel)
            if message.word == words.DIAL:
                wire.send(self._channel, words.OVER, self.killed or "it could not go on")
            else:
                self.ended = int(message.fields[0]) if message.word == words.ENDED else -1

    def terminate(self, why: str, grace_s: float) -> None:
        """As `kill`: there is nothing to be asked first."""
        del grace_s
        self.kill(why)

    def kill(self, why: str) -> None:
        """End the run; the test is told at its next step."""
        if self.killed is None:
            self.killed = why
        with contextlib.suppress(OSError):  # it is closed
            os.eventfd_write(self._woken, 1)

    def end(self, why: str) -> None:
        """As `kill`: the test's process goes on without it."""
        self.kill(why)

    def close(self) -> None:
        """Give back what the mediator has not closed."""
        for pair in self._peers:
            pair[1].close()
        os.close(self._woken)


def _loopback() -> socket.socket:
    found = _listener(socket.AF_INET, "127.0.0.1")
    if found is None:
        raise OSError("this machine has no 127.0.0.1")
    return found


def _listener(family: socket.AddressFamily, address: str) -> socket.socket | None:
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.bind((address, 0))
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        return None
    return sock
