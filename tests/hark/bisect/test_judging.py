"""What a fork shows: the outcome, that it is gone, or nothing at all."""

from pathlib import Path
from typing import Any

import pytest

from hark.bisect.counting import Shown
from hark.bisect.expression import parse
from hark.bisect.judging import Judge
from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.replay.recorded import Frame
from tests.support.recordings import bundle

PARENT = b"p" * 32
LIVE = ev.Branch(parent=PARENT, at=3, side="response")
EVIL = ev.DnsDecision("evil.example", allowed=False, reason="no")


def judged(*events: object, until: str = "denied", exit_code: int | None = 0) -> tuple[Shown, str]:
    frames = [Frame(seq, seq, event) for seq, event in enumerate(events)]
    return Judge(parse(until), PARENT, exit_code).frames(frames)


def end(code: int = 0) -> RunEnd:
    return RunEnd(exit_code=code, reason="exit")


def test_only_what_is_seen_where_it_was_live_counts() -> None:
    assert judged(LIVE, EVIL, end()) == (Shown.SEEN, "")
    assert judged(EVIL, LIVE, end()) == (Shown.GONE, "")


def test_a_fork_that_never_went_live_shows_nothing() -> None:
    assert judged(EVIL, end()) == (Shown.NOTHING, "it never went live")
    other = LIVE._replace(parent=b"o" * 32)
    assert judged(other, EVIL, end()) == (Shown.NOTHING, "it never went live")


def test_an_agent_that_broke_shows_nothing_unless_the_outcome_was_seen_or_is_its_exit() -> None:
    assert judged(LIVE, end(1))[0] is Shown.NOTHING
    assert "exit code 1, where the recorded run had 0" in judged(LIVE, end(1))[1]
    assert judged(LIVE, EVIL, end(1))[0] is Shown.SEEN
    assert judged(LIVE, end(1), exit_code=1)[0] is Shown.GONE
    assert judged(LIVE, end(0), exit_code=1)[0] is Shown.GONE
    assert judged(LIVE, end(1), until="exit=2", exit_code=2)[0] is Shown.GONE
    assert judged(LIVE)[0] is Shown.NOTHING


def verdict(path: str, **named: Any) -> dict[str, Any]:
    return {"verdict": "FORKED", "parent_root": PARENT.hex(), "bundle": path} | named


def test_a_verdict_and_its_bundle_are_judged(tmp_path: Path) -> None:
    judge = Judge(parse("denied"), PARENT, 0)
    path = bundle(tmp_path / "fork.hark", LIVE, EVIL)
    assert judge.fork(verdict(path)) == (Shown.SEEN, "")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"verdict": "FORK-DIVERGED", "why": "the clock"}, "FORK-DIVERGED: the clock"),
        ({"parent_root": "00" * 32}, "another bundle"),
        ({"bundle": "/nowhere/x.hark"}, "cannot be read"),
        ({"bundle": __file__}, "cannot be read"),
    ],
)
def test_what_is_no_fork_of_this_bundle_shows_nothing(
    tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    path = bundle(tmp_path / "fork.hark", LIVE, EVIL)
    shown, words = Judge(parse("denied"), PARENT, 0).fork(verdict(path, **changed))
    assert shown is Shown.NOTHING
    assert why in words
