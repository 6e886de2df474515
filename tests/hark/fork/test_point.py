"""Where a fork goes live is settled before a start, and a patch that matches nothing is said then."""

from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.errors import ForkError, PatchError
from hark.fork.point import Turn, settle
from hark.patch.where import Side
from hark.replay.pieces import Branched, Data
from hark.rerun.recalled import recall
from tests.support.recordings import bundle


def exchange(number: int, answer: bytes = b"yes, sir", error: str = "") -> list[Any]:
    return [
        ev.LlmRequest("api.example", "POST", f"/v{number}", {}, b"ask", exchange=number),
        ev.LlmResponseChunk(0, answer, exchange=number),
        ev.LlmResponseEnd(200, {}, 1, error=error, exchange=number),
    ]


def settled(tmp_path: Path, at: str, patch: bytes | None = None, *events: Any) -> Turn:
    path = bundle(tmp_path / "run.hark", *(events or [*exchange(1), *exchange(2)]))
    return settle(recall(path), at, patch, "patch.json")


def test_a_patched_answer_takes_the_place_of_the_recorded_one(tmp_path: Path) -> None:
    turn = settled(tmp_path, "api.example/v2", b'{"replace": "sir", "with": "ma\'am"}')
    assert (turn.point.side, turn.exchange) == (Side.RESPONSE, 2)
    assert [part.piece.data for part in turn.parts if isinstance(part.piece, Data)] == [b"yes, ma'am"]
    assert len(turn.patch_hash) == 32


def test_a_request_is_asked_where_it_ended(tmp_path: Path) -> None:
    turn = settled(tmp_path, "last-request")
    assert [part.piece for part in turn.parts] == [Branched()]
    assert (turn.branch.seq, turn.sent.body, turn.patch_hash) == (turn.point.request, b"ask", b"")


def test_one_that_is_sent_in_pieces_is_asked_at_its_last(tmp_path: Path) -> None:
    (head, *answer) = exchange(1)
    pieces = [ev.RequestChunk(1, 0, b"k", last=False), ev.RequestChunk(1, 1, b"", last=True)]
    events = [head._replace(body=b"", streaming=True), *pieces, *answer]
    turn = settled(tmp_path, "last-request", None, *events)
    assert (turn.branch.seq, turn.sent.body) == (turn.point.request + 2, b"k")


def test_a_patch_that_matches_nothing_is_an_error_here(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="does not occur"):
        settled(tmp_path, "last-request", b'{"replace": "madam", "with": "x"}')
    with pytest.raises(PatchError, match="does not occur"):
        settled(tmp_path, "last-request", b'{"replace": "madam", "with": "x", "on": "request"}')


@pytest.mark.parametrize(
    ("at", "patch", "words"),
    [
        (
            0,
            b'{"replace": "sir", "with": "x"}',
            "the request of POST api.example/v1 (event {0}), and its response has it: fork with -at {1}",
        ),
        (0, b'{"replace": "sir", "with": "x", "on": "request"}', 'write "on": "response" in the patch'),
        (1, b'{"replace": "ask", "with": "x"}', "and its request has it: fork with -at {0}"),
        (1, b'{"replace": "ask", "with": "x", "on": "response"}', 'write "on": "request" in the patch'),
    ],
)
def test_a_patch_that_fits_the_other_side_is_told_where_that_is(
    tmp_path: Path, at: int, patch: bytes, words: str
) -> None:
    first = settled(tmp_path, "api.example/v1").point.request
    with pytest.raises(PatchError) as caught:
        settled(tmp_path, str(first + at), patch)
    assert words.format(first, first + 1) in str(caught.value)
    if "-at" in words:
        assert settled(tmp_path, str(first + 1 - at), patch).patch_hash


def test_what_was_refused_is_no_branch_point(tmp_path: Path) -> None:
    events = exchange(1, error="refused: no rule")
    with pytest.raises(ForkError, match="was refused by the policy"):
        settled(tmp_path, "last-request", None, *events)
