"""One conversation: what passes, and which call an answer belongs to."""

import itertools
import json

import pytest

from hark.policy.model import ToolRule
from mediator.mcp import talk as talking
from mediator.mcp.jsonrpc import MessageError
from mediator.mcp.talk import Answered, Asked, Passed, Refused, Talk


def talk(*tools: str) -> Talk:
    rules = tuple(ToolRule(name) for name in tools) if tools else None
    return Talk(rules, "allow_tools", itertools.count(10).__next__)


def call(number: object, tool: str = "t") -> bytes:
    return json.dumps({"id": number, "method": "tools/call", "params": {"name": tool}}).encode()


def test_an_answer_is_put_under_its_call_whatever_the_order() -> None:
    one = talk()
    assert one.from_agent(call(1, "a")) == Passed((Asked(10, "a", b"{}"),))
    one.from_agent(call("1", "b"))
    assert one.from_server(b'{"id":"1","result":{}}') == (
        Answered(Asked(11, "b", b""), b"{}", is_error=False),
    )
    assert one.from_server(b'{"id":1.0,"error":{}}') == (Answered(Asked(10, "a", b""), b"{}", is_error=True),)
    assert one.from_server(b'{"id":1,"result":{}}') == ()


def test_a_line_is_named_by_its_first_call_that_waits() -> None:
    one = talk()
    one.from_agent(call(1, "a"))
    one.from_agent(call(2, "b"))
    assert one.exchange_of(call(2, "other")) == 11
    assert one.exchange_of(b"[%s, %s]" % (call(3), call(1))) == 10
    assert one.exchange_of(b'{"method": "ping", "id": 1}') == 0


def test_a_denied_call_is_answered_and_not_waited_for() -> None:
    one = talk("a")
    refused = one.from_agent(call(1, "b"))
    assert isinstance(refused, Refused)
    assert 'allow_tools = ["b"]' in json.loads(refused.reply)["error"]["message"]
    assert refused.calls == (Asked(10, "b", b"{}"),)
    assert one.from_server(b'{"id":1,"result":{}}') == ()


def test_what_is_no_call_passes() -> None:
    one = talk("a")
    for line in (b'{"id":1,"method":"initialize"}', b'{"method":"note"}', b'{"id":9,"result":{}}'):
        assert one.from_agent(line) == Passed(())
    assert one.from_server(b'{"id":5,"method":"sampling/createMessage"}') == ()


def test_an_id_is_not_taken_twice_before_it_is_answered() -> None:
    one = talk()
    one.from_agent(call(1, "a"))
    assert isinstance(one.from_agent(call(1, "b")), Refused)
    assert isinstance(one.from_agent(call(1.0, "b")), Refused)
    assert isinstance(one.from_agent(b"[" + call(2) + b"," + call(2) + b"]"), Refused)
    one.from_server(b'{"id":1,"result":{}}')
    assert isinstance(one.from_agent(call(1, "b")), Passed)


def test_calls_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(talking, "MAX_PENDING", 2)
    one = talk()
    for number in (1, 2):
        assert isinstance(one.from_agent(call(number)), Passed)
    assert isinstance(one.from_agent(call(3)), Refused)


def test_what_cannot_be_read_raises_whoever_says_it() -> None:
    for side in (talk().from_agent, talk().from_server):
        with pytest.raises(MessageError):
            side(b"Server started")


def test_a_tools_name_is_recorded_as_valid_text() -> None:
    passed = talk().from_agent(b'{"id":1,"method":"tools/call","params":{"name":"\\ud800"}}')
    assert isinstance(passed, Passed)
    assert passed.calls[0].tool == "\\ud800"
