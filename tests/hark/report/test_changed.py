"""What differs in two steps, and what a patch changes, as a page shows both."""

import json
from typing import Any

import pytest

from hark.diff.order import Effort
from hark.report import changed
from hark.report.facts import Step


def step(key: str, body: bytes | None = None) -> Step:
    return Step(1, 1, f"{key} {hash(body)}" if body is not None else key, key, "", body)


ASKED = step("asked POST x", b"a")


def test_steps_of_one_kind_stand_in_pairs_and_others_alone() -> None:
    left = [step("answered 200", b"a"), step("asked POST x", b"a")]
    right = [step("answered 200", b"b"), step("denied y"), step("asked POST x", b"b")]
    found = list(changed.pairs(left, right))
    assert [(len(one.left), len(one.right), one.alike) for one in found] == [
        (1, 1, True),
        (0, 1, False),
        (1, 1, True),
    ]


def test_two_that_differ_in_more_than_what_they_say_are_no_pair() -> None:
    (found,) = changed.pairs([step("answered 200", b"a")], [step("answered 500", b"a")])
    assert not found.alike
    assert [one.alike for one in changed.pairs([ASKED] * 300, [ASKED] * 300)] == [True] * 300
    assert list(changed.pairs([], [])) == []


def test_old_and_new_are_told_apart_and_stay_text() -> None:
    shown = changed.differing(step("a", b"one <b>\nsame"), step("a", b"two <b>\nsame"), Effort())
    assert "<del>one &lt;b&gt;</del><ins>two &lt;b&gt;</ins>" in shown
    assert "same" not in shown
    by_path = changed.differing(step("a", b'{"x": [1]}'), step("a", b'{"x": [2]}'), Effort())
    assert "$.x[0]" in by_path


def test_what_was_not_kept_is_not_called_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed, "MAX_BODY", 1)
    assert "beyond what a page compares" in changed.differing(step("a", b"x"), step("a", b"x"), Effort())
    monkeypatch.setattr(changed, "MAX_BODY", 5)
    assert changed.differing(step("a", b"x"), step("a", b"x"), Effort()) == ""
    assert changed.differing(step("a"), step("a"), Effort()) == ""


def test_long_differences_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed, "MAX_LINES", 2)
    monkeypatch.setattr(changed, "MAX_CHANGES", 1)
    one, other = (json.dumps([f"{mark}{at}" for at in range(4)]).encode() for mark in "ab")
    assert "3 more differences" in changed.differing(step("a", one), step("a", other), Effort())
    lines = changed.differing(step("a", b"a\nb\nc"), step("a", b"d\ne\nf"), Effort())
    assert "4 more lines" in lines


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ({"replace": "<old>", "with": "new"}, "<del>&lt;old&gt;</del> → <ins>new</ins>"),
        ({"replace": "old", "with": "", "count": 2}, "<del>old</del> → <ins>(nothing)</ins>, the first 2"),
        ({"set": "/a~1b/0", "value": {"c": 1}}, "/a~1b/0 → <ins>{&quot;c&quot;:1}</ins>"),
        ({"remove": "/a", "event": 3}, "/a of event 3 taken out"),
        ({"set_header": "x-a", "value": "b"}, "header x-a → <ins>b</ins>"),
        ({"remove_header": "x-a"}, "header x-a taken out"),
        ({"status": 503}, "status → 503"),
        ({"drop_chunk": 2}, "chunk 2 left out"),
        ({"body": "all"}, "the whole body → <ins>all</ins>"),
    ],
)
def test_each_step_of_a_patch_has_its_words(patch: dict[str, Any], words: str) -> None:
    assert f"<li>{words}</li>" in changed.patched(json.dumps(patch).encode())


def test_what_is_no_patch_says_nothing() -> None:
    assert changed.patched(b"") == ""
    assert changed.patched(b"p" * 10) == ""


def test_many_steps_are_counted() -> None:
    steps = {"steps": [{"status": 200 + number} for number in range(30)]}
    assert "<li>10 more steps</li>" in changed.patched(json.dumps(steps).encode())
