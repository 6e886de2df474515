"""Looking through a tree."""

import os
from pathlib import Path

import pytest

from hark.snapshot import survey as module
from hark.snapshot.ignoring import Rules
from hark.snapshot.survey import Descent, survey
from tests.hark.snapshot import trees
from tests.support.apart import in_a_copy


def test_everything_is_found_or_named(tmp_path: Path):
    trees.made(tmp_path)
    found = survey(str(tmp_path), Rules(), {b".env", b"gone"})
    assert [folder.path for folder in found.folders] == [b"", b"empty", b"src"]
    assert [path for path, _ in found.files()] == [
        *(b".gitignore", b"dangling", b"link", b"odd\xff\\name", b"src/a.py", b"src/same.py", b"src/tool"),
    ]
    assert found.left_out == {
        b".env": "masked", b"x.log": "ignored by git", b"node_modules/": "ignored by git",
        b"pipe": "FIFO", b"socket": "socket",
    }  # fmt: skip


def test_a_masked_folder_is_told_from_a_file(tmp_path: Path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys/k").write_text("x")
    assert survey(str(tmp_path), Rules(), {b"keys"}).left_out == {b"keys/": "masked folder"}


def test_a_name_with_a_credential_is_not_named(tmp_path: Path):
    (tmp_path / "d-hunter2").mkdir()
    (tmp_path / "d-hunter2/x").write_text("x")
    (tmp_path / "f-hunter2").write_text("x")
    found = survey(str(tmp_path), Rules(), (), lambda data: "API" if b"hunter2" in data else None)
    assert found.left_out == {b"(a name)": "holds the value of secrets.API"}
    assert list(found.files()) == []


def test_rules_that_an_agent_writes_later_count_for_nothing(tmp_path: Path):
    before = survey(str(tmp_path), Rules(), ())
    (tmp_path / "made").write_text("x")
    (tmp_path / ".gitignore").write_text("*\n")
    after = survey(str(tmp_path), before.rules, (), learn=False)
    assert [path for path, _ in after.files()] == [b".gitignore", b"made"]
    assert list(survey(str(tmp_path), Rules(), ()).files()) == []


def test_git_is_looked_into_whatever_is_ignored(tmp_path: Path):
    (tmp_path / ".git/info").mkdir(parents=True)
    (tmp_path / ".git/info/exclude").write_text("*.tmp\n.git\n")
    (tmp_path / "a.tmp").write_text("x")
    found = survey(str(tmp_path), Rules(), ())
    assert [path for path, _ in found.files()] == [b".git/info/exclude"]
    assert found.left_out == {b"a.tmp": "ignored by git"}


def test_no_link_is_followed_out_of_the_tree(tmp_path: Path):
    (tmp_path / "p").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret").write_text("x")
    (tmp_path / "p/link").symlink_to(tmp_path / "out")
    assert [path for path, _ in survey(str(tmp_path / "p"), Rules(), ()).files()] == [b"link"]
    with Descent(str(tmp_path / "p")) as descent, pytest.raises(OSError, match="directory"):
        descent.folder(b"link")  # a folder that was replaced by a link since it was listed
    with Descent(str(tmp_path / "p")) as descent, pytest.raises(OSError, match="symbolic links"):
        descent.file(b"", b"link")


def test_too_deep_and_too_many_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_DEPTH", 3)
    os.makedirs(tmp_path / "a/b/c/d/e")
    assert survey(str(tmp_path), Rules(), ()).left_out == {b"a/b/c/d/": "too deep"}
    monkeypatch.setattr(module, "MAX_NAMES", 2)
    found = survey(str(tmp_path), Rules(), ())
    assert found.cut
    assert found.left_out == {b"a/b/": "too many files"}


def test_folders_are_opened_one_below_the_other(tmp_path: Path):
    os.makedirs(tmp_path / "a/b")
    os.makedirs(tmp_path / "ab")
    (tmp_path / "a/b/x").write_text("1")
    (tmp_path / "ab/x").write_text("2")

    def check() -> None:
        before = len(os.listdir("/proc/self/fd"))
        with Descent(str(tmp_path)) as descent:
            for folder, text in ((b"a/b", b"1"), (b"ab", b"2"), (b"a/b", b"1")):
                with open(descent.file(folder, b"x"), "rb") as file:
                    assert file.read() == text
            assert descent.folder(b"") == descent.folder(b"")
        assert len(os.listdir("/proc/self/fd")) == before

    in_a_copy(check)
