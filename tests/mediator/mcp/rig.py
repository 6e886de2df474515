"""A door to a real server process, reached as the agent's stub reaches it."""

import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hark.bundle.events import McpMessage
from hark.policy.model import Secret, ToolRule
from launcher.plan import GATEWAY_V4
from mediator.mcp.program import FIRST_PORT, Program
from tests.mediator.rig import Rig, running

FAKE = Path(__file__).parents[2] / "fakes" / "mcp_server.py"
NAME = "fake"


def program(
    *, tools: tuple[str, ...] | None = None, argv: tuple[str, ...] = (), env: Mapping[str, str] | None = None
) -> Program:
    """Return a server: the fake one, or another."""
    rules = None if tools is None else tuple(ToolRule(name) for name in tools)
    argv = argv or (sys.executable, str(FAKE))
    return Program(NAME, argv, {"PATH": os.defpath} | dict(env or {}), "/", rules, FIRST_PORT)


class Client:
    """One connection to the door."""

    def __init__(self, rig: Rig) -> None:
        self.sock: socket.socket = rig.dial(GATEWAY_V4, FIRST_PORT)
        self._file = self.sock.makefile("rb")

    def send(self, message: object) -> None:
        """Send a message, or bytes as they are."""
        self.sock.sendall(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    def receive(self) -> Any:
        """Return the next message; None at the end."""
        line = self._file.readline()
        return json.loads(line) if line else None

    def ask(self, message: object) -> Any:
        """Send a message and return what comes next."""
        self.send(message)
        return self.receive()

    def call(self, tool: str, number: object = 1, **arguments: object) -> Any:
        """Call a tool."""
        return self.ask(call(tool, number, **arguments))

    def done(self) -> None:
        """Say that there is nothing more."""
        self.sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Go away."""
        self._file.close()
        self.sock.close()


def call(tool: str, number: object = 1, **arguments: object) -> dict[str, object]:
    """Return a tool call."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def text_of(answer: Any) -> str:
    """Return the text of a tool's result."""
    return str(answer["result"]["content"][0]["text"])


@contextmanager
def door(one: Program | None = None, secrets: tuple[Secret, ...] = ()) -> Iterator[tuple[Rig, Client]]:
    """Run a mediator with one server behind a door, and connect to it."""
    with running(mcp=(one or program(),), secrets=secrets) as rig:
        client = Client(rig)
        try:
            yield rig, client
        finally:
            client.close()


def messages(rig: Rig) -> list[tuple[bool, str, str]]:
    """Return what was recorded of messages: from the agent or not, the data, the note."""
    return [(one.from_agent, one.data.decode(), one.note) for one in rig.recorder.of(McpMessage)]
