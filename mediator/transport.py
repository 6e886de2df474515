"""A connection's two streams, how one is made, and how it is ended so that nobody takes it for complete."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from mediator.decrypted import by_buffer

KEEPALIVE_S: Final = 30  # NATs forget a silent connection after some minutes, a model may think for twenty
_KEEPALIVE_PROBES: Final = 6
_NO_LINGER: Final = struct.pack("ii", 1, 0)


class Reader(asyncio.StreamReader):
    """A StreamReader whose bytes may be taken as they arrive, without anybody being woken for them."""

    taker: Callable[[bytes], bool] | None = None
    """Told of bytes before they are kept; they are not where it takes them."""

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]  # a socket gives nothing else
        """As of a StreamReader: called by what reads the socket."""
        if self.taker is None or not self.taker(data):
            super().feed_data(data)


class Streams(NamedTuple):
    """One connection, both ways."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def connected(
    address: str, port: int, *, tls: ssl.SSLContext | None, name: str | None, limit: int
) -> Streams:
    """Connect. Raises OSError and ssl.SSLError."""
    loop = asyncio.get_running_loop()
    reader = Reader(limit=limit, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.create_connection(
        lambda: protocol, address, port, ssl=tls, server_hostname=name
    )
    by_buffer(transport)
    return Streams(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


async def listening(
    accept: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    sock: socket.socket,
    *,
    limit: int,
    backlog: int,
) -> asyncio.Server:
    """Accept connections on a bound socket, each in a task of its own."""
    loop = asyncio.get_running_loop()

    def protocol() -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(Reader(limit=limit, loop=loop), accept, loop=loop)

    return await loop.create_server(protocol, sock=sock, backlog=backlog)


def keep_alive(transport: asyncio.WriteTransport) -> None:
    """Let the kernel show what lies between us and the server that a silent connection is still one."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):  # already gone
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_PROBES)


def no_linger(transport: asyncio.WriteTransport) -> None:
    """Let the coming close be a reset."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):  # already gone
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)


def reset(transport: asyncio.WriteTransport) -> None:
    """End a connection now, with a reset."""
    no_linger(transport)
    transport.abort()
