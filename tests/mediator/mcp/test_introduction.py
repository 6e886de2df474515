"""What an agent said first is said again to another process, whose answer the agent does not hear."""

import asyncio
import json
from typing import Any

import pytest

from mediator.mcp import introduction
from mediator.mcp.introduction import Introduction
from mediator.mcp.jsonrpc import MessageError

HELLO = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}'
READY = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
LIST = b'{"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"initialize": 1}}'


class Server:
    """Takes lines, and answers them."""

    def __init__(self, taken: Introduction, *answers: dict[str, Any]) -> None:
        self.lines: list[bytes] = []
        self.passed: list[bool] = []
        self._introduction = taken
        self._answers = [json.dumps({"jsonrpc": "2.0"} | answer).encode() for answer in answers]

    def write(self, data: bytes) -> None:
        self.lines.append(data)

    async def drain(self) -> None:
        """Answer the first line."""
        if len(self.lines) == 1:
            self.passed = [not self._introduction.takes(answer) for answer in self._answers]


def said(*lines: bytes, answers: tuple[dict[str, Any], ...] = ({"id": 1, "result": {}},)) -> Server:
    async def run() -> Server:
        made = Introduction()
        for line in lines:
            made.heard(line)
        server = Server(made, *answers)
        await made.say(server)
        return server

    return asyncio.run(run())


def test_the_handshake_alone_is_said_again() -> None:
    server = said(HELLO, READY, LIST)
    assert server.lines == [HELLO + b"\n", READY + b"\n"]
    assert server.passed == [False]


def test_what_the_server_says_besides_its_answer_passes() -> None:
    noise = {"method": "notifications/message", "params": {}}
    server = said(
        HELLO, answers=(noise, {"id": "1", "result": {}}, {"id": 1, "error": {}}, {"id": 1, "result": {}})
    )
    assert server.passed == [True, True, False, True]
    assert server.lines == [HELLO + b"\n"]


def test_an_agent_that_said_nothing_first_is_not_introduced() -> None:
    assert said(LIST).lines == []


def test_a_batch_with_a_call_in_it_is_not_said_again() -> None:
    call = b'{"id": 3, "method": "tools/call", "params": {"name": "delete"}}'
    assert said(b"[" + HELLO + b", " + call + b"]").lines == []
    assert said(b"[" + HELLO + b"]").lines == []
    assert said(call.replace(b"delete", b"initialize")).lines == []


def test_a_server_that_does_not_answer_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(introduction, "WAIT_S", 0.01)
    with pytest.raises(MessageError, match="did not answer initialize"):
        said(HELLO, answers=())
