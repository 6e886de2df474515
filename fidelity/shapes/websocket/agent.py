"""Talks over a WebSocket: text, bytes, an empty one, a long one, and answers that come by themselves."""

import asyncio
import hashlib
import json
import uuid

from websockets.asyncio.client import connect


async def main():
    async with connect("wss://api.example/talk", max_size=None) as talk:
        hello = json.loads(await talk.recv())
        print("hello", hello["session"])
        for message in (str(uuid.uuid4()), b"\x00\xff" * 100, "", "x" * 200_000):
            await talk.send(message)
            back = await talk.recv()
            assert back == message
            print("back", len(back))
        await talk.send("burst")
        burst = [await talk.recv() for _ in range(20)]
        await talk.send(hashlib.sha256("".join(burst).encode()).hexdigest())
        print("last", await talk.recv())
        await (await talk.ping())
    print("closed", talk.close_code)


asyncio.run(main())
