"""A reset is seen as a reset by the other side."""

import asyncio
import socket

import pytest

from mediator.transport import KEEPALIVE_S, keep_alive, no_linger, reset


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
