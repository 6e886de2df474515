"""A server that greets, echoes, and sends twenty messages when it is asked for a burst."""

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from fidelity.shape import Outcome, Served, Shape
from tests.e2e.rig import Desk
from tests.fakes.talker import talking_to


@contextmanager
def serve(_desk: Desk) -> Iterator[Served]:
    """Talk over TLS."""
    heard: list[Any] = []

    def talk(server: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            server.send(json.dumps({"session": "s-1"}))
            for message in server:
                heard.append(message)
                if message == "burst":
                    for number in range(20):
                        server.send(json.dumps({"n": number, "text": "y" * number}))
                else:
                    server.send(message)

    with talking_to("api.example", talk) as talker:
        yield Served({"api.example": talker.address}, talker.ca_pem, heard=heard)


def expect(run: Outcome) -> None:
    """Six messages went, all was said back."""
    assert len(run.served.heard) == 6
    assert run.lines[0] == "hello s-1"
    assert run.lines[5].removeprefix("last ") == run.served.heard[5]
    assert run.lines[6] == "closed 1000"


SHAPE = Shape(about="a WebSocket: text, bytes, a burst, ping, close", serve=serve, expect=expect)
