"""What comes through TLS reads as through asyncio's own, however it is divided; each test runs with both."""

import asyncio
import os
import ssl
from asyncio import sslproto
from collections.abc import Callable

import pytest

from mediator.decrypted import Decrypted, by_buffer
from tests.fakes.upstream import certified

NAME = "api.example.test"


class App(asyncio.Protocol):
    """What reads behind TLS."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.ended = False
        self.lost: list[Exception | None] = []
        self.on_data: Callable[[], None] = lambda: None

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)
        self.on_data()

    def eof_received(self) -> None:
        self.ended = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)


class Wire(asyncio.Transport):
    """The transport below TLS: keeps what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed: list[object] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data

    def close(self) -> None:
        self.closed.append("close")

    def abort(self) -> None:
        self._force_close(None)

    def _force_close(self, exc: Exception | None) -> None:
        self.closed.append(exc)

    def is_closing(self) -> bool:
        return bool(self.closed)


class Pair:
    """TLS as asyncio runs it, and a server by hand. To be made inside an event loop."""

    def __init__(self, *, ours: bool) -> None:
        pem, context = certified((NAME,))
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.load_verify_locations(cadata=pem.decode())
        self.app, self.wire = App(), Wire()
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        self.protocol = sslproto.SSLProtocol(loop, self.app, trusting, waiter, server_hostname=NAME)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.server = context.wrap_bio(self._in, self._out, server_side=True)
        self.protocol.connection_made(self.wire)
        for _ in range(4):
            self._in.write(self.wire.sent)
            self.wire.sent = b""
            try:
                self.server.do_handshake()
            except ssl.SSLWantReadError:
                self.give(self._out.read())
        assert waiter.done()
        transport = self.protocol._get_app_transport()
        if ours:
            by_buffer(transport)
        assert (type(self.protocol) is Decrypted) is ours
        self.transport = transport

    def says(self, data: bytes) -> bytes:
        """Return the records that the server makes of it."""
        self.server.write(data)
        return self._out.read()

    def goodbye(self) -> bytes:
        """Return the server's close_notify."""
        with pytest.raises(ssl.SSLWantReadError):
            self.server.unwrap()
        return self._out.read()

    def give(self, wire: bytes) -> None:
        """Have it arrive, as much at once as there is room."""
        while wire:
            room = self.protocol.get_buffer(-1)
            size = min(len(room), len(wire))
            room[:size] = wire[:size]
            wire = wire[size:]
            self.protocol.buffer_updated(size)


@pytest.fixture(params=[True, False], ids=["ours", "asyncio"])
def ours(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def run(ours: bool, test: Callable[[Pair], None]) -> Pair:
    async def main() -> Pair:
        pair = Pair(ours=ours)
        test(pair)
        for _ in range(3):
            await asyncio.sleep(0)
        pair.transport.abort()
        pair.protocol.connection_lost(None)
        return pair

    return asyncio.run(main())


@pytest.mark.parametrize("step", [1, 7, 5000, 16384 + 22, 100_000, 1 << 20])
@pytest.mark.parametrize("size", [1, 3000, 16384, 16385, 700_000])
def test_bytes_come_in_order_however_their_records_are_divided(ours: bool, step: int, size: int) -> None:
    data = os.urandom(size if step > 7 else min(size, 20_000))

    def say(pair: Pair) -> None:
        wire = pair.says(data)
        for at in range(0, len(wire), step):
            pair.give(wire[at : at + step])

    pair = run(ours, say)
    assert b"".join(pair.app.pieces) == data
    assert not pair.app.ended


def test_what_arrives_at_once_is_handed_on_at_once(ours: bool) -> None:
    pair = run(ours, lambda pair: pair.give(pair.says(bytes(100)) + pair.says(bytes(50_000))))
    assert list(map(len, pair.app.pieces)) == [50_100]


def test_a_goodbye_behind_the_last_bytes_ends_the_stream(ours: bool) -> None:
    pair = run(ours, lambda pair: pair.give(pair.says(b"last") + pair.goodbye()))
    assert (pair.app.pieces, pair.app.ended) == ([b"last"], True)


def test_bytes_that_are_no_records_end_the_connection(ours: bool) -> None:
    pair = run(ours, lambda pair: pair.give(pair.says(b"good") + b"\x17\x03\x03\x00\x20" + bytes(32)))
    assert b"".join(pair.app.pieces) in (b"good", b"")
    assert isinstance(pair.wire.closed[0], ssl.SSLError)


def test_who_closes_while_bytes_are_handed_on_gets_no_others_in_their_place(ours: bool) -> None:
    def close(pair: Pair) -> None:
        pair.app.on_data = pair.transport.close
        pair.give(pair.says(b"a" * 40_000) + pair.says(b"b" * 40_000))

    pair = run(ours, close)
    assert b"".join(pair.app.pieces) == b"a" * 40_000 + b"b" * 40_000


def test_a_transport_without_tls_stays_as_it_is() -> None:
    wire = Wire()
    by_buffer(wire)
    assert not hasattr(wire, "_ssl_protocol")
