"""The networks of a run, made by a process of their own while the command is still being prepared.

Most of what they take is waiting for the kernel, and nothing about them depends on the plan but who the agent
is, which is nearly always known before it. Always: the boundary's builder uses them only where the agent is
who they were made for, enters their namespaces itself and in its own order, and makes its own wherever there
are none, so that whatever goes wrong here is found again there, and said. Nobody inside ever holds anything
of this process; it ends when it has handed over, and dies with the supervisor. What nobody took is gone with
the last descriptor.
"""

import contextlib
import os
import signal
import socket
from dataclasses import dataclass
from typing import Final, NoReturn

from launcher import wire
from launcher.identity import Identity, agent_identity

NAMESPACES: Final = ("user", "net")
WORD: Final = "networks"


@dataclass(frozen=True, slots=True)
class Ahead:
    """The process that makes them, and where it hands them over."""

    process: int
    channel: socket.socket
    identity: Identity
    supervisor: int
    """The process that began it: in one that was forked since, it is nobody's child."""

    def fits(self, identity: Identity) -> bool:
        """Tell whether they were made for an agent that is this one."""
        mine, other = self.identity, identity
        return (mine.uid, mine.gid, mine.inside) == (other.uid, other.gid, other.inside)

    def end(self) -> None:
        """End it, if it has not ended. In the process that began it, once."""
        self.channel.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


@dataclass(frozen=True, slots=True)
class Networks:
    """Descriptors of what was handed over, and the settings that could not be made."""

    user: int
    net: int
    sockets: tuple[int, ...]
    unset: tuple[str, ...]

    def close(self) -> None:
        """Let go of all."""
        for descriptor in (self.user, self.net, *self.sockets):
            os.close(descriptor)


_begun: list[Ahead] = []


def begin() -> None:
    """Have them made, once. MUST be called while the process has one thread. Refuses nothing."""
    _forget_others()
    if _begun:
        return
    try:
        identity = agent_identity(os.getuid(), os.getgid(), os.environ)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        supervisor, child = os.getpid(), os.fork()
    except OSError:
        return
    if child == 0:
        ours.close()
        _make(identity, theirs, supervisor)
    theirs.close()
    _begun.append(Ahead(child, ours, identity, supervisor))


def _forget_others() -> None:
    """Let go of what the process that this one was forked from has begun, and will end."""
    while _begun and _begun[0].supervisor != os.getpid():
        _begun.pop().channel.close()


def take(identity: Identity) -> Ahead | None:
    """Return what was begun for such an agent, once; the caller MUST `end` it. What does not fit is ended."""
    _forget_others()
    if not _begun:
        return None
    ahead = _begun.pop()
    if ahead.fits(identity):
        return ahead
    ahead.end()
    return None


def _make(identity: Identity, channel: socket.socket, supervisor: int) -> NoReturn:
    """Make them and hand them over. Says nothing of what goes wrong: the builder finds the same."""
    try:
        os.setsid()  # signals from the caller's terminal are the supervisor's to handle
        from launcher import kernel, network
        from launcher.userspace import enter_user_namespace

        _die_with(supervisor)
        kernel.set_name("hark-networks")
        enter_user_namespace(identity)
        _die_with(supervisor)
        sockets, unset = network.build(identity.inside[1])
        spaces = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in NAMESPACES]
        wire.send(channel, WORD, *unset, descriptors=(*spaces, *(one.fileno() for one in sockets)))
    finally:
        os._exit(0)


def _die_with(supervisor: int) -> None:
    from launcher import kernel

    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)


def received(channel: socket.socket) -> Networks | None:
    """Wait for what is handed over; None where nothing is. Closes the channel."""
    with channel:
        message = wire.receive(channel)
    if message.word != WORD:
        return None
    user, net, *sockets = message.descriptors
    return Networks(user, net, tuple(sockets), message.fields)
