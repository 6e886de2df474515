"""TLS for programs that read and write one connection in two threads, as `websockets.sync` does.

An `ssl.SSLSocket` does not bear that: where one thread reads a session ticket while another writes, either
may wait for ever. Here one thread alone touches the TLS connection, and the program has a plain socket.
"""

import selectors
import socket
import ssl
import threading
from contextlib import suppress
from typing import Any, Final

_PIECE: Final = 1 << 16


def carried(tls: ssl.SSLSocket) -> socket.socket:
    """Return a plain stream whose bytes that connection carries, and that ends with it. It is taken over."""
    near, far = socket.socketpair()
    for sock in (tls, far):
        sock.setblocking(False)
    threading.Thread(target=_Carrier(tls, far).run, daemon=True).start()
    return near


class Listener(socket.socket):
    """Listens on a free port of loopback; what it accepts is a plain stream, carried by TLS."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(fileno=socket.create_server(("127.0.0.1", 0)).detach())
        self._context = context

    def accept(self) -> tuple[socket.socket, Any]:
        """The handshake is made as the stream is read, not here."""
        sock, address = super().accept()
        try:
            tls = self._context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        except OSError:  # it went away already
            ended, other = socket.socketpair()
            other.close()
            return ended, address
        return carried(tls), address


class _Way:
    """One direction: at most one piece is held, then whoever sends waits."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source, self.sink = source, sink
        self.held = b""
        self.ended = False

    def step(self, wants: dict[socket.socket, int]) -> bool:
        """Move what can be moved now. False: nothing; then `wants` has what to wait for."""
        sock, ready = (self.sink, selectors.EVENT_WRITE) if self.held else (self.source, selectors.EVENT_READ)
        try:
            if self.held:
                self.held = self.held[self.sink.send(self.held) :]
            elif not self.ended:
                self.held = self.source.recv(_PIECE)
                self.ended = not self.held
                if self.ended:
                    # without TLS's own goodbye, for which OpenSSL would throw away what still comes
                    socket.socket.shutdown(self.sink, socket.SHUT_WR)
            else:
                return False
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
            if isinstance(error, ssl.SSLError):
                write = isinstance(error, ssl.SSLWantWriteError)
                ready = selectors.EVENT_WRITE if write else selectors.EVENT_READ
            wants[sock] = wants.get(sock, 0) | ready
            return False
        return True


class _Carrier:
    def __init__(self, tls: ssl.SSLSocket, far: socket.socket) -> None:
        self._tls, self._far = tls, far

    def run(self) -> None:
        ways = (_Way(self._tls, self._far), _Way(self._far, self._tls))
        with self._tls, self._far, suppress(OSError):
            while not all(way.ended for way in ways):
                wants: dict[socket.socket, int] = {}
                moved = [way.step(wants) for way in ways]
                if not any(moved):
                    with selectors.DefaultSelector() as selector:
                        for sock, events in wants.items():
                            selector.register(sock, events)
                        selector.select()
