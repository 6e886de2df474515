"""What is said in conversations is a branch point, or has the reason why it is none."""

from typing import Any

import pytest

from hark.bundle import events as ev
from hark.patch.spoken import Remark, Spoken
from hark.replay.recorded import Frame
from hark.replay.talks import MCP, TUNNEL, WEBSOCKET


def mcp(data: bytes, *, agent: bool = False, note: str = "") -> ev.McpMessage:
    return ev.McpMessage("notes", 1, 0, from_agent=agent, data=data, note=note)


TOOLS: list[Any] = [
    mcp(b"list", agent=True),  # 0
    mcp(b"tools"),
    mcp(b"call", agent=True),  # 2
    ev.ToolCallRequest("notes", "echo", b"{}", exchange=7),
    mcp(b"result"),  # 4
    ev.ToolCallResult("notes", "echo", b"{}", is_error=False, exchange=7),
    mcp(b"call", agent=True, note=f"{ev.REFUSED}no"),  # 6
    ev.ToolCallRequest("notes", "rm", b"{}", exchange=8),
    ev.ToolCallResult("notes", "rm", b"", is_error=True, exchange=8),
    mcp(b"no", note="answered by hark"),
]


def found(events: list[Any], wanted: int) -> Remark | None:
    spoken = Spoken(wanted, lambda exchange: f"GET talk.example/{exchange}")
    for seq, event in enumerate(events):
        spoken.add(Frame(seq, seq, event))
    return spoken.found


@pytest.mark.parametrize(
    ("wanted", "seq", "words", "why"),
    [
        (0, 0, "the agent's message to mcp.notes", "calls of tools alone"),
        (1, 1, "a message of mcp.notes", ""),
        (2, 2, "the call of mcp.notes/echo", ""),
        (3, 2, "the call of mcp.notes/echo", ""),
        (4, 4, "the result of mcp.notes/echo", ""),
        (5, 4, "the result of mcp.notes/echo", ""),
        (7, 6, "the call of mcp.notes/rm", "it was not passed on"),
        (9, 9, "a message of mcp.notes", "it was not passed on"),
    ],
)
def test_a_tools_call_and_its_result_name_their_messages(wanted: int, seq: int, words: str, why: str) -> None:
    remark = found(TOOLS, wanted)
    assert remark is not None
    assert (remark.kind, remark.seq, remark.words) == (MCP, seq, words)
    assert why in remark.why_not
    assert bool(remark.why_not) == bool(why)
    if wanted in (4, 5):
        assert remark.about is not None
        assert remark.about.call == 3


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (ev.WebSocketMessage(3, 0, from_agent=False, type="text", data=b"x"), ""),
        (ev.WebSocketMessage(3, 0, from_agent=False, type="close", data=b""), "it is a close"),
        (ev.WebSocketMessage(3, 0, from_agent=False, type="text", data=b"x", more=True), "a piece"),
        (ev.WebSocketMessage(3, 0, from_agent=False, type="stream", data=b"x", more=True), "unread"),
        (ev.WebSocketMessage(3, 0, from_agent=True, type="text", data=b"x"), "in the middle of a WebSocket"),
    ],
)
def test_of_a_websocket_whole_messages_of_its_server_are_points(event: Any, why: str) -> None:
    remark = found([event], 0)
    assert remark is not None
    assert (remark.kind, remark.exchange) == (WEBSOCKET, 3)
    assert "GET talk.example/3" in remark.words
    assert why in remark.why_not
    assert bool(remark.why_not) == bool(why)


def test_the_last_piece_of_a_long_message_is_a_piece_too() -> None:
    first = ev.WebSocketMessage(3, 0, from_agent=False, type="text", data=b"x", more=True)
    last = found([first, first._replace(more=False)], 1)
    after = found([first, first._replace(more=False), first._replace(more=False)], 2)
    assert last is not None
    assert "a piece" in last.why_not
    assert after is not None
    assert not after.why_not


@pytest.mark.parametrize(
    ("host", "agent", "data", "why"),
    [
        ("db.example:5432", False, b"x", ""),
        ("db.example:5432", False, b"", "nothing was said"),
        ("db.example:5432", True, b"x", "in the middle of a raw connection"),
        ("published port 80 to 10.0.0.1:5", False, b"x", "no server"),
    ],
)
def test_of_raw_tcp_what_the_server_says_is_a_point(host: str, agent: bool, data: bytes, why: str) -> None:
    begun = ev.TunnelData(5, 0, from_agent=True, host=host)
    remark = found([begun, ev.TunnelData(5, 1, from_agent=agent, data=data)], 1)
    assert remark is not None
    assert remark.kind == TUNNEL
    assert host in remark.words
    assert why in remark.why_not
    assert bool(remark.why_not) == bool(why)


def test_any_other_event_is_none() -> None:
    assert (
        found([ev.Checkpoint("x"), ev.ToolCallResult("notes", "echo", b"", is_error=False, exchange=7)], 1)
        is None
    )
