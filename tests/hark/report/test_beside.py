"""Two runs side by side."""

from pathlib import Path

import pytest

from hark.bundle import events as ev
from hark.diff.order import Effort
from hark.report import beside as laid
from hark.report.facts import Step
from tests.hark.report.story import events, made


def steps(keys: str) -> list[Step]:
    return [Step(at, at, key, key) for at, key in enumerate(keys)]


def test_what_both_did_stands_together_and_what_one_did_alone() -> None:
    rows = laid.rows(steps("abcxd"), steps("abcd"), Effort())
    assert [("".join(one.key for one in row.left), row.same) for row in rows] == [
        ("abc", True),
        ("x", False),
        ("d", True),
    ]
    assert [row.same for row in laid.rows(steps("ab"), steps("ab"), Effort())] == [True]


def test_many_steps_that_are_much_alike_are_aligned_to_their_end() -> None:
    """Half of them are the same, as answers often are; difflib takes minutes for that."""
    ours = [Step(at, at, "same" if at % 2 else f"ours {at}", "") for at in range(20_000)]
    theirs = [Step(at, at, "same" if at % 2 else f"theirs {at}", "") for at in range(20_000)]
    rows = laid.rows(ours, theirs, Effort())
    assert sum(len(row.left) for row in rows if row.same) == 10_000
    assert [one.seq for row in rows for one in row.left] == list(range(20_000))
    assert [one.seq for row in rows for one in row.right] == list(range(20_000))


def test_more_differences_than_a_page_shows_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, fork = made(tmp_path / "run.hark").facts, made(tmp_path / "f.hark", *events(obeys=False)).facts
    monkeypatch.setattr(laid, "MAX_CHANGED", 1)
    page = laid.beside(fork, run, "f", "r", (b"", b""))
    assert page.count('<div class="changed">') == 1
    assert "the first 1 times" in page


def test_a_denial_of_one_alone_is_named(tmp_path: Path) -> None:
    run = made(tmp_path / "run.hark").facts
    fork = made(tmp_path / "fork.hark", *events(obeys=False)).facts
    page = laid.beside(run, fork, "run.hark", "fork.hark", (b"", b""))
    assert "Denied here and not in fork.hark: collect.evil.example." in page
    assert "Denied" not in laid.beside(fork, fork, "a", "b", (b"", b""))


def test_a_parent_is_confirmed_by_its_root_and_else_a_claim(tmp_path: Path) -> None:
    run = made(tmp_path / "run.hark").facts
    fork = made(tmp_path / "fork.hark", ev.Branch(b"p" * 32, 4, "response", exchange=1)).facts
    confirmed = "is a fork of the other, confirmed by its root"
    assert f"The left run {confirmed}: live from its event 4 on" in laid.beside(
        fork, run, "f", "r", (b"", b"p" * 32)
    )
    assert f"The right run {confirmed}" in laid.beside(run, fork, "r", "f", (b"p" * 32, b""))
    other = laid.beside(fork, run, "f", "r", (b"p" * 32, b"q" * 32))
    assert "confirmed" not in other
    assert f"The left run claims to be a fork of the bundle with root {'70' * 32}" in other


def test_a_fork_shows_what_was_patched_and_what_came_of_it(tmp_path: Path) -> None:
    run = made(tmp_path / "run.hark").facts
    patch = b'{"replace": "<a text>", "with": "another"}'
    branch = ev.Branch(b"p" * 32, 4, "response", patch=patch, exchange=1)
    fork = made(tmp_path / "fork.hark", branch, *events(obeys=False)).facts
    of_fork = laid.beside(fork, run, "fork.hark", "run.hark", (b"q" * 32, b"p" * 32))
    of_run = laid.beside(run, fork, "run.hark", "fork.hark", (b"p" * 32, b"q" * 32))
    for page in (of_fork, of_run):
        assert "<del>&lt;a text&gt;</del> → <ins>another</ins>" in page
        assert "<del>run.hark</del> <ins>fork.hark</ins>" in page
        assert '<div class="changed">' in page
    same = laid.beside(run, run, "a", "b", (b"p" * 32, b"p" * 32))
    assert '<div class="changed">' not in same
