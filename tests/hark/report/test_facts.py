"""What a report says of a run, against the events it was made of."""

from pathlib import Path

import pytest

from hark.bundle import events as ev
from hark.replay.recorded import Frame
from hark.report import facts
from hark.report.facts import DENIAL, SECRET, Facts
from tests.hark.report.story import events, made


def test_all_that_happened_is_counted(tmp_path: Path) -> None:
    found = made(tmp_path / "run.hark").facts
    assert (found.exchanges, found.model_calls, found.tool_calls, found.refused) == (3, 2, 1, 0)
    assert (found.tokens_in, found.tokens_out, found.models) == (80, 14, {"large": 2})
    assert found.hosts == {"briefing.example": 1, "api.anthropic.com": 2}
    assert (found.marked[DENIAL], found.marked[SECRET]) == (1, 1)
    assert [one.what for one in found.denials] == ["collect.evil.example"]
    assert found.secrets == {("secrets.KEY", "api.anthropic.com"): [7, 1]}
    assert found.events == sum(found.kinds.values())
    assert found.end is not None


def test_a_run_without_the_denial_has_none(tmp_path: Path) -> None:
    found = made(tmp_path / "run.hark", *events(obeys=False)).facts
    assert (found.denials, found.tool_calls) == ([], 0)


def test_what_is_not_kept_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MAX_STEPS", 2)
    found = made(tmp_path / "run.hark").facts
    assert len(found.steps) == 2
    assert found.steps_left_out > 0


def test_a_run_cannot_have_more_kept_by_many_branches_or_long_reasons(tmp_path: Path) -> None:
    branch = ev.Branch(bytes(32), 1, "response", 0, b"", b"p" * 10_000, "n" * 10_000)
    denied = ev.DnsDecision("d" * 10_000, reason="r" * 10_000)
    found = made(tmp_path / "run.hark", *[branch] * (2 * facts.MAX_BRANCHES), denied).facts
    assert len(found.branches) == facts.MAX_BRANCHES
    assert found.kinds[49] == 2 * facts.MAX_BRANCHES
    assert len(repr(found.branches[0])) + len(repr(found.denials[0])) < 3_000


def test_bodies_are_kept_up_to_a_bound_of_all() -> None:
    found = Facts()
    found._room = 5
    for seq in range(3):
        found.take(Frame(seq, seq, ev.McpMessage("notes", data=b"abc")))
    assert [step.body for step in found.steps] == [b"abc", b"ab", b""]
