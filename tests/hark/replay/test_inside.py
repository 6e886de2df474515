"""Where inside two actions they differ, in words and as JSON."""

import json

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.replay.actions import actions
from hark.replay.diverge import compare
from hark.replay.inside import inside, to_json, words
from tests.hark.replay.run import answered, asked, frames, run

HOSTILE = "\x1b[2J\u202e"


def told(one, other):
    compared = compare(actions(frames(one)), actions(frames(other)))
    found = inside(compared.first, lambda: frames(one), lambda: frames(other)) if compared.first else ()
    shown = to_json(compared, found)
    assert json.loads(json.dumps(shown)) == shown
    return words(compared, found), shown


def changed(kind, number=0, **change):
    events = run()
    at = [at for at, event in enumerate(events) if type(event) is kind][number]
    events[at] = events[at]._replace(**change)
    return events


CHAT = "request POST api.example/v1/chat"


FILE = "6f" * 32
DIFFERENCES = [
    (
        ev.LlmRequest,
        {"body": b'{"messages":[{"content":"Say hellO."}]}'},
        CHAT,
        "$.messages[0].content differs at byte 8",
    ),
    (
        ev.LlmRequest,
        {"raw_headers": ((b"content-type", b"application/json"), (b"x-a", b"1"))},
        CHAT,
        "header x-a is new: 1",
    ),
    (ev.LlmResponseChunk, {"data": b"data: hem"}, CHAT, "body differs at byte 8"),
    (ev.LlmResponseEnd, {"status": 201}, CHAT, "status was 200 and is 201"),
    (
        ev.LlmResponseEnd,
        {"raw_headers": ((b"Content-Type", b"text/event-stream"),)},
        CHAT,
        "header date is missing; it was Mon, 01 Jan 2029 00:00:00 GMT",
    ),
    (ev.LlmResponseEnd, {"error": "reset"}, CHAT, "end was: whole; is: reset"),
    (ev.RequestChunk, {"data": b"abd"}, "request POST api.example/upload", "body differs at byte 2"),
    (
        ev.WebSocketMessage,
        {"data": b'{"id": 2}'},
        "websocket POST api.example/ws, of the agent",
        "$.id is 2 and was 1",
    ),
    (
        ev.TunnelData,
        {"data": b"select 2"},
        "tunnel db.example:5432 #1, of the agent",
        "bytes differs at byte 7",
    ),
    (ev.McpMessage, {"data": b'{"method": "x"}'}, "mcp files #1, of the agent", "$.method differs at byte 0"),
    (
        ev.ToolCallRequest,
        {"arguments": b'{"path": "b"}'},
        "tool files read calls",
        "$.path differs at byte 0",
    ),
    (
        ev.FileResult,
        {"mode": 0o755},
        "file out.txt",
        f"end was: mode 0644, {FILE}; is: mode 0755, {FILE}",
    ),
    (RunEnd, {"exit_code": 3}, "exit", "end was: exit, exit code 0; is: exit, exit code 3"),
]


@pytest.mark.parametrize(("kind", "change", "action", "where"), DIFFERENCES)
def test_a_difference_is_told_where_it_is(kind, change, action, where):
    sentence, shown = told(run(), changed(kind, **change))
    seq = shown["divergence"]["recorded"]["seq"]
    assert sentence == f"{action} of event {seq} differs: {where}"
    assert shown["equal"] is False
    assert shown["recorded_digest"] != shown["replayed_digest"]


def test_what_is_on_one_side_alone_is_told_as_that():
    one = [asked(1, b"a"), *answered(1, b"1"), RunEnd(0, 0, "exit")]
    more = [asked(1, b"a"), *answered(1, b"1"), asked(2, b"", "/x"), *answered(2, b"2"), RunEnd(0, 0, "exit")]
    assert told(more, one)[0] == "request POST api.example/x of event 3 was not made again"
    assert told(one, more)[0] == "request POST api.example/x of the replay's event 3 was not recorded"
    assert [action["seq"] for action in told(more, one)[1]["unused"]] == [3]
    assert told(one, more)[1]["extra"] == 1


def test_equal_runs_are_told_to_be():
    sentence, shown = told(run(), run())
    assert sentence == "all 28 actions are equal"
    assert (shown["equal"], shown["divergence"], shown["unused"]) == (True, None, [])


def test_a_run_that_never_started_is_told_before_all_else():
    events = [RunEnd(0, 127, "never-started: not found")]
    assert told(events, events)[0] == 'of the recorded run: the run never started ("not found")'
    assert told(events, events)[1]["equal"] is False


def test_words_and_hashes_stand_in_json_as_such():
    _, shown = told(run(), changed(ev.LlmResponseChunk, data=b"x"))
    parts = shown["divergence"]["recorded"]["parts"]
    assert (parts["outcome"], parts["status"], len(parts["body"])) == ("whole", "200", 64)
    assert [action["action"] for action in shown["divergence"]["before"]][
        -1
    ] == "denied tcp to 203.0.113.9 port 22"


def test_whatever_is_told_is_safe_to_print():
    hostile = [
        asked(1, HOSTILE.encode(), f"/{HOSTILE}"),
        *answered(1, HOSTILE.encode(), error=HOSTILE),
        ev.DnsDecision(HOSTILE),
        ev.FileResult(HOSTILE, 1, b"x" * 32),
        RunEnd(0, 0, HOSTILE),
    ]
    other = [asked(1, b"x", f"/{HOSTILE}"), *answered(1, b""), RunEnd(0, 0, "exit")]
    for one, two in ((hostile, other), (other, hostile)):
        sentence, shown = told(one, two)
        assert sentence.isprintable()
        assert json.dumps(shown, ensure_ascii=False).isprintable()
