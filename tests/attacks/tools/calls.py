"""Trap 54: have a tool called that the policy does not list."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final
from unittest.mock import PropertyMock, patch

from mediator.mcp import jsonrpc, watch
from mediator.mcp.judge import judge
from mediator.mcp.watch import Watch
from tests.attacks.registry import Outcome, add, run_without
from tests.mediator.mcp.rig import call, door, program
from tests.mediator.mcp.test_watch import STREAMABLE, place

DELETE: Final = json.dumps(call("delete")).encode()
ECHO: Final = json.dumps(call("echo")).encode()
BATCH: Final = b"[" + ECHO + b"," + DELETE + b"]"
TWICE: Final = DELETE[:-1] + b', "method": "ping"}'
CASED: Final = DELETE.replace(b'"method"', b'"Method"')[:-1] + b', "method": "ping"}'
HUGE: Final = DELETE[:-1] + b', "more": "' + b"x" * (1 << 20) + b'"}'


def _reached(bodies: list[bytes]) -> Outcome:
    """Tell what came of it: a server was sent the tool's name."""
    return Outcome.seen(
        f"{len(bodies)} requests arrived", succeeded=any(b'"delete"' in body for body in bodies)
    )


def _sent(body: bytes, path: str = "/mcp", *, chunked: bool = False) -> Outcome:
    with place() as here:
        here.post(body, path, chunked=chunked)
        return _reached(here.bodies)


def _second_on_the_connection() -> Outcome:
    with place() as here, here.rig.https() as client:
        for body in (ECHO, DELETE):
            client.request("POST", "/mcp", body, STREAMABLE)
            client.getresponse().read()
        return _reached(here.bodies)


def _by_lines() -> Outcome:
    """A server that reads lines as Python does takes what stands between carriage returns for a message."""
    inner = json.dumps(call("delete", 7)).encode()
    with door(program(tools=("echo",))) as (_, client):
        client.send(b'{"id": 5, "method": "ping", "x":\r' + inner + b"\r}\n")
        answers = [client.receive()]
        if answers[0] and "result" in answers[0]:
            client.done()
        while answers[-1] is not None:
            answers.append(client.receive())
    did = any(answer and answer.get("id") == 7 and "result" in answer for answer in answers)
    return Outcome.seen(f"answered: {answers}", succeeded=did)


def _first_only(tools: Any, packet: jsonrpc.Packet, key: str) -> Any:
    return judge(tools, jsonrpc.Packet(packet.messages[:1], batch=False), key)


_request = Watch.request


def _only_once(self: Watch, body: bytes) -> Any:
    """Judge one request of a connection, and let what follows pass."""
    if self._link in _seen:
        return None
    _seen.append(self._link)
    return _request(self, body)


_seen: list[Any] = []


def _only_on_the_path(self: Watch, body: bytes) -> Any:
    return _request(self, body) if self._head.path == b"/mcp" else None


NO_BATCHES: Final = partial(patch.object, watch, "judge", _first_only)
NO_DUPLICATES: Final = partial(patch.object, jsonrpc, "_object", dict)
NO_CASES: Final = partial(patch.object, jsonrpc, "check_words", lambda *_: None)
NO_LINES: Final = partial(patch.object, jsonrpc, "_check_lines", lambda _: None)
ONCE: Final = partial(patch.object, Watch, "request", _only_once)
ON_THE_PATH: Final = partial(patch.object, Watch, "request", _only_on_the_path)


def _not_held() -> AbstractContextManager[object]:
    return patch.object(Watch, "strict", PropertyMock(return_value=False))


def _attack(
    name: str, defence: Callable[[], AbstractContextManager[object]], run: Callable[[], Outcome]
) -> None:
    add(54, name, run, run_without(defence, run))


_attack("hide a denied call in a batch", NO_BATCHES, partial(_sent, BATCH))
_attack("name two methods in one message", NO_DUPLICATES, partial(_sent, TWICE))
_attack("name a second method in another case", NO_CASES, partial(_sent, CASED))
_attack("make the message too large to be held", _not_held, partial(_sent, HUGE))
_attack("send it in pieces that divide its words", _not_held, partial(_sent, DELETE, chunked=True))
_attack("send it second on a connection", ONCE, _second_on_the_connection)
_attack("send it to a path other than that of initialize", ON_THE_PATH, partial(_sent, DELETE, "/other"))
_attack("put it on a line of its own within a message", NO_LINES, _by_lines)
