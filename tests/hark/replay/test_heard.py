"""What a replay's own events say of its conversations."""

from typing import Any

from hark.bundle.events import REFUSED, LlmRequest, McpMessage, TunnelData, WebSocketMessage
from hark.replay.heard import Heard
from hark.replay.marks import Marks
from hark.replay.recorded import read
from hark.replay.talks import Differs, Talks
from tests.hark.replay.test_recorded import frames

EVENTS = (
    TunnelData(1, 0, from_agent=True, host="db.test:1"),
    TunnelData(1, 1, from_agent=True, data=b"ab"),
    TunnelData(1, 2, from_agent=True, end=True),
    McpMessage("notes", 2, 0, True, b'{"id": 1}'),
    McpMessage("notes", 2, 1, False, b"", "the agent went away"),
)


def hearing(*events: Any) -> tuple[Heard, Talks]:
    def do(action: Any) -> None:
        action.done = True

    talks = Talks(read(frames(*events)).talks, do, do, do)
    return Heard(talks, Marks({})), talks


def test_the_same_events_are_no_difference_and_use_all_up() -> None:
    heard, talks = hearing(*EVENTS)
    assert [heard.take(event) for event in EVENTS] == [None] * len(EVENTS)
    assert list(talks.unconsumed()) == []


def test_other_bytes_and_other_messages_are_differences() -> None:
    heard, _ = hearing(*EVENTS)
    heard.take(EVENTS[0])  # type: ignore[arg-type]
    assert isinstance(heard.take(TunnelData(1, 1, from_agent=True, data=b"aX")), Differs)
    assert isinstance(heard.take(McpMessage("notes", 9, 0, True, b'{"id": 2}')), Differs)
    assert isinstance(heard.take(McpMessage("other", 10, 0, True, b'{"id": 1}')), Differs)


def said(data: bytes, *, more: bool = True) -> WebSocketMessage:
    return WebSocketMessage(1, 0, from_agent=True, type="stream", data=data, more=more)


def test_an_upgraded_stream_is_compared_by_its_bytes_and_its_end() -> None:
    recorded = (
        LlmRequest(exchange=1, method="POST", host="a.test", path="/"),
        said(b"ab"),
        said(b"", more=False),
    )
    heard, talks = hearing(*recorded)
    assert talks.begun(1, ("upgraded", "POST a.test/", "1")) is None
    assert heard.take(said(b"a")) is None
    assert heard.take(said(b"b")) is None
    assert heard.take(said(b"", more=False)) is None
    assert list(talks.unconsumed()) == []
    heard, talks = hearing(*recorded)
    talks.begun(1, ("upgraded", "POST a.test/", "1"))
    differs = heard.take(said(b"aX"))
    assert isinstance(differs, Differs)
    assert "the upgraded connection POST a.test/ differs: byte 1 is 0x58" in differs.words
    heard, talks = hearing(*recorded)
    talks.begun(1, ("upgraded", "POST a.test/", "1"))
    assert isinstance(heard.take(said(b"a", more=False)), Differs)


def test_what_was_refused_is_no_part_of_the_bytes() -> None:
    refused = TunnelData(1, 1, from_agent=True, data=b"key", end=True, error=f"{REFUSED}no")
    heard, talks = hearing(EVENTS[0], refused)
    assert [heard.take(event) for event in (EVENTS[0], refused)] == [None, None]  # type: ignore[arg-type]
    assert list(talks.unconsumed()) == []


def test_the_servers_messages_and_keep_alive_say_nothing_of_the_agent() -> None:
    heard, _ = hearing()
    assert heard.take(WebSocketMessage(1, 0, from_agent=False, type="text", data=b"x")) is None
    assert heard.take(WebSocketMessage(1, 0, from_agent=True, type="ping", data=b"x")) is None
