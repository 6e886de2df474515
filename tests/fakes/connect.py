"""A real CONNECT proxy on loopback, in the clear or over TLS, with or without a password."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.fakes.raw import raw_server
from tests.fakes.upstream import certified


@dataclass
class ConnectProxy:
    """A running proxy. `places` maps what is asked for to where it is; `asked` holds the heads it got."""

    port: int = 0
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    asked: list[bytes] = field(default_factory=list)
    ca_pem: bytes = b""
    wanted: bytes = b""
    """The Proxy-Authorization that is wanted, if any."""
    answer: bytes | None = None
    """Sent instead of what a proxy says."""


@contextmanager
def connect_proxy(*, tls: bool = False, name: str = "proxy.example.test") -> Iterator[ConnectProxy]:
    """Serve until the block ends."""
    proxy = ConnectProxy()
    context: ssl.SSLContext | None = None
    if tls:
        proxy.ca_pem, context = certified((name, "127.0.0.1"))
    with raw_server(lambda connection: _serve(proxy, connection, context)) as server:
        proxy.port = server.port
        yield proxy


def _serve(proxy: ConnectProxy, connection: socket.socket, context: ssl.SSLContext | None) -> None:
    if context is not None:
        connection = context.wrap_socket(connection, server_side=True)
    with connection:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(4096)
            if not piece:
                return
            head += piece
        proxy.asked.append(head)
        _answer(proxy, connection, head)


def _answer(proxy: ConnectProxy, connection: socket.socket, head: bytes) -> None:
    if proxy.answer is not None:
        connection.sendall(proxy.answer)
        return
    if proxy.wanted and b"\r\nProxy-Authorization: " + proxy.wanted + b"\r\n" not in head:
        connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        return
    place = proxy.places.get(head.split(b" ")[1].decode())
    if place is None:
        connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        return
    with socket.create_connection(place) as server:
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        back = threading.Thread(target=_pump, args=(server, connection), daemon=True)
        back.start()
        _pump(connection, server)
        back.join(60)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
