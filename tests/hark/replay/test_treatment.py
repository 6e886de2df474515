"""Each kind has one row, the code does what the row says, and the format page has both tables as they are."""

from pathlib import Path

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import Seal
from hark.replay import treatment
from hark.replay.actions import actions
from tests.hark.replay.run import frames, run

PAGE = Path(__file__).parents[3] / "docs" / "format.md"


def table(name):
    text = PAGE.read_text().partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
    return text.strip().splitlines()[2:]


def named(row):
    return ", ".join(rule.name for rule in row.rules) or "-"


def test_every_kind_has_one_row():
    assert [row.kind for row in treatment.TREATMENTS] == [kind.number for kind in ev.KINDS]


def compared(events):
    return {
        name: [action.parts for action in stream] for name, stream in actions(frames(events)).actions.items()
    }


@pytest.mark.parametrize("row", treatment.TREATMENTS, ids=lambda row: str(row.kind))
def test_a_kind_is_compared_exactly_where_its_row_names_a_stream(row):
    seal, hashed = Seal(), ev.BodyHash(1, from_agent=False, length=1, hash=b"h" * 32)
    whole = [*run()[:15], hashed, *run()[15:], seal]
    without = [event for event in whole if ev.kind_of(event) != row.kind]
    assert len(without) < len(whole)
    assert (compared(without) == compared(whole)) is (not row.stream)
    assert treatment.ignored(row.kind) is not bool(row.stream)


def test_every_rule_and_stream_is_used():
    used = {rule for row in treatment.TREATMENTS for rule in row.rules}
    assert used == set(treatment.LEFT_OUT)
    named = {row.stream for row in treatment.TREATMENTS if row.stream}
    assert named | {treatment.DENIED, treatment.DENIED_NAME, treatment.UNKNOWN} == set(treatment.STREAMS)


def test_the_format_page_has_a_row_for_each_kind():
    rows = [
        f"| {row.kind} | {kind.name} | {row.stream or '-'} | {named(row)} |"
        for kind, row in zip(ev.KINDS, treatment.TREATMENTS, strict=True)
    ]
    assert table("treatments") == rows


def test_the_format_page_has_each_stream_and_each_rule():
    assert table("streams") == [f"| {name} | {what} |" for name, what in treatment.STREAMS.items()]
    assert table("rules") == [f"| {rule.name} | {rule.what} |" for rule in treatment.LEFT_OUT]
