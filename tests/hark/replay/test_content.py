"""What an action was in full, read again from its run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import events as ev
from hark.replay.actions import Action, actions
from hark.replay.canonical import MAX_HELD
from hark.replay.content import content
from tests.hark.replay.run import asked, frames, run

FOUND = {
    action.title + str(place): action
    for stream in actions(frames(run())).actions.values()
    for place, action in enumerate(stream)
}


def full(title, place=0):
    return content(frames(run()), FOUND[title + str(place)])


def test_an_exchange_has_its_request_and_all_that_came_back():
    upload = full("request POST api.example/upload")
    assert upload.request.name == "POST api.example/upload"
    assert upload.request.body == b"abcdef"
    assert (upload.status, bytes(upload.data), upload.cut) == (200, b"{}", False)
    assert upload.headers[0] == (b"content-type", b"text/event-stream")
    assert upload.request_trailers == ((b"x-end", b"1"),)
    second = full("request POST api.example/v1/chat", 1)
    assert (bytes(second.data), second.trailers) == (b"data: two\n\n", ((b"x-sum", b"1"),))
    assert full("request POST api.example/slow").words == "the agent went away"


@pytest.mark.parametrize(
    ("title", "data", "words"),
    [
        ("websocket POST api.example/ws, of the agent", b'{"id": 1}', "text"),
        ("websocket POST api.example/ws, of the server", b"hi", "text"),
        ("tunnel db.example:5432 #1, of the agent", b"select 1", ""),
        ("tunnel db.example:5432 #1, of the server", b"1", ""),
        ("mcp files #1, of the agent", b'{"method": "tools/call"}', ""),
        ("tool files read calls", b'{"path": "a"}', ""),
        ("tool files read results", b'{"text": "x"}', ""),
        ("file out.txt", b"", "mode 0644, " + b"o".hex() * 32),
        ("file gone.txt", b"", "it is gone"),
        ("program /bin/sh", b"", b"q".hex() * 32),
        ("checkpoint", b"", "turn 1 63"),
        ("exit", b"", "exit, exit code 0"),
        ("name api.example", b"", ""),
    ],
)
def test_an_action_has_its_content(title, data, words):
    found = full(title)
    assert (bytes(found.data), found.words) == (data, words)


def test_a_message_is_read_to_its_last_piece_and_no_further():
    pieces = [
        asked(1, b""),
        ev.WebSocketMessage(1, 0, True, "text", b"a", more=True),
        ev.WebSocketMessage(1, 1, False, "text", b"x"),
        ev.WebSocketMessage(1, 2, True, "ping", b"p"),
        ev.WebSocketMessage(1, 3, True, "text", b"b"),
        ev.WebSocketMessage(1, 4, True, "text", b"c"),
    ]
    found = content(frames(pieces), Action("websocket x", 1, 1, ()))
    assert bytes(found.data) == b"ab"


def test_what_is_beyond_what_is_held_is_said_to_be():
    events = [
        asked(1, b""),
        *[ev.LlmResponseChunk(0, b"x" * (1 << 20), 0, 1)] * 17,
        ev.LlmResponseEnd(200, exchange=1),
    ]
    found = content(frames(events), Action("request x", 0, 1, ()))
    assert (len(found.data), found.cut) == (MAX_HELD, True)


@given(st.sampled_from(sorted(FOUND)), st.lists(st.sampled_from(run()), max_size=12))
def test_any_events_have_content(title, events):
    assert content(frames(events), FOUND[title]) is not None
