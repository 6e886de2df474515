"""Talks over a WebSocket: text, bytes, an empty one, a long one, and answers that come by themselves."""

import hashlib
import json
import uuid

from websockets.sync.client import connect

with connect("wss://api.example/talk", max_size=None) as talk:
    hello = json.loads(talk.recv(timeout=30))
    print("hello", hello["session"])
    for message in (str(uuid.uuid4()), b"\x00\xff" * 100, "", "x" * 200_000):
        talk.send(message)
        back = talk.recv(timeout=30)
        assert back == message
        print("back", len(back))
    talk.send("burst")
    burst = [talk.recv(timeout=30) for _ in range(20)]
    talk.send(hashlib.sha256("".join(burst).encode()).hexdigest())
    print("last", talk.recv(timeout=30))
    assert talk.ping().wait(30)
print("closed", talk.protocol.close_code)
