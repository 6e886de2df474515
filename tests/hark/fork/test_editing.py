"""A patch is made of what an editor left, on the side that the branch point is of."""

import json

import pytest

from hark.bundle import events as ev
from hark.errors import ForkError, PatchError
from hark.fork.editing import made, told
from hark.fork.point import settle
from hark.replay.pieces import Data
from hark.rerun.recalled import recall
from tests.support.recordings import bundle

JSON = ((b"content-type", b"application/json"),)
EVENTS = (
    ev.LlmRequest("api.example", "POST", "/x", {}, b'{"ask":"one"}', exchange=1, raw_headers=JSON),
    ev.LlmResponseChunk(0, b'{"say":"yes, sir"}', exchange=1),
    ev.LlmResponseEnd(200, {}, 1, exchange=1, raw_headers=JSON),
)


def recalled(tmp_path):
    return recall(bundle(tmp_path / "run.hark", *EVENTS))


def test_an_answer_is_edited_by_its_name_and_the_patch_fits(tmp_path):
    run = recalled(tmp_path)
    patch = made(run, "api.example/x", lambda text: text.replace("sir", "ma'am"))
    one = json.loads(patch)
    assert one["on"] == "response"
    assert one["note"].startswith("edited: POST api.example/x (event ")
    turn = settle(run, "api.example/x", patch, "p")
    assert [part.piece.data for part in turn.parts if isinstance(part.piece, Data)] == [
        b'{"say":"yes, ma\'am"}'
    ]


def test_a_request_is_edited_by_its_number(tmp_path):
    run = recalled(tmp_path)
    number = settle(run, "last-request", None, "").point.request
    patch = json.loads(made(run, str(number), lambda text: text.replace("one", "two")))
    assert (patch["on"], patch["steps"]) == ("request", [{"set": "/ask", "value": "two"}])


def test_without_a_change_there_is_no_patch(tmp_path):
    with pytest.raises(ForkError, match="nothing was changed"):
        made(recalled(tmp_path), "last-request", lambda text: text)
    with pytest.raises(ForkError, match="no request to other"):
        made(recalled(tmp_path), "other", lambda text: text)


def test_what_has_no_answer_is_not_edited(tmp_path):
    (asked, _, end) = EVENTS
    run = recall(bundle(tmp_path / "run.hark", asked, end._replace(status=0, error="connection refused")))
    with pytest.raises(PatchError, match="no recorded answer"):
        made(run, "last-request", lambda text: text)


def test_a_patch_is_told_in_one_printable_line():
    assert told(b'{\n  "on": "response",\n  "steps": []\n}\n') == '{ "on": "response", "steps": [] }'
    assert told('{"a": "\u202e"}'.encode()).isprintable()
    assert len(told(b"x" * 9000)) < 2100
