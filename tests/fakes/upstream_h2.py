"""A real server that speaks HTTP/2 over TLS, told by a function what to do at each of its events."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from tests.fakes.upstream import certified

type React = Callable[["Peer", h2.events.Event], None]


@dataclass
class H2Upstream:
    """The server: every event of every connection."""

    port: int = 0
    ca_pem: bytes = b""
    events: list[h2.events.Event] = field(default_factory=list)
    peers: list["Peer"] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Return what `-upstream HOST=` takes."""
        return f"127.0.0.1:{self.port}"

    def heads(self) -> list[dict[bytes, bytes]]:
        """Return the heads of the requests."""
        return [dict(e.headers or []) for e in self.events if isinstance(e, h2.events.RequestReceived)]


class Peer:
    """One connection. Locked, so that a test may send on it too."""

    def __init__(self, sock: socket.socket, upstream: H2Upstream, react: React) -> None:
        config = h2.config.H2Configuration(
            client_side=False, header_encoding=False, validate_outbound_headers=False
        )
        self.sock = sock
        self.upstream = upstream
        self.h2 = h2.connection.H2Connection(config)
        self._react = react
        self.lock = threading.RLock()
        self.acknowledges = True

    def flush(self) -> None:
        """Send what is to be sent."""
        with self.lock:
            self.sock.sendall(self.h2.data_to_send())

    def answer(self, stream: int, body: bytes = b"", *more: tuple[str, str], end: bool = True) -> None:
        """Answer a stream."""
        self.h2.send_headers(stream, [(":status", "200"), *more])
        self.h2.send_data(stream, body, end_stream=end)

    def serve(self) -> None:
        """Read until the other side ends."""
        self.h2.initiate_connection()
        self.flush()
        with contextlib.suppress(OSError):
            self._read()

    def _read(self) -> None:
        try:
            while data := self.sock.recv(65536):
                with self.lock:
                    for event in self.h2.receive_data(data):
                        self.upstream.events.append(event)
                        if isinstance(event, h2.events.DataReceived) and self.acknowledges:
                            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                        self._react(self, event)
                    self.flush()
        except h2.exceptions.ProtocolError:
            self.flush()  # its GOAWAY says what was wrong


@contextmanager
def serving_h2(name: str, react: React) -> Iterator[H2Upstream]:
    """Run a server whose certificate is for `name`."""
    upstream = H2Upstream()
    upstream.ca_pem, context = certified((name,))
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))
    upstream.port = listener.getsockname()[1]
    opened: list[socket.socket] = []

    def carry(sock: socket.socket) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(sock, server_side=True) as tls:
            opened.append(tls)
            peer = Peer(tls, upstream, react)
            upstream.peers.append(peer)
            peer.serve()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=carry, args=(listener.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield upstream
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for sock in opened:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        thread.join()


def echo(peer: Peer, event: h2.events.Event) -> None:
    """Answer each request with its path, unless what came with it took it back."""
    stream = peer.h2.streams.get(getattr(event, "stream_id", 0))
    if isinstance(event, h2.events.RequestReceived) and stream is not None and not stream.closed:
        peer.answer(event.stream_id or 0, dict(event.headers or [])[b":path"])
