"""Which calls a list of tools allows."""

import json

import pytest

from hark.policy.model import ToolRule
from mediator.mcp.jsonrpc import Call, read
from mediator.mcp.judge import DENIED, MAX_MATCHED, answer, judge, judge_call, unreadable

TOOLS = (ToolRule("search"), ToolRule("read", {"path": "/srv/[a-z]+", "depth": "[0-9]"}))


def test_a_listed_tool_is_allowed_and_any_other_denied_with_the_line_that_would_allow_it() -> None:
    assert judge_call(TOOLS, Call(1, "search", {"q": "x"}), "allow_tools") is None
    denied = judge_call(TOOLS, Call(1, "delete", {}), "allow_tools")
    assert denied is not None
    assert denied.hint == 'allow_tools = ["delete"]'
    assert "delete" in denied.reason


def test_without_a_list_every_tool_is_allowed_and_with_an_empty_one_none() -> None:
    assert judge_call(None, Call(1, "any", {}), "tools") is None
    assert judge_call((), Call(1, "any", {}), "tools") is not None


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        ({"path": "/srv/a", "depth": 3}, True),
        ({"path": "/srv/a", "depth": 3, "more": []}, True),
        ({"path": "/srv/a", "depth": 30}, False),
        ({"path": "/srv/a/../b", "depth": 3}, False),
        ({"path": "/srv/a\n", "depth": 3}, False),
        ({"path": "/srv/a\0", "depth": 3}, False),
        ({"path": "/srv/\0a", "depth": 3}, False),
        ({"path": ["/srv/a"], "depth": 3}, False),
        ({"path": "/srv/a"}, False),
        ({"path": "/srv/a", "Path": "/etc", "depth": 3}, False),
        ({"path": "/srv/" + "a" * MAX_MATCHED, "depth": 3}, False),
    ],
)
def test_a_named_argument_must_match_whole(arguments: dict[str, object], allowed: bool) -> None:
    assert (judge_call(TOOLS, Call(1, "read", arguments), "tools") is None) == allowed


def test_a_denial_does_not_grow_with_the_name() -> None:
    denied = judge_call(TOOLS, Call(1, "x" * 1_000_000, {}), "tools")
    assert denied is not None
    assert len(denied.words) < 1000
    assert denied.hint == ""


def test_names_are_compared_exactly() -> None:
    for name in ("Search", "search ", "s\u0435arch", "\u017fearch"):
        assert judge_call(TOOLS, Call(1, name, {}), "tools") is not None


def test_one_denied_call_denies_its_batch_and_every_request_in_it_is_answered() -> None:
    call = {"method": "tools/call", "params": {"name": "search"}}
    bad = {"method": "tools/call", "params": {"name": "delete"}}
    packet = read(json.dumps([call | {"id": 1}, bad | {"id": "b"}, {"method": "note"}, bad]).encode())
    denied = judge(TOOLS, packet, "tools")
    assert denied is not None
    assert denied.tool == "delete"
    said = json.loads(answer(packet, denied.reason))
    assert [error["id"] for error in said] == [1, "b"]
    assert {error["error"]["code"] for error in said} == {DENIED}


def test_a_lone_request_is_answered_alone_and_a_notification_not_at_all() -> None:
    assert json.loads(answer(read(b'{"id":7,"method":"x"}'), "no"))["id"] == 7
    assert answer(read(b'{"method":"x"}'), "no") == b""
    assert answer(read(b'{"id":7,"result":{}}'), "no") == b""
    assert json.loads(unreadable("no"))["id"] is None
