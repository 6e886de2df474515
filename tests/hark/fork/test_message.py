"""A branch point that is a message: patched as the agent would read it, or refused before a start."""

import json
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.errors import ForkError, PatchError
from hark.fork.message import Asked, refuse_asked
from hark.fork.point import Turn, settle
from hark.policy.model import McpServer, Policy, ToolRule
from hark.replay.pieces import Branched, Data, Message
from hark.replay.recorded import Frame
from hark.replay.score import Score
from hark.rerun.recalled import recall
from tests.support.recordings import bundle


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0"} | message).encode()


CALL = line(id=4, method="tools/call", params={"name": "echo", "arguments": {"said": "one"}})
RESULT = line(id=4, result={"content": [{"type": "text", "text": "one"}]})
LATER = line(id=5, result={})
EVENTS: list[Any] = [
    ev.McpMessage("notes", 1, 0, from_agent=True, data=CALL),
    ev.ToolCallRequest("notes", "echo", b"{}", exchange=2),
    ev.McpMessage("notes", 1, 1, from_agent=False, data=RESULT),
    ev.ToolCallResult("notes", "echo", b"{}", is_error=False, exchange=2),
    ev.McpMessage("notes", 1, 2, from_agent=False, data=LATER),
    ev.TunnelData(9, 0, from_agent=True, host="db.example:5432"),
    ev.TunnelData(9, 0, from_agent=False, data=b"one"),
    ev.LlmRequest("talk.example", "GET", "/x", {}, b"", exchange=3),
    ev.WebSocketMessage(3, 0, from_agent=False, type="text", data=b'{"you": "one"}'),
    ev.LlmResponseEnd(101, {}, 1, exchange=3),
]


def seq(path: Path, kind: type, nth: int = 0) -> int:
    """Return the number of the nth event of a kind."""
    frames = [(frame.seq, ev.decode_frame(frame)) for frame in recall(path).file.frames()]
    return [number for number, event in frames if isinstance(event, kind)][nth]


def settled(tmp_path: Path, kind: type, nth: int, patch: bytes | None) -> tuple[Turn, Score]:
    path = bundle(tmp_path / "run.hark", *EVENTS)
    recalled = recall(path)
    turn = settle(recalled, str(seq(path, kind, nth)), patch, "patch.json")
    score = Score([Frame(one.seq, one.time, ev.decode_frame(one)) for one in recalled.file.frames()])
    turn.put(score)
    return turn, score


TO_TWO = b'{"replace": "one", "with": "two"}'


def test_a_patched_result_takes_the_place_of_the_recorded_one(tmp_path: Path) -> None:
    turn, score = settled(tmp_path, ev.ToolCallResult, 0, TO_TWO)
    (talk,) = (one for one in score.recording.talks if one.lane[0] == "mcp")
    assert talk.parts[0] is turn.branch
    assert [part.piece for part in talk.parts] == [Data(RESULT.replace(b"one", b"two")), Data(LATER)]


def test_a_call_is_asked_where_it_ended_and_its_recorded_answer_is_gone(tmp_path: Path) -> None:
    turn, score = settled(tmp_path, ev.ToolCallRequest, 0, TO_TWO)
    (talk,) = (one for one in score.recording.talks if one.lane[0] == "mcp")
    assert [part.piece for part in talk.parts] == [Branched(), Data(LATER)]
    assert turn.call is not None
    assert (turn.call.said, turn.call.asked) == (CALL, CALL.replace(b"one", b"two"))
    assert turn.branch.seq == turn.point.request + 1


def test_a_websockets_message_and_bytes_are_patched(tmp_path: Path) -> None:
    turn, score = settled(tmp_path, ev.WebSocketMessage, 0, b'{"set": "/you", "value": 2}')
    assert turn.branch.piece == Message("text", b'{"you": 2}', more=False)
    assert turn.branch in score.recording.exchanges[3].parts
    turn, score = settled(tmp_path, ev.TunnelData, 1, TO_TWO)
    assert turn.branch.piece == Data(b"two")
    assert any(turn.branch in talk.parts for talk in score.recording.talks)


@pytest.mark.parametrize(
    ("kind", "nth", "patch", "words"),
    [
        (ev.McpMessage, 1, {"replace": "three", "with": ""}, "does not occur"),
        (
            ev.McpMessage,
            1,
            {"set_header": "x", "value": "y"},
            "step 1 of the patch: a message has no headers",
        ),
        (ev.McpMessage, 1, {"drop_chunk": 0}, "a message has no chunks"),
        (ev.McpMessage, 1, {"body": "{\n}"}, "is one line"),
        (ev.McpMessage, 1, {"body": "no"}, "no JSON any more"),
        (ev.McpMessage, 1, {"set": "/id", "value": 5}, "another id"),
        (ev.TunnelData, 1, {"body": ""}, "no empty message"),
    ],
)
def test_what_nobody_would_take_for_a_message_is_refused(
    tmp_path: Path, kind: type, nth: int, patch: dict[str, Any], words: str
) -> None:
    with pytest.raises(PatchError, match=words):
        settled(tmp_path, kind, nth, json.dumps(patch).encode())


def test_what_is_no_branch_point_says_why(tmp_path: Path) -> None:
    with pytest.raises(ForkError, match="in the middle of a raw connection; fork at what a server says"):
        settled(tmp_path, ev.TunnelData, 0, None)
    with pytest.raises(ForkError, match="no recorded call that it answers"):
        settled(tmp_path, ev.McpMessage, 2, b'{"replace": "one", "with": "two", "on": "request"}')


def server(*tools: str, again: tuple[str, ...] = ()) -> Policy:
    rules = tuple(ToolRule(name) for name in tools) or None
    return Policy(mcp=(McpServer("notes", ("x",), tools=rules, may_reexecute=again),))


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (None, r"name \[mcp.notes\] in a file"),
        (Policy(), r"name \[mcp.notes\] in a file"),
        (server("other"), "not in allow_tools"),
        (server(), "may_reexecute"),
    ],
)
def test_a_call_that_would_be_refused_live_is_refused_before_a_start(
    policy: Policy | None, words: str
) -> None:
    with pytest.raises(ForkError, match=words):
        refuse_asked(Asked("notes", CALL, CALL, "the call"), policy)


def test_one_that_is_marked_is_not() -> None:
    refuse_asked(Asked("notes", CALL, CALL, "the call"), server("echo", again=("echo",)))
    with pytest.raises(ForkError, match="cannot be asked as it is patched"):
        refuse_asked(Asked("notes", CALL, b'{"method": 1}', "the call"), server("echo", again=("echo",)))
