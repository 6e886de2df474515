"""WebSocket clients inside `hark run`, with a real server over TLS: each talks, and the record verifies."""

import json
import shutil

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.talker import echo, realtime, talking_to

pytestmark = pytest.mark.e2e

KEY = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"

WEBSOCKETS = """
import asyncio
from websockets.asyncio.client import connect

async def main():
    async with connect("wss://talk.example/x", max_size=None) as talk:
        for message in ("hello", b"\\x00\\xff", "", "x" * 3_000_000):
            await talk.send(message)
            assert await talk.recv() == message
        await (await talk.ping())
    print("fine")

asyncio.run(main())
"""

AIOHTTP = """
import asyncio, aiohttp

async def main():
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect("wss://talk.example/x", compress=15) as talk:
            await talk.send_str("hello")
            assert (await talk.receive()).data == "hello"
            await talk.send_bytes(b"\\x00" * 100_000)
            assert (await talk.receive()).data == b"\\x00" * 100_000
            await talk.close(code=4000, message=b"bye")
    print("fine")

asyncio.run(main())
"""

NODE = """
const talk = new WebSocket("wss://talk.example/x");
talk.onopen = () => talk.send("hello");
talk.onmessage = ({data}) => {
  if (data !== "hello") process.exit(3);
  talk.onclose = ({code}) => console.log(code === 1000 ? "fine" : `closed with ${code}`);
  talk.close(1000);
};
talk.onerror = (error) => { console.log("error", error.message); process.exit(4); };
"""

REALTIME = """
import asyncio, base64, json, os
from websockets.asyncio.client import connect
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}

async def main():
    async with connect("wss://talk.example/v1/realtime?model=m", additional_headers=headers,
                       subprotocols=["realtime"]) as talk:
        assert json.loads(await talk.recv())["type"] == "session.created"
        for number in range(50):
            audio = base64.b64encode(os.urandom(4800)).decode()
            await talk.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))
        await talk.send(json.dumps({"type": "response.create"}))
        deltas = 0
        while (event := json.loads(await talk.recv()))["type"] != "response.done":
            deltas += 1
        assert (deltas, event["heard"]) == (20, 240000)
    print("fine")

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("name", "program", "command"),
    [
        ("talk.py", WEBSOCKETS, ["python"]),
        ("talk.py", AIOHTTP, ["python"]),
        ("talk.mjs", NODE, ["node", "--experimental-websocket"]),
    ],
    ids=["websockets", "aiohttp", "node"],
)
def test_a_client_talks_and_every_message_is_recorded(
    rootless: Desk, name: str, program: str, command: list[str]
):
    rootless.write(name, program)
    if command[0] == "python":
        command = [rootless.user.python]
    elif shutil.which(command[0]) is None:
        pytest.fail(f"{command[0]} is needed")
    with talking_to("talk.example", echo) as server:
        ended = ok(rootless.run(*rootless.toward(server, "talk.example"), "--", *command, name))
    assert ended.stdout.strip() == "fine"
    assert "VERIFIED" in rootless.verdict()
    messages = rootless.events("WebSocketMessage")
    said = [
        [m["data"] for m in messages if m["from_agent"] == side and m["type"] != "close"]
        for side in (True, False)
    ]
    assert {"text": "hello"} in said[0]
    assert {"text": "hello"} in said[1]
    (end,) = rootless.events("LlmResponseEnd")
    assert (end["status"], end["error"]) == (101, "")


def test_a_realtime_model_is_talked_to_with_a_credential_that_the_agent_does_not_hold(rootless: Desk):
    rootless.write("talk.py", REALTIME)
    rootless.env["REAL_KEY"] = KEY
    policy = '[secrets.OPENAI_API_KEY]\nenv = "REAL_KEY"\nhosts = ["talk.example"]\n'
    with talking_to("talk.example", realtime, "realtime") as server:
        options = rootless.toward(server, "talk.example", policy=policy)
        ended = ok(rootless.run(*options, "--", rootless.user.python, "talk.py"))
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert ended.stdout.strip() == "fine"
    assert KEY.encode() not in rootless.bundle.read_bytes()
    events = [
        json.loads(m["data"]["text"]) for m in rootless.events("WebSocketMessage") if m["type"] == "text"
    ]
    assert [event["type"] for event in events].count("response.output_audio.delta") == 20
