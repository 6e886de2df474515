"""Connections to the agent's own loopback, opened for the operator's side and never for the agent's.

A process apart stays behind in the agent's network namespace, outside its process and mount namespaces.
Told a port of the plan, it connects to it there and hands the socket up. Always: it obeys its one channel,
which the agent never holds; it connects to loopback addresses only, in a namespace that has no way to the
host; whoever connects from inside finds nothing, because nothing listens here.
"""

import contextlib
import errno
import os
import signal
import socket
import threading
from typing import Final, NoReturn

from launcher import kernel, wire

CONNECT_S: Final = 5.0  # a listener that is full answers nothing
_ANSWER_S: Final = 3 * CONNECT_S  # two addresses, and the time to say so
_LOOPBACK: Final = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


class Doorway:
    """The supervisor's end. `connect` may be called from any thread; one connection is made at a time."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lock = threading.Lock()

    def connect(self, port: int) -> socket.socket:
        """Return a socket that is connected to `port` of the agent's loopback. Raises OSError."""
        with self._lock:
            self._channel.settimeout(_ANSWER_S)
            wire.send(self._channel, "connect", str(port))
            answer = wire.receive(self._channel)
        if answer.word == "connected":
            return socket.socket(fileno=answer.descriptors[0])
        number = int(answer.fields[0]) if answer.word == "refused" else 0
        raise OSError(number, os.strerror(number) if number else "the boundary is gone")

    def close(self) -> None:
        """Let the process behind it end."""
        self._channel.close()


def open_behind(ports: tuple[int, ...]) -> socket.socket:
    """Fork the process, which stays in the caller's network namespace; return the supervisor's end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            kernel.die_with_parent(signal.SIGKILL)
            if os.getppid() == parent:
                _serve(theirs, ports)
        finally:
            os._exit(0)
    theirs.close()
    return ours


def _serve(channel: socket.socket, ports: tuple[int, ...]) -> NoReturn:
    kernel.set_name("hark-doorway")
    kernel.set_dumpable(dumpable=False)
    kernel.close_range(0, channel.fileno() - 1)
    kernel.close_range(channel.fileno() + 1)
    kernel.drop_capabilities()
    kernel.no_new_privileges()
    while True:
        message = wire.receive(channel)
        if message.word != "connect":
            os._exit(0)
        _answer(channel, int(message.fields[0]), ports)


def _answer(channel: socket.socket, port: int, ports: tuple[int, ...]) -> None:
    error = errno.EACCES  # a port that the plan does not publish
    for family, address in _LOOPBACK if port in ports else ():
        with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:
            sock.settimeout(CONNECT_S)
            try:
                sock.connect((address, port))
            except OSError as failure:
                error = failure.errno or errno.ETIMEDOUT  # a time-out of ours has no number
                continue
            with contextlib.suppress(OSError):  # whoever asked is gone
                wire.send(channel, "connected", descriptors=(sock.fileno(),))
            return
    with contextlib.suppress(OSError):
        wire.send(channel, "refused", str(error))
