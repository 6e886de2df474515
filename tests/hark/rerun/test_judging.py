"""The verdict: equal where every action, end and count is; otherwise the first difference by its name."""

import json
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.errors import ReplayError
from hark.replay.canonical import NO_RULES
from hark.replay.renamed import Renaming
from hark.rerun.judging import DIVERGED, EQUAL, INTERRUPTED, RENAMED, Judgement, judge
from hark.rerun.recalled import recall
from hark.rerun.replaying import Course
from mediator.playback.report import Divergence, Report
from tests.support.recordings import bundle


def exchange(number: int, body: bytes = b'{"a": 1}', answer: bytes = b"yes") -> list[Any]:
    return [
        ev.LlmRequest("api.example", "POST", f"/v{number}", {}, body, exchange=number),
        ev.LlmResponseChunk(0, answer, exchange=number),
        ev.LlmResponseEnd(200, {}, 1, exchange=number),
    ]


RECORDED = [event for number in range(1, 6) for event in exchange(number)]
WELL = Report(5, 0, 0.0, (), (), (), 0)


def judged(tmp_path: Path, replayed: list[Any], report: Report = WELL, **changes: Any) -> Judgement:
    """Judge a replay that recorded this; `changes` are of its bundle, or of the course."""
    course = {
        key: changes.pop(key)
        for key in ("packets", "failure", "ran_on", "notes", "left_out", "interrupted", "moved")
        if key in changes
    }
    renaming = changes.pop("renaming", Renaming())
    whole = changes.pop("whole", True)
    ends = {} if whole else {"end": None}
    recording = bundle(tmp_path / "run.hark", *RECORDED, seal=whole, **ends)
    again = bundle(tmp_path / "again.hark", *replayed, **changes)
    known = {"packets": 0, "failure": None, "ran_on": False, "notes": ()} | course
    recalled = recall(recording, truncated=True)
    return judge(
        Course(recalled, "ann", again, report, rules=NO_RULES, renaming=renaming, kept=None, **known)
    )


def test_the_same_actions_are_equal_in_whatever_pieces(tmp_path: Path) -> None:
    again = [
        *exchange(2),
        *exchange(1)[:1],
        ev.LlmResponseChunk(0, b"y", exchange=1),
        ev.LlmResponseChunk(1, b"es", exchange=1),
        ev.LlmResponseEnd(200, {}, 2, exchange=1),
        *RECORDED[6:],
    ]
    found = judged(tmp_path, again)
    assert (found.word, found.exit_code) == (EQUAL, 0)
    lines = found.lines()
    assert lines[0].startswith("REPLAY-EQUAL, 6 actions")
    assert "0 dials, 0 packets" in lines[2]
    assert "signed by ann" in lines[3]


@pytest.mark.attack
def test_what_a_policy_leaves_out_of_the_comparison_stands_beside_equal(tmp_path: Path) -> None:
    found = judged(tmp_path, RECORDED, left_out=("header x-all", "$.a\x1b"))
    assert "  its policy leaves out of the comparison: header x-all, $.a\\e" in found.lines()
    assert found.record()["left_out"] == ["header x-all", "$.a\x1b"]
    assert not any("leaves out" in line for line in judged(tmp_path, RECORDED).lines())


@pytest.mark.attack
def test_a_recording_that_was_changed_while_it_was_replayed_gets_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swapped(*words: Any, **named: Any) -> Any:
        found = recalled(*words, **named)
        bundle(tmp_path / "run.hark", *RECORDED[:-3], ev.Input("stdin", b"x"), *RECORDED[-3:])
        return found

    recalled = recall
    monkeypatch.setattr("tests.hark.rerun.test_judging.recall", swapped)
    with pytest.raises(ReplayError, match="was changed while it was read"):
        judged(tmp_path, RECORDED)


