"""Servers that talk rather than answer: gRPC of all four kinds, and a WebSocket, with TLS on loopback."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import grpc
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from tests.fakes.upstream import certified, certified_pem
from tests.support.carried import Listener

SERVICE: Final = "tiny.Echo"
"""Its methods take and give raw bytes: Unary, ServerStream, ClientStream and Both."""


@dataclass(frozen=True, slots=True)
class Talker:
    """A running server."""

    address: str
    ca: bytes


@contextmanager
def calling(name: str) -> Iterator[Talker]:
    """Serve gRPC: each method gives back what it was sent, with the trailer `tiny-seen`."""
    ca, key, certificate = certified_pem((name,))
    server = grpc.server(ThreadPoolExecutor(8))
    handlers = {
        "Unary": grpc.unary_unary_rpc_method_handler(_unary),
        "ServerStream": grpc.unary_stream_rpc_method_handler(_server_stream),
        "ClientStream": grpc.stream_unary_rpc_method_handler(_client_stream),
        "Both": grpc.stream_stream_rpc_method_handler(_both),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
    server.start()
    try:
        yield Talker(f"127.0.0.1:{port}", ca)
    finally:
        server.stop(None).wait()


def _unary(data: bytes, context: Any) -> bytes:
    context.set_trailing_metadata([("tiny-seen", "1")])
    return data


def _server_stream(data: bytes, context: Any) -> Iterator[bytes]:
    context.set_trailing_metadata([("tiny-seen", "1")])
    yield from (data, data, data)


def _client_stream(pieces: Iterator[bytes], context: Any) -> bytes:
    got = list(pieces)
    context.set_trailing_metadata([("tiny-seen", str(len(got)))])
    return b"".join(got)


def _both(pieces: Iterator[bytes], context: Any) -> Iterator[bytes]:
    seen = 0
    for seen, piece in enumerate(pieces, 1):  # noqa: B007  # used after the loop
        yield piece
    context.set_trailing_metadata([("tiny-seen", str(seen))])


@contextmanager
def chatting(name: str) -> Iterator[Talker]:
    """Serve a WebSocket that gives each message back."""
    ca, context = certified((name,))
    with serve(_chat, sock=Listener(context)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Talker(f"127.0.0.1:{server.socket.getsockname()[1]}", ca)
        finally:
            server.shutdown()
            thread.join()


def _chat(connection: ServerConnection) -> None:
    try:
        for message in connection:
            connection.send(message)
    except ConnectionClosed:
        pass
