"""Ask a proxy for a connection (CONNECT, RFC 9110, 9.3.6) and hand out the two streams behind it.

Always: what the proxy sends behind its answer is part of a raw connection, and an error before TLS: no byte
that came in the clear is ever read as one that came through TLS. Every failure is a ConnectError in words; a
proxy's own words are not repeated, since they may quote the credential.
"""

import asyncio
import ssl
from typing import Final

from mediator.authority import Destination
from mediator.proxy import Proxy
from mediator.transport import Reader, Streams, drop

MAX_ANSWER: Final = 1 << 16  # the head of an answer; what follows it is the connection
_REASONS: Final = {
    407: "it wants a user and a password: write them into the URL, http://USER:PASSWORD@HOST:PORT",
    403: "it does not allow this host and port",
    502: "it cannot reach this host",
    503: "it cannot reach this host",
    504: "it got no answer from this host",
}


class ConnectError(Exception):
    """The proxy gave no connection; the text is a sentence's end."""


class _Answer(asyncio.Protocol):
    """Reads the head of the proxy's answer, and nothing more once it is there."""

    def __init__(self) -> None:
        self.head: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.rest = b""
        self._got = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, end, self.rest = self._got.partition(b"\r\n\r\n")
        if end and not self.head.done():
            self.head.set_result(head)
        if (end or len(self._got) > MAX_ANSWER) and self._transport is not None:
            self._transport.pause_reading()
        if not end and len(self._got) > MAX_ANSWER:
            self._fail("its answer is too long")

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("it closed the connection" if exc is None else "it reset the connection")

    def _fail(self, why: str) -> None:
        if not self.head.done():
            self.head.set_exception(ConnectError(why))


async def through(
    proxy: Proxy,
    target: Destination,
    *,
    proxy_tls: ssl.SSLContext | None,
    tls: ssl.SSLContext | None,
    limit: int,
) -> Streams:
    """Connect to `target` through `proxy`. Raises ConnectError, OSError and ssl.SSLError."""
    loop = asyncio.get_running_loop()
    name = proxy.host if proxy_tls else None
    transport, answer = await loop.create_connection(
        _Answer, proxy.host, proxy.port, ssl=proxy_tls, server_hostname=name
    )
    try:
        transport.write(_request(proxy, target))
        _check(await answer.head)
        return await _streams(transport, answer.rest, tls, target.host, limit)
    except BaseException:
        drop(transport)
        raise


async def _streams(
    transport: asyncio.Transport, rest: bytes, tls: ssl.SSLContext | None, host: str, limit: int
) -> Streams:
    loop = asyncio.get_running_loop()
    reader = Reader(limit=limit, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    if tls is not None and rest:
        raise ConnectError("it sent something before TLS began")
    if tls is not None:
        upgraded = await _upgraded(transport, protocol, tls, host)
        if upgraded is None:
            raise ConnectError("it closed the connection")
        transport = upgraded
    else:
        transport.set_protocol(protocol)
    protocol.connection_made(transport)
    if rest:
        reader.feed_data(rest)
    if tls is None:
        transport.resume_reading()
    return Streams(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


async def _upgraded(
    transport: asyncio.Transport, protocol: asyncio.Protocol, tls: ssl.SSLContext, host: str
) -> asyncio.Transport | None:
    """Begin TLS on an open connection. Raises what it failed with, TLS within TLS too."""
    loop = asyncio.get_running_loop()
    try:
        return await loop.start_tls(transport, protocol, tls, server_hostname=host)
    except (
        TypeError
    ) as error:  # CPython 3.12.0 and 3.12.1, gh-113214: its clean-up of the inner TLS hides the cause
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None
        raise


def _request(proxy: Proxy, target: Destination) -> bytes:
    bare = f"[{target.host}]" if ":" in target.host else target.host
    place = f"{bare}:{target.port}".encode()
    head = b"CONNECT " + place + b" HTTP/1.1\r\nHost: " + place + b"\r\n"
    if proxy.authorization:
        head += b"Proxy-Authorization: " + proxy.authorization + b"\r\n"
    return head + b"\r\n"


def _check(head: bytes) -> None:
    version, _, rest = head.partition(b"\r\n")[0].partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit() or rest[3:4] not in (b"", b" "):
        raise ConnectError("it does not answer as a proxy does")
    number = int(status)
    if not 200 <= number <= 299:
        why = _REASONS.get(number)
        raise ConnectError(f"it refuses with status {number}" + (f": {why}" if why else ""))