@pytest.mark.parametrize(
    ("replayed", "changes", "words"),
    [
        ([*RECORDED[:6], *exchange(3, answer=b"no"), *RECORDED[9:]], {}, "body"),
        ([*RECORDED[:6], *exchange(3, body=b'{"a": 2}'), *RECORDED[9:]], {}, "$.a"),
        (RECORDED[:-3], {}, "was not made again"),
        ([*RECORDED, *exchange(6)], {}, "was not recorded"),
        (RECORDED, {"end": RunEnd(exit_code=1, reason="exit")}, "exit of event 19 differs"),
        (RECORDED, {"end": RunEnd(exit_code=0, reason="signal SIGKILL")}, "signal"),
        (RECORDED, {"packets": 2}, "sent or received 2 packets"),
        (RECORDED, {"report": WELL.__class__(5, 0, 0.0, (), (), (), 1)}, "dialled 1 times"),
        (RECORDED, {"report": WELL.__class__(5, 0, 0.0, (), ("the answer to x",), (), 0)}, "the answer to x"),
    ],
)
def test_anything_else_diverges_and_is_named(
    tmp_path: Path, replayed: list[Any], changes: dict[str, Any], words: str
) -> None:
    found = judged(tmp_path, replayed, **changes)
    assert (found.word, found.exit_code) == (DIVERGED, 1)
    assert words in found.lines()[0]


@pytest.mark.attack
def test_both_sides_are_told_from_where_they_differ_on(tmp_path: Path) -> None:
    was, now = b'{"say": ["one two"]}', b'{"say": ["one \x1b[2Jdoes"]}'
    recorded = [*RECORDED, *exchange(7, body=was)]
    recording = bundle(tmp_path / "said.hark", *recorded)
    again = bundle(tmp_path / "unsaid.hark", *RECORDED, *exchange(7, body=now.replace(b"\x1b", b"\\u001b")))
    course = Course(
        recall(recording), "ann", again, WELL, 0, NO_RULES, (), None, None, Renaming(), ran_on=False
    )
    lines = judge(course).lines()
    assert '  $.say[0]: recorded "two", here "\\e[2Jdoes"' in lines
    assert "\x1b" not in "".join(lines)
    status = judged(tmp_path, [*RECORDED[:-1], ev.LlmResponseEnd(500, {}, 1, exchange=5)]).lines()
    assert "was 200 and is 500" in status[0]  # which has both sides
    assert not any(", here " in line for line in status)


@pytest.mark.attack
def test_a_signal_to_hark_is_no_verdict_on_the_agent(tmp_path: Path) -> None:
    missed = Report(5, 0, 0.0, (Divergence("miss", "no recording for GET a/"),), (), (), 0)
    found = judged(tmp_path, RECORDED[:-3], missed, interrupted=2)
    assert (found.word, found.exit_code) == (INTERRUPTED, 130)
    lines = "\n".join(found.lines())
    assert lines.startswith("REPLAY-INTERRUPTED: by SIGINT")
    assert "DIVERGED" not in lines
    assert "no recording" not in lines
    assert judged(tmp_path, RECORDED[:-3], missed).word == DIVERGED


def test_a_bundle_that_could_not_be_moved_takes_no_verdict_away(tmp_path: Path) -> None:
    found = judged(tmp_path, RECORDED, moved=False)
    assert (found.word, found.exit_code) == (EQUAL, 123)
    found = judged(tmp_path, RECORDED[:-3], moved=False)
    assert (found.word, found.exit_code) == (DIVERGED, 1)


def test_a_signal_after_all_was_done_again_leaves_it_equal(tmp_path: Path) -> None:
    found = judged(tmp_path, RECORDED, interrupted=2)
    assert (found.word, found.exit_code) == (EQUAL, 0)


def test_the_last_three_equal_actions_are_named(tmp_path: Path) -> None:
    found = judged(tmp_path, [*RECORDED[:12], *exchange(5, answer=b"no")])
    assert found.compared.first is not None
    titles = [one.title for one in found.compared.first.before]
    assert titles == [f"request POST api.example/v{at}" for at in (2, 3, 4)]
    assert sum("equal before it" in line for line in found.lines()) == 3


