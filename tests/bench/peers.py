"""The far ends of a measurement: a TLS server and the loads put on it, each run in a process of its own.

Both speak HTTP/1.1 by hand, so that what they cost themselves is small and the same for every way between
them. An event of a stream carries the server's clock, which is the machine's: a client can tell its age.
"""

import asyncio
import multiprocessing
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.fakes.upstream import certified

HOST: Final = "api.example.test"
BLOCK: Final = bytes(1 << 18)
GAP_S: Final = 0.01
"""Between two events of a stream."""
WARM_UP: Final = 50
ANSWER: Final = b'{"id":"msg_1","content":[{"type":"text","text":"' + b"word " * 100 + b'"}]}'

type Place = tuple[int, bytes]
"""A port on loopback, and the roots (PEM) by which what listens there is trusted."""


@contextmanager
def server() -> Iterator[Place]:
    """Run the server in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def _serve(pipe: Any) -> None:
    asyncio.run(_served(pipe))


async def _served(pipe: Any) -> None:
    ca, context = certified((HOST,))
    listening = await asyncio.start_server(_connection, "127.0.0.1", 0, ssl=context, backlog=256)
    pipe.send((listening.sockets[0].getsockname()[1], ca))
    await listening.serve_forever()


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            while length:
                length -= len(await reader.read(min(length, 1 << 18)))
            path = head.split(b" ", 2)[1]
            if path.startswith(b"/sse/"):
                await _stream(writer, int(path[5:]))
            elif path.startswith(b"/down/"):
                await _send(writer, int(path[6:]))
            else:
                _answer(writer, ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, OSError):
        pass
    finally:
        writer.close()


def _answer(writer: asyncio.StreamWriter, body: bytes) -> None:
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )


async def _stream(writer: asyncio.StreamWriter, events: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(events):
        await asyncio.sleep(GAP_S)
        event = b"data: %d\n\n" % time.monotonic_ns()
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
    writer.write(b"0\r\n\r\n")


async def _send(writer: asyncio.StreamWriter, size: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
    while size:
        piece = BLOCK[:size]
        writer.write(piece)
        await writer.drain()
        size -= len(piece)


# The loads. Each takes a place first and returns plain numbers; times are milliseconds unless named.


def posts(place: Place, count: int) -> list[float]:
    """Send POSTs of 2 kB one after another on one connection: the time of each."""
    return asyncio.run(_posts(place, count))


def parallel(place: Place, connections: int, count: int) -> float:
    """Send POSTs on several connections at once: requests a second."""

    async def load() -> float:
        began = time.perf_counter()
        await asyncio.gather(*(_posts(place, count) for _ in range(connections)))
        return connections * (count + WARM_UP) / (time.perf_counter() - began)

    return asyncio.run(load())


def fresh(place: Place, count: int) -> list[float]:
    """Send one GET on each of several new connections, one after another: the time with its handshake."""

    async def load() -> list[float]:
        context, taken = _trusting(place), []
        for number in range(count + 5):
            began = time.perf_counter()
            reader, writer = await _connect(place, context)
            await _ask(reader, writer, b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n")
            writer.transport.abort()
            if number >= 5:
                taken.append((time.perf_counter() - began) * 1000)
        return taken

    return asyncio.run(load())


def streams(place: Place, count: int, events: int) -> tuple[float, list[float], list[float]]:
    """Read event streams at once: seconds for all, the age of each one's first event, and of every event."""

    async def one(context: ssl.SSLContext) -> list[float]:
        reader, writer = await _connect(place, context)
        writer.write(b"GET /sse/%d HTTP/1.1\r\nHost: %s\r\n\r\n" % (events, HOST.encode()))
        await reader.readuntil(b"\r\n\r\n")
        ages, text = [], b""
        while size := int(await reader.readline(), 16):  # a proxy may divide an event as it likes
            text += (await reader.readexactly(size + 2))[:-2]
            now = time.monotonic_ns()
            *whole, text = text.split(b"\n\n")
            ages += [(now - int(event.removeprefix(b"data: "))) / 1e6 for event in whole]
        writer.transport.abort()
        return ages

    async def load() -> tuple[float, list[float], list[float]]:
        context = _trusting(place)
        began = time.perf_counter()
        ages = await asyncio.gather(*(one(context) for _ in range(count)))
        taken = time.perf_counter() - began
        return taken, [own[0] for own in ages], [age for own in ages for age in own]

    return asyncio.run(load())


def upload(place: Place, size: int) -> float:
    """Send a body of `size` bytes: MiB a second."""

    async def load() -> float:
        reader, writer = await _connect(place, _trusting(place))
        began = time.perf_counter()
        writer.write(b"POST /up HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n" % (HOST.encode(), size))
        for _ in range(size // len(BLOCK)):
            writer.write(BLOCK)
            await writer.drain()
        await reader.readuntil(b"\r\n\r\n")
        return size / (1 << 20) / (time.perf_counter() - began)

    return asyncio.run(load())


def download(place: Place, size: int) -> float:
    """Fetch a body of `size` bytes: MiB a second."""

    async def load() -> float:
        reader, writer = await _connect(place, _trusting(place))
        began = time.perf_counter()
        writer.write(b"GET /down/%d HTTP/1.1\r\nHost: %s\r\n\r\n" % (size, HOST.encode()))
        await reader.readuntil(b"\r\n\r\n")
        left = size
        while left:
            left -= len(await reader.read(1 << 20))
        return size / (1 << 20) / (time.perf_counter() - began)

    return asyncio.run(load())


def _trusting(place: Place) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=place[1].decode())
    return context


async def _connect(
    place: Place, context: ssl.SSLContext
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(
        "127.0.0.1", place[0], ssl=context, server_hostname=HOST, limit=1 << 20
    )


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
    writer.write(request % HOST.encode())
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))


async def _posts(place: Place, count: int) -> list[float]:
    body = b"x" * 2000
    head = b"POST /v1/messages HTTP/1.1\r\nHost: %s\r\nx-api-key: sk-none\r\nContent-Length: 2000\r\n\r\n"
    request = head + body
    reader, writer = await _connect(place, _trusting(place))
    taken = []
    for number in range(count + WARM_UP):
        began = time.perf_counter()
        await _ask(reader, writer, request)
        if number >= WARM_UP:
            taken.append((time.perf_counter() - began) * 1000)
    writer.transport.abort()
    return taken
