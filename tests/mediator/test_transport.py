"""A reset is seen as a reset by the other side, and what was closed in order before it arrives."""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable

import pytest

from mediator import transport
from mediator.transport import (
    KEEPALIVE_S,
    closed,
    connected,
    drop,
    keep_alive,
    no_linger,
    reset,
    unread,
    untaken,
    unwritten,
)
from tests.fakes.upstream import certified


def closed_by(close: object) -> bytes:
    """Return what a client reads when the server ends its connection by `close`."""

    async def serve() -> bytes:
        done = asyncio.Event()

        async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            close(writer)  # type: ignore[operator]
            done.set()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        try:
            return await asyncio.to_thread(_read, address)
        finally:
            await done.wait()
            server.close()
            await server.wait_closed()

    return asyncio.run(serve())


def _read(address: tuple[str, int]) -> bytes:
    with socket.create_connection(address, timeout=60) as sock:
        return sock.recv(10)


def test_a_reset_is_an_error_for_the_peer() -> None:
    with pytest.raises(ConnectionResetError):
        closed_by(lambda writer: reset(writer.transport))


def test_a_close_without_lingering_is_a_reset_too() -> None:
    def close(writer: asyncio.StreamWriter) -> None:
        no_linger(writer.transport)
        writer.close()

    with pytest.raises(ConnectionResetError):
        closed_by(close)


def test_a_silent_connection_is_kept_known_to_what_lies_between() -> None:
    found: list[tuple[int, int]] = []

    def look(writer: asyncio.StreamWriter) -> None:
        sock = writer.get_extra_info("socket")
        for _ in range(2):
            alive = sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            found.append((alive, sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)))
            keep_alive(writer.transport)
        writer.close()

    closed_by(look)
    assert found[0][0] == 0
    assert found[1] == (1, KEEPALIVE_S)


def test_the_control_an_ordinary_close_is_an_end() -> None:
    assert closed_by(lambda writer: writer.close()) == b""


LARGE = 12 << 20  # more than the kernel takes for a reader that reads nothing


def left_by(end: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> int:
    """Return how many bytes a client reads of many that a server writes and ends by `end`. OSError if cut."""

    async def serve() -> int:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        reads = threading.Event()

        async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"a" * LARGE)
            assert untaken(writer.transport) > LARGE // 2
            writer.close()
            asyncio.get_running_loop().call_soon(reads.set)
            try:
                await end(writer)
                ended.set_result(None)
            except AttributeError as error:
                ended.set_exception(error)

        def read(address: tuple[str, int]) -> int:
            with socket.create_connection(address, timeout=60) as sock:
                assert reads.wait(60)
                return sum(len(piece) for piece in iter(lambda: sock.recv(1 << 16), b""))

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        try:
            return await asyncio.to_thread(read, server.sockets[0].getsockname())
        finally:
            server.close()
            await server.wait_closed()
            await ended

    return asyncio.run(serve())


@pytest.mark.parametrize("late", [reset, drop])
def test_what_ends_a_connection_leaves_one_alone_that_has_been_closed_and_has_sent_all(
    late: Callable[[asyncio.WriteTransport], None],
) -> None:
    async def end(writer: asyncio.StreamWriter) -> None:
        assert await closed(writer)
        for _ in range(3):
            late(writer.transport)
            await asyncio.sleep(0)

    assert left_by(end) == LARGE


def test_the_control_an_abort_then_is_an_error_of_asyncios() -> None:
    async def end(writer: asyncio.StreamWriter) -> None:
        await closed(writer)
        writer.transport.abort()

    with pytest.raises(AttributeError):
        left_by(end)


def test_of_tls_that_was_closed_twice_nothing_is_left_to_be_written() -> None:
    """A server that resets in the middle of an answer is closed by whoever reads and by whoever asked."""

    async def close_twice() -> tuple[int, int, bool]:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                await reader.read()
            writer.close()

        root, serving = certified(("api.example",))
        server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=serving)
        port = server.sockets[0].getsockname()[1]
        trusting = ssl.create_default_context(cadata=root.decode())
        streams = await connected("127.0.0.1", port, tls=trusting, name="api.example", limit=1 << 16)
        line = streams.writer.transport
        line.close()
        line.close()
        with pytest.raises(AttributeError):
            line.get_write_buffer_size()
        found = unwritten(line), untaken(line), await closed(streams.writer)
        reset(line)
        drop(line)
        server.close()
        await server.wait_closed()
        return found

    assert asyncio.run(close_twice()) == (0, 0, True)


@pytest.mark.parametrize("tls", [False, True])
def test_what_lies_unread_is_counted_wherever_it_lies(tls: bool) -> None:
    """With the kernel, which takes more than asyncio reads ahead; and what TLS has and has not read."""
    size = 1 << 17

    async def found() -> list[int]:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.read(1):
                writer.write(b"x" * size)
            writer.close()

        root, serving = certified(("api.example",))
        server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=serving if tls else None)
        port = server.sockets[0].getsockname()[1]
        trusting = ssl.create_default_context(cadata=root.decode()) if tls else None
        name = "api.example" if tls else None
        reader, writer = await connected("127.0.0.1", port, tls=trusting, name=name, limit=1 << 20)
        line = writer.transport
        writer.write(b"1")
        await reader.readexactly(size)  # the tickets of TLS as well
        counts = [unread(line)]
        line.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"2")
        async with asyncio.timeout(60):
            while unread(line) < size:  # noqa: ASYNC110  # neither the kernel nor TLS tells of it
                await asyncio.sleep(0.01)
        line.resume_reading()  # type: ignore[attr-defined]
        await reader.readexactly(size)
        counts.append(unread(line))
        writer.close()
        await writer.wait_closed()
        counts.append(unread(line))
        server.close()
        await server.wait_closed()
        return counts

    assert asyncio.run(found()) == [0, 0, 0]


def test_the_control_without_the_wait_the_rest_is_lost() -> None:
    async def end(writer: asyncio.StreamWriter) -> None:
        reset(writer.transport)

    with pytest.raises(ConnectionResetError):
        left_by(end)


def test_a_reader_that_takes_nothing_for_long_is_waited_for_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "STALLED_S", 0.2)

    async def serve() -> bool:
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"a" * LARGE)
            writer.close()
            taken.set_result(await closed(writer))  # the reader is there, and reads nothing

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server:
            with socket.create_connection(server.sockets[0].getsockname()):
                return await asyncio.wait_for(taken, 60)

    assert not asyncio.run(serve())