def test_another_program_is_named_first(tmp_path: Path) -> None:
    programs = [ev.FsManifest({"/usr/bin/sh": bytes(32)}, "programs")]
    other = [ev.FsManifest({"/usr/bin/sh": bytes(31) + b"x"}, "programs")]
    recording = bundle(tmp_path / "run.hark", *RECORDED, *programs)
    again = bundle(tmp_path / "again.hark", *RECORDED[:-3], *other)
    found = judge(
        Course(recall(recording), "ann", again, WELL, 0, NO_RULES, (), None, None, Renaming(), ran_on=False)
    )
    assert found.programs == ("/usr/bin/sh",)
    assert found.lines()[0] == "REPLAY-DIVERGED: another program than when recorded: /usr/bin/sh"
    miss = Divergence("miss", "no recording for POST api.example/v9; nearest is event 10", None)
    report = Report(2, 1, 0.5, (), (), (miss,), 0)
    stopped = Course(
        recall(recording), "ann", again, report, 0, NO_RULES, (), None, None, Renaming(), ran_on=False
    )
    (line, *others) = judge(stopped).lines()
    assert line == f"REPLAY-DIVERGED: another program than when recorded: /usr/bin/sh; {miss.words}"
    assert not any("another program" in other for other in others)


def test_where_playback_stopped_it_that_is_the_reason_and_no_consequence(tmp_path: Path) -> None:
    miss = Divergence("miss", "no recording for POST api.example/v9; nearest is event 10", None)
    report = Report(2, 1, 0.5, (), ("the answer to v3",), (miss,), 0)
    stopped = RunEnd(exit_code=1, reason="interrupted: it diverged")
    found = judged(tmp_path, RECORDED[:6], report, end=stopped)
    assert found.lines()[0] == f"REPLAY-DIVERGED: {miss.words}"
    assert any("not used: the answer to v3" in line for line in found.lines())


def test_a_recording_that_breaks_off_is_equal_as_far_as_it_goes(tmp_path: Path) -> None:
    miss = Divergence("miss", "no recording for POST api.example/v6")
    report = Report(5, 0, 0.0, (), (), (miss,), 0)
    found = judged(tmp_path, [*RECORDED, *exchange(6)[:1]], report, ran_on=True, whole=False)
    assert (found.word, found.exit_code) == (EQUAL, 3)
    assert "breaks off" in found.lines()[0]
    assert judged_again(tmp_path, report).word == DIVERGED


def judged_again(tmp_path: Path, report: Report) -> Judgement:
    (tmp_path / "other").mkdir()
    return judged(tmp_path / "other", RECORDED[:3], report, ran_on=False, whole=False)


def test_a_replay_that_broke_down_says_nothing_of_the_agent(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="disk full"):
        judged(tmp_path, RECORDED, failure="disk full")


def test_what_cannot_be_played_is_no_divergence(tmp_path: Path) -> None:
    report = Report(0, 0, 0.0, (), (), (Divergence("uncovered", "raw TCP is not played back"),), 0)
    with pytest.raises(ReplayError, match="raw TCP is not played back"):
        judged(tmp_path, RECORDED[:3], report)


def test_the_record_for_programs_is_whole_and_plain(tmp_path: Path) -> None:
    record = judged(tmp_path, [*RECORDED[:12], *exchange(5, answer=b"no")]).record()
    assert json.loads(json.dumps(record)) == record
    assert record["verdict"] == DIVERGED
    assert record["digest"] != record["recorded_digest"]
    assert record["comparison"]["divergence"]["inside"][0]["where"] == "body"  # type: ignore[index]
    assert {
        "why",
        "actions",
        "signer",
        "dials",
        "packets",
        "unconsumed",
        "end",
        "recorded_end",
    } <= record.keys()


def test_what_is_equal_but_for_names_is_called_so_with_the_list(tmp_path: Path) -> None:
    was, now = b"0123456789abcdef", b"fedcba9876543210"
    renaming = Renaming().taking({was: now})
    assert renaming is not None
    found = judged(tmp_path, RECORDED, renaming=renaming)
    assert (found.word, found.exit_code) == (RENAMED, 0)
    assert f"  {was.decode()} is called {now.decode()} here" in found.lines()
    assert found.record()["renaming"] == {was.decode(): now.decode()}
    other = judged(tmp_path, [*RECORDED[:1], *RECORDED[3:]], renaming=renaming)
    assert other.word == DIVERGED
