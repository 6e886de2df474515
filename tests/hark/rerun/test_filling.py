"""The copy of the caller's directory is as the run began, and says what it had to set back."""

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from blake3 import blake3

from hark.bundle import events as ev
from hark.errors import ReplayError
from hark.rerun import filling, throwaway
from hark.rerun.lending import lender
from hark.rerun.recalled import recall
from tests.support.recordings import PROJECT, bundle

MADE = ev.FileResult("out.txt", stat.S_IFREG | 0o644, blake3(b"out").digest())
CHANGED = ev.FileResult("notes.txt", stat.S_IFREG | 0o644, blake3(b"after").digest())
MANIFEST = ev.FsManifest({"notes.txt": blake3(b"before").digest()}, PROJECT)


def filled(tmp_path: Path, *events: Any, workdir: bool = True) -> SimpleNamespace:
    """Fill a copy from a directory with both files as the run left them."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "out.txt").write_text("out")
    (mine / "notes.txt").write_text("after")
    environ = {"HOME": str(tmp_path / "home")}
    recalled = recall(bundle(tmp_path / "run.hark", *events))
    with throwaway.folders(None, environ) as folders:
        giver = lender(str(mine), environ) if workdir else None
        notes = filling.fill(recalled, str(mine) if workdir else None, giver, folders, 1 << 20)
        return SimpleNamespace(
            notes=notes, there=sorted(path.name for path in Path(folders.project).iterdir())
        )


def test_what_the_run_made_is_not_in_the_copy(tmp_path: Path) -> None:
    found = filled(tmp_path, MANIFEST, MADE)
    assert found.there == ["notes.txt"]
    assert found.notes == (
        "as the run left it, and so set back in the copy to what it began with: out.txt",
        "not as recorded: notes.txt differs",
    )
    assert (tmp_path / "mine" / "out.txt").exists(), "the caller's own stays"


def test_what_it_changed_is_named_where_the_bundle_has_no_copy(tmp_path: Path) -> None:
    found = filled(tmp_path, MANIFEST, CHANGED)
    assert "the bundle has no copy of what it began with: notes.txt; name a directory" in found.notes[0]
    assert found.there == ["notes.txt", "out.txt"]


def test_without_a_copy_or_a_directory_there_is_nothing_to_begin_with(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match=r"bundle \(1 file\); name yours with -workdir DIR"):
        filled(tmp_path, MANIFEST, workdir=False)
