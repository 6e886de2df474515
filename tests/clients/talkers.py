"""Clients that hold a conversation: gRPC in all four kinds of call, and WebSockets."""

from typing import Final

from tests.clients.kit import SEVERAL, Client

GRPC: Final = "grpc.example"
SOCKET: Final = "ws.example"
SAYS: Final = "all came back"
CALLS: Final = f"""
import grpc, os

with open(os.environ["SSL_CERT_FILE"], "rb") as file:
    channel = grpc.secure_channel("{GRPC}:443", grpc.ssl_channel_credentials(file.read()))
whole = channel.unary_unary("/tiny.Echo/Unary")
answer, call = whole.with_call(b"one", timeout=60)
assert answer == b"one" and ("tiny-seen", "1") in [tuple(pair) for pair in call.trailing_metadata()]
assert list(channel.unary_stream("/tiny.Echo/ServerStream")(b"x", timeout=60)) == [b"x"] * 3
assert channel.stream_unary("/tiny.Echo/ClientStream")(iter([b"a", b"b"]), timeout=60) == b"ab"
both = channel.stream_stream("/tiny.Echo/Both")(iter([b"1", b"2", b"3"]), timeout=60)
assert list(both) == [b"1", b"2", b"3"]
print("{SAYS}")
"""
CHAT: Final = f"""
import asyncio
from websockets.asyncio.client import connect

async def main():
    async with connect("wss://{SOCKET}/chat") as socket:
        for message in ("text", b"bytes", "x" * 100_000):
            await socket.send(message)
            assert await asyncio.wait_for(socket.recv(), 30) == message
    print("{SAYS}")

asyncio.run(main())
"""
AIOHTTP: Final = f"""
import aiohttp, asyncio

async def main():
    async with aiohttp.ClientSession() as session, session.ws_connect("wss://{SOCKET}/chat") as socket:
        await socket.send_str("text")
        assert (await socket.receive_str(timeout=60)) == "text"
    print("{SAYS}")

asyncio.run(main())
"""
DENO: Final = f"""
const socket = new WebSocket("wss://{SOCKET}/chat");
socket.onopen = () => socket.send("text");
socket.onmessage = (event) => {{
    console.log(event.data === "text" ? "{SAYS}" : event.data);
    socket.close();
}};
socket.onerror = (event) => {{ console.error(event.message); Deno.exit(1); }};
"""


def _python(name: str, package: str, host: str, trust: str, code: str) -> Client:
    version = f"import importlib.metadata as m; print(m.version('{package}'))"
    return Client(
        name=name,
        program=lambda kit: kit.python,
        version=lambda kit: [kit.python, "-c", version],
        task=lambda kit: [kit.python, "task.py"],
        says=SAYS,
        trust=trust,
        hosts=(host,),
        files={"task.py": code},
    )


TALKERS: Final = (
    _python("grpcio", "grpcio", GRPC, "what the program names: here SSL_CERT_FILE", CALLS),
    _python("websockets", "websockets", SOCKET, "SSL_CERT_FILE", CHAT),
    _python("aiohttp WebSocket", "aiohttp", SOCKET, "SSL_CERT_FILE", AIOHTTP),
    Client(
        name="deno WebSocket",
        program=lambda kit: kit.package("bin/deno"),
        version=lambda kit: [kit.package("bin/deno"), "--version"],
        task=lambda kit: [kit.package("bin/deno"), "run", "--allow-net", "task.ts"],
        says=SAYS,
        trust=SEVERAL,
        hosts=(SOCKET,),
        files={"task.ts": DENO},
    ),
)
