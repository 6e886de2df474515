"""Texts made of escapes are searched up to a bound, and all others without one."""

import os
from pathlib import Path

import pytest

from hark.bundle.events import ShimReport
from hark.policy.model import SnapshotRules
from hark.snapshot import weighed
from hark.snapshot.collect import LeftOutError, collect
from hark.snapshot.results import results
from hark.snapshot.weighed import TOO_DENSE, Weighed

ESCAPES = b"%73%6b&#x2d;\\u0072\n" * 1000


def finds(data: bytes) -> str | None:
    return "KEY" if b"value" in data else None


def test_what_is_found_and_what_is_not_are_as_without_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighed, "MAX_DENSE", 2 * len(ESCAPES))
    search = Weighed(finds)
    assert search(b"a value") == "KEY"
    assert search(b"") is None
    assert search(ESCAPES) is None
    assert search(ESCAPES[:-5] + b"value") == "KEY"


def test_beyond_the_bound_escapes_are_left_out_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(weighed, "MAX_DENSE", 2 * len(ESCAPES))
    search = Weighed(finds)
    assert [search(ESCAPES), search(ESCAPES)] == [None, None]
    with pytest.raises(LeftOutError, match="made of escapes"):
        search(ESCAPES)
    assert search(b"100 % of a plain text with a value" * 1000) == "KEY"


def test_a_project_of_escapes_is_recorded_but_for_what_is_beyond_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weighed, "MAX_DENSE", 3 * len(ESCAPES))
    (tmp_path / "a").write_bytes(ESCAPES)
    (tmp_path / "b").write_bytes(b"plain")
    search = Weighed(finds)
    before = collect(os.fspath(tmp_path), SnapshotRules(), (), search)
    assert set(before.entries) >= {b"a", b"b"}
    for name in "cdefgh":
        (tmp_path / name).write_bytes(ESCAPES)
    changed, told = set[str](), dict[str, str]()
    for event in results(os.fspath(tmp_path), before, (), search):
        if isinstance(event, ShimReport):
            told[event.what] = event.why
        else:
            changed.add(event.path)
    assert "c" in changed
    assert told["h"] == TOO_DENSE
    assert changed | told.keys() == set("cdefgh")
