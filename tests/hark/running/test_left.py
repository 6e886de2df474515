"""What a run leaves is looked through to the end: folders that cannot be listed, and too many files."""

import os
import subprocess
from pathlib import Path

import pytest

from hark.plan import appeared, project
from hark.plan.project import survey
from hark.running.left import Left, looked_through


def surveyed(root: Path) -> project.Project:
    subprocess.run(["git", "init", "-q", root], check=True)
    return survey(str(root), "/nowhere", (), ())


def planted(folder: Path) -> str:
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / ".git" / "config").write_text("[core]\nfsmonitor = false\n")
    return str(folder / ".git" / "config")


def test_folders_within_folders_that_cannot_be_listed_are_looked_into(tmp_path: Path) -> None:
    known = surveyed(tmp_path)
    config = planted(tmp_path / "a" / "b")
    for folder in (tmp_path / "a" / "b", tmp_path / "a"):
        folder.chmod(0o311)
    left = looked_through(known, (), "/nowhere")
    assert [one.path for one in left.aside] == [config]
    assert not os.path.exists(config)


def test_a_folder_that_nobody_could_list_before_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o311)
    (tmp_path / "mine").chmod(0o311)
    assert looked_through(surveyed(tmp_path), (), "/nowhere").aside == ()
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o311


def test_where_there_is_too_much_to_look_through_that_is_said_and_the_known_repository_is_kept(
    tmp_path: Path, monkeypatch
) -> None:
    known = surveyed(tmp_path)
    (tmp_path / ".git" / "commondir").write_text("../x\n")
    (tmp_path / "a").mkdir()
    monkeypatch.setattr(appeared, "MAX_ROOM", 0)
    left = looked_through(known, (), "/nowhere")
    said = f"{tmp_path} has too many folders for that; look before you run git there"
    assert left.unsearched.split("; /")[0] == said
    assert [one.path for one in left.aside] == [f"{tmp_path}/.git/commondir"]


def test_what_lies_nearer_than_what_there_is_no_room_for_is_put_aside(tmp_path: Path, monkeypatch) -> None:
    known = surveyed(tmp_path)
    near, far = planted(tmp_path / "a"), planted(tmp_path / "a" / "b" / "c")
    monkeypatch.setattr(appeared, "MAX_ROOM", 2 * len(f"{tmp_path}/a") + 150)
    left = looked_through(known, (), "/nowhere")
    assert left.unsearched
    assert [one.path for one in left.aside] == [near]
    assert os.path.exists(far)


@pytest.mark.parametrize("crowded", ["z", "node_modules/z", "a", "a/b"])
def test_however_many_names_there_are_what_git_would_obey_is_found(
    tmp_path: Path, monkeypatch, crowded: str
) -> None:
    known = surveyed(tmp_path)
    top = "node_modules" if crowded.startswith("node_modules") else "."
    config = planted(tmp_path / top / "a" / "b")
    (tmp_path / crowded).mkdir(exist_ok=True)
    for number in range(50):
        (tmp_path / crowded / str(number)).touch()
    monkeypatch.setattr(project, "MAX_ENTRIES", 10)
    left = looked_through(known, (), "/nowhere")
    assert [one.path for one in left.aside] == [config]
    assert not left.unsearched


def test_the_control_nothing_made_leaves_nothing_to_say(tmp_path: Path) -> None:
    assert looked_through(surveyed(tmp_path), (), "/nowhere") == Left()
