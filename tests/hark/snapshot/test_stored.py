"""Manifest and copy as events and back."""

from pathlib import Path

import pytest

from hark.bundle.events import FsManifest, ShimReport, Snapshot, decode_exactly, encode, kind_of
from hark.errors import BundleError
from hark.snapshot import stored as module
from hark.snapshot.stored import events_of, put_together
from tests.hark.snapshot import trees


def test_what_goes_on_the_record_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = trees.collected(trees.made(tmp_path))
    assert found.kept is not None
    monkeypatch.setattr(module, "PART", 100)
    monkeypatch.setattr(module, "_ENTRIES", 2)
    events = list(events_of(found, "/p"))
    assert [decode_exactly(kind_of(event), encode(event)) for event in events] == events
    assert all(len(encode(event)) < 400 for event in events)
    parts = [event for event in events if isinstance(event, Snapshot)]
    assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]
    back = put_together(events, "/p")
    assert back.data == found.kept.data
    assert back.hash == found.kept.hash
    assert back.entries["odd\\xff\\\\name"] == found.entries[b"odd\xff\\name"]
    assert (len(back.entries), len(back.left_out)) == (len(found.entries), len(found.left_out))


def test_an_empty_project_has_a_manifest(tmp_path: Path):
    events = list(events_of(trees.collected(tmp_path), "/p"))
    assert events[0] == FsManifest(root="/p")
    assert isinstance(events[1], Snapshot)


def test_why_there_is_no_copy_is_on_the_record(tmp_path: Path):
    (tmp_path / "f").write_text("text")
    events = list(events_of(trees.collected(tmp_path, 1), "/p"))
    assert events[-1] == ShimReport("files", "a copy of the project", "it has 4 bytes, more than 1")
    assert put_together(events, "/p").hash == b""


def test_manifests_of_other_roots_are_none_of_the_projects():
    others = [FsManifest({"/bin/sh": bytes(32)}, "programs"), Snapshot("other", bytes(32), 5, b"x")]
    assert put_together(others, "/p") == ({}, {}, b"", b"")


def test_parts_out_of_place_are_refused():
    one, two = bytes(32), b"\1" * 32
    for parts in (
        [Snapshot("project", one, 1, b"x", last=True)],
        [Snapshot("project", one, 0, b"x")],
        [Snapshot("project", one, 0, b"x"), Snapshot("project", two, 1, b"y", last=True)],
        [Snapshot("project", one, 0, b"x", last=True), Snapshot("project", one, 1, b"y", last=True)],
        [Snapshot("project", one, 0, b"x"), Snapshot("project", one, 2, b"y", last=True)],
        [Snapshot("project", b"", 0, b"x", last=True)],
    ):
        with pytest.raises(BundleError, match="snapshot"):
            put_together(parts, "/p")
    good = [Snapshot("project", one, 0, b"x"), Snapshot("project", one, 1, b"y", last=True)]
    assert put_together(good, "/p").data == b"xy"
