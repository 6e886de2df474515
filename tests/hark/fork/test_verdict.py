"""One word for a fork: FORKED only where the prefix held, it went live, and the patch was made."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.errors import ReplayError
from hark.fork.forking import Outcome
from hark.fork.point import settle
from hark.fork.verdict import DIVERGED, FORKED, INCOMPLETE, UNPATCHED, Verdict, judge
from hark.patch.world import changes_world
from hark.policy.model import Policy
from hark.rerun.recalled import recall
from mediator.playback.report import Divergence, Report
from tests.support.recordings import bundle

EXCHANGE = [
    ev.LlmRequest("api.example", "GET", "/", {}, exchange=1),
    ev.LlmResponseChunk(0, b"yes", exchange=1),
    ev.LlmResponseEnd(200, {}, 1, exchange=1),
]
DENIED = [
    ev.EgressAttempt("sink.example", 443, "https"),
    ev.EgressDecision("sink.example", allowed=False, reason="no rule allows it"),
]


def judged(
    tmp_path: Path,
    *,
    live: bool = True,
    divergence: Divergence | None = None,
    refusals: Sequence[Any] = DENIED,
    **changes: Any,
) -> Verdict:
    recalled = recall(bundle(tmp_path / "run.hark", *EXCHANGE))
    turn = settle(recalled, "last-request", b'{"replace": "yes", "with": "no", "note": "turned"}', "p")
    branch = ev.Branch(recalled.verified.root, turn.point.at, "response", note="turned", verified=1)
    events = [*DENIED, *EXCHANGE[:1], branch, *EXCHANGE[1:], *refusals] if live else EXCHANGE[:1]
    found = (divergence,) if divergence else ()
    known = {
        "recalled": recalled, "signer": "ann", "bundle": bundle(tmp_path / "fork.hark", *events),
        "turn": turn, "policy": "strict.toml", "branch": branch if live else None, "applied": live,
        "altered": 0, "report": Report(1, 0, 0.0, (), (), found, 0), "code": 0, "notes": (),
        "kept": None, "failure": None,
    }  # fmt: skip
    return judge(Outcome(**known | changes))


def test_a_fork_is_said_with_its_first_denial_after_the_branch(tmp_path: Path) -> None:
    verdict = judged(tmp_path)
    assert (verdict.word, verdict.exit_code, verdict.denials) == (FORKED, 0, 1)
    lines = "\n".join(verdict.lines())
    assert "1 action verified before it" in lines
    assert "strict.toml denied 1 after it, first https to sink.example:443" in lines
    assert "patch: turned" in lines
    assert json.loads(json.dumps(verdict.record()))["first_denial"]["why"] == "no rule allows it"


REPEATED = [
    ev.EgressAttempt("api.example", 443, "https"),
    ev.EgressDecision(
        "api.example", allowed=False, reason=changes_world("POST", "api.example", "/order", Policy())
    ),
]


def test_what_a_fork_does_not_do_again_is_no_denial_of_the_policys(tmp_path: Path) -> None:
    """Else each policy would seem to have stopped what none of them did."""
    verdict = judged(tmp_path, refusals=[*REPEATED, *REPEATED])
    assert (verdict.denials, verdict.repeats) == (0, 2)
    lines = "\n".join(verdict.lines())
    assert "strict.toml denied nothing after it" in lines
    assert "2 not done again, first https to api.example:443" in lines
    record = json.loads(json.dumps(verdict.record()))
    assert (record["denials"], record["first_denial"], record["not_done_again"]) == (0, None, 2)
    assert "may change the world" in record["first_not_done_again"]["why"]
    both = judged(tmp_path, refusals=[*REPEATED, *DENIED])
    assert (both.denials, both.repeats) == (1, 1)
    assert both.denied is not None
    assert both.denied.why == "no rule allows it"


@pytest.mark.parametrize(
    ("altered", "said"), [(1, "1 live request was sent"), (2, "2 live requests were sent")]
)
def test_requests_that_were_altered_are_counted(tmp_path: Path, altered: int, said: str) -> None:
    assert said in "\n".join(judged(tmp_path, altered=altered).lines())


@pytest.mark.parametrize(
    ("changes", "word", "code"),
    [
        ({"live": False, "divergence": Divergence("miss", "no recording for X")}, INCOMPLETE, 130),
        ({"live": False}, INCOMPLETE, 130),
        ({"applied": False}, INCOMPLETE, 130),
        ({}, FORKED, 0),
    ],
)
def test_a_signal_before_the_branch_is_no_verdict_on_the_agent(
    tmp_path: Path, changes: dict[str, Any], word: str, code: int
) -> None:
    verdict = judged(tmp_path, **changes, interrupted=2)
    assert (verdict.word, verdict.exit_code) == (word, code)
    assert ("interrupted by SIGINT" in verdict.why) is bool(code)


def test_a_bundle_that_could_not_be_moved_takes_no_verdict_away(tmp_path: Path) -> None:
    verdict = judged(tmp_path, moved=False)
    assert (verdict.word, verdict.exit_code) == (FORKED, 123)


def test_what_was_denied_before_the_branch_is_not_counted(tmp_path: Path) -> None:
    """The events before it have a denial too."""
    assert judged(tmp_path).denied is not None
    assert judged(tmp_path).denied.event > 8  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "word", "says"),
    [
        ({"live": False, "divergence": Divergence("miss", "no recording for X")}, DIVERGED, "`hark replay`"),
        ({"live": False, "divergence": Divergence("stall", "X did not come")}, INCOMPLETE, "stalled"),
        ({"live": False}, INCOMPLETE, "ended before"),
        ({"applied": False}, UNPATCHED, "fork at another event"),
    ],
)
def test_every_other_verdict_says_what_to_do(
    tmp_path: Path, changes: dict[str, Any], word: str, says: str
) -> None:
    verdict = judged(tmp_path, **changes)
    assert (verdict.word, verdict.exit_code) == (word, 1)
    assert says in verdict.why
    assert verdict.lines()[0] == f"{word}: {verdict.why}"


def test_a_fork_that_broke_down_is_no_verdict_on_the_agent(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="broke down"):
        judged(tmp_path, live=False, failure="the disk is full")


@pytest.mark.parametrize("reason", ["recorder-failed: the disk is full", None])
def test_a_live_part_that_could_not_be_recorded_is_incomplete(tmp_path: Path, reason: str | None) -> None:
    end = None if reason is None else RunEnd(reason=reason)
    recalled = recall(bundle(tmp_path / "parent.hark", *EXCHANGE))
    branch = ev.Branch(recalled.verified.root, 5, "response", verified=1)
    cut = bundle(tmp_path / "cut.hark", *EXCHANGE[:1], branch, *EXCHANGE[1:], end=end, seal=end is not None)
    verdict = judged(tmp_path, bundle=cut, applied=False)
    assert (verdict.word, verdict.exit_code) == (INCOMPLETE, 1)
    assert "could not be recorded: " in verdict.why
