"""What a replay may write is made for it and taken away, and nothing else is touched."""

import os
from pathlib import Path

import pytest

from hark.errors import UsageError
from hark.rerun import throwaway


def environ(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder / "home")}


def test_the_folders_are_gone_afterwards_whatever_was_left_in_them(tmp_path: Path) -> None:
    with throwaway.folders(None, environ(tmp_path)) as made:
        root = Path(made.project).parent
        deep = Path(made.project) / "a/b"
        deep.mkdir(parents=True)
        (deep / "file").write_text("x")
        deep.chmod(0)
        deep.parent.chmod(0)
        assert os.listdir(made.empty()) == []
        assert made.empty() != made.empty()
    assert not root.exists()


def test_what_a_link_leads_to_is_neither_removed_nor_opened_up(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "file").write_text("x")
    mine.chmod(0o500)
    with throwaway.folders(None, environ(tmp_path)) as made:
        (Path(made.project) / "out").symlink_to(mine)
    assert (mine / "file").read_text() == "x"
    assert mine.stat().st_mode & 0o777 == 0o500


def test_a_copy_that_is_kept_stays_and_the_rest_goes(tmp_path: Path) -> None:
    with throwaway.folders(str(tmp_path / "kept"), environ(tmp_path)) as made:
        (Path(made.project) / "result").write_text("x")
        beside = made.empty()
    assert (tmp_path / "kept/result").read_text() == "x"
    assert not os.path.exists(beside)


@pytest.mark.parametrize("name", ["there", "nowhere/kept"])
def test_a_place_to_keep_it_is_new_and_can_be_made(tmp_path: Path, name: str) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError), throwaway.folders(str(tmp_path / name), environ(tmp_path)):
        pass
    assert os.listdir(tmp_path) == ["there"]


def test_a_copy_has_links_as_links_and_nothing_special(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "sub").mkdir(parents=True)
    target.mkdir()
    (source / "sub/run.sh").write_text("#!/bin/sh\n")
    (source / "sub/run.sh").chmod(0o755)
    (source / "out").symlink_to("/etc/shadow")
    os.mkfifo(source / "pipe")
    throwaway.copy_tree(str(source), str(target))
    assert sorted(os.listdir(target)) == ["out", "sub"]
    assert os.readlink(target / "out") == "/etc/shadow"
    assert (target / "sub/run.sh").stat().st_mode & 0o777 == 0o755


def test_a_copy_is_made_without_what_is_named(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "sub").mkdir(parents=True)
    target.mkdir()
    for name in ("a", "sub/a", "sub/b"):
        (source / name).write_text("x")
    throwaway.copy_tree(str(source), str(target), frozenset((f"{source}/sub/a",)))
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*")) == ["a", "sub", "sub/b"]
