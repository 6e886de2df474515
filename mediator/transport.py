"""A connection's two streams, how one is made, and how it is ended so that nobody takes it for complete."""

import asyncio
import contextlib
import fcntl
import socket
import struct
import termios
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import ssl

READ_LIMIT: Final = 1 << 18  # a read; the rest waits in the kernel, so memory is bounded
BACKED_UP: Final = READ_LIMIT  # four reads of TLS
KEEPALIVE_S: Final = 30  # NATs forget a silent connection after some minutes, a model may think for twenty
_KEEPALIVE_PROBES: Final = 6
STALLED_S: Final = 600.0
"""Whoever takes nothing for so long of what was written before an end takes no more: one that works on each
piece of an answer needs minutes for it."""
_NO_LINGER: Final = struct.pack("ii", 1, 0)


class Reader(asyncio.StreamReader):
    """A StreamReader whose bytes may be taken as they arrive, without anybody being woken for them."""

    taker: Callable[[bytes], bool] | None = None
    """Told of bytes before they are kept; they are not where it takes them."""

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]  # a socket gives nothing else
        """As of a StreamReader: called by what reads the socket."""
        if self.taker is None or not self.taker(data):
            super().feed_data(data)


class Accepted(asyncio.StreamReaderProtocol):
    """As a StreamReaderProtocol; and tells when all that was written has left for the kernel."""

    _told: Callable[[bool], None] | None = None
    _of: asyncio.WriteTransport | None = None

    def when_written(self, transport: asyncio.WriteTransport, told: Callable[[bool], None]) -> None:
        """Call once, of a transport in which bytes wait: True when they have left, False when it was lost."""
        self._told, self._of = told, transport
        transport.set_write_buffer_limits(high=0)

    def resume_writing(self) -> None:
        """As of a StreamReaderProtocol: called by what writes to the socket."""
        super().resume_writing()
        self._tell(written=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """As of a StreamReaderProtocol: called last of all."""
        super().connection_lost(exc)
        self._tell(written=False)

    def _tell(self, *, written: bool) -> None:
        told, self._told = self._told, None
        of, self._of = self._of, None
        if of is not None:
            of.set_write_buffer_limits()
        if told is not None:
            told(written)


class Streams(NamedTuple):
    """One connection, both ways."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def connected(
    address: str, port: int, *, tls: "ssl.SSLContext | None", name: str | None, limit: int
) -> Streams:
    """Connect. Raises OSError and ssl.SSLError."""
    from mediator.decrypted import by_buffer  # loads TLS, which a replay does without

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

    def protocol() -> Accepted:
        return Accepted(Reader(limit=limit, loop=loop), accept, loop=loop)

    return await loop.create_server(protocol, sock=sock, backlog=backlog)


def _socket(transport: asyncio.WriteTransport) -> Any:
    """Return what asyncio has of a transport's socket; None where it has let go of it."""
    try:
        return transport.get_extra_info("socket")
    except AttributeError:  # TLS that was closed twice
        return None


def unwritten(transport: asyncio.WriteTransport) -> int:
    """Return how many bytes wait with us to be written to a connection; none where it was closed twice.

    asyncio's TLS lets go of itself at the second close, and raises AttributeError for all it is asked then.
    """
    try:
        return transport.get_write_buffer_size()
    except AttributeError:
        return 0


def keep_alive(transport: asyncio.WriteTransport) -> None:
    """Let the kernel show what lies between us and the server that a silent connection is still one."""
    sock = _socket(transport)
    if sock is not None:
        with contextlib.suppress(OSError):  # already gone
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_PROBES)


def no_linger(transport: asyncio.WriteTransport) -> None:
    """Let the coming close be a reset."""
    sock = _socket(transport)
    if sock is not None:
        with contextlib.suppress(OSError):  # already gone
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)


def reset(transport: asyncio.WriteTransport) -> None:
    """End a connection now, with a reset; one that has been closed with nothing left in it is left alone."""
    if not _over(transport):
        no_linger(transport)
        transport.abort()


def drop(transport: asyncio.WriteTransport) -> None:
    """End a connection now, and forget what waits in it; one that is over is left alone."""
    if not _over(transport):
        transport.abort()


def _over(transport: asyncio.WriteTransport) -> bool:
    """Tell whether a connection was closed and has nothing to wait for any more.

    A reset would take back what the kernel still has to send. Where the close had to wait for the socket,
    asyncio has let go of it and raises AttributeError for an abort.
    """
    if not transport.is_closing():
        return False
    sock = _socket(transport)
    if sock is None or sock.fileno() < 0:
        return True
    waits_for_goodbye = transport.get_extra_info("sslcontext") is not None
    return not waits_for_goodbye and not unwritten(transport)


async def closed(writer: asyncio.StreamWriter) -> bool:
    """Wait until what waits in a connection that was closed has left, for as long as any of it is taken.

    False: its reader took nothing for `STALLED_S`, and the connection was reset.
    """
    transport = writer.transport
    if not transport.is_closing() or not unwritten(transport):
        return True
    left = untaken(transport)
    taken = True
    gone = asyncio.ensure_future(writer.wait_closed())
    while not (await asyncio.wait([gone], timeout=STALLED_S))[0]:
        before, left = left, untaken(transport)
        if left == before:
            taken = False
            reset(transport)
    gone.exception()
    return taken


def unread(transport: asyncio.WriteTransport) -> int:
    """Return how many bytes of the other side lie with the kernel or before TLS, and are not handed on yet.

    Of a record of TLS that has not come whole OpenSSL may have taken a part, which nothing shows.
    """
    sock = _socket(transport)
    if sock is None or sock.fileno() < 0:
        return 0
    (kernels,) = struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.FIONREAD, b"\0\0\0\0"))
    return int(kernels) + _undecrypted(transport)


def _undecrypted(transport: asyncio.WriteTransport) -> int:
    protocol = getattr(transport, "_ssl_protocol", None)
    incoming, tls = getattr(protocol, "_incoming", None), getattr(protocol, "_sslobj", None)
    return (0 if incoming is None else incoming.pending) + (0 if tls is None else tls.pending())


def untaken(transport: asyncio.WriteTransport) -> int:
    """Return how many bytes the other side has not taken yet: of ours and of the kernel's."""
    sock = _socket(transport)
    if sock is None or sock.fileno() < 0:
        return 0
    (kernels,) = struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))
    return unwritten(transport) + int(kernels)
