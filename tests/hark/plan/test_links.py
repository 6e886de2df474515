"""Links in repositories are known by where they lead."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hark.plan.disarming import disarm
from hark.plan.links import links_of, way_through
from hark.plan.project import survey
from hark.running.left import made_in
from tests.hark.plan.test_disarming import git


def of_ones_own(tree: Path) -> None:
    """Lay the links that people have: hooks that are versioned, what a second work tree shares."""
    for place in (tree / "githooks", tree.parent / "main" / "logs", tree / "notes"):
        place.mkdir(parents=True)
    (tree / "notes" / "own").symlink_to("..")
    git(tree, "init", "-q", "-b", "main")
    for name in ("hooks", "logs"):
        if (tree / ".git" / name).exists():
            os.rename(tree / ".git" / name, tree.parent / f"of-git-{name}")
    (tree / ".git" / "hooks").symlink_to("../githooks")
    (tree / ".git" / "logs").symlink_to(tree.parent / "main" / "logs")
    (tree / ".git" / "notes").symlink_to("../notes")
    git(tree, "commit", "-q", "--allow-empty", "-m", "x")


def test_links_that_were_there_stay_however_new_they_are(tmp_path: Path) -> None:
    tree = tmp_path / "project"
    of_ones_own(tree)
    for _ in range(2):
        surveyed = survey(str(tree), "/nowhere", (), ())
        git(tree, "commit", "-q", "--allow-empty", "-m", "y")
        assert disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere") == []


def another(tree: Path) -> str:
    (tree / ".git" / "notes").unlink()
    (tree / ".git" / "notes").symlink_to(tree.parent / "elsewhere")
    return "notes"


def further(tree: Path) -> str:
    os.rename(tree / "notes", tree / "other")
    (tree / "notes").symlink_to(tree.parent / "elsewhere")
    return "notes"


def below(tree: Path) -> str:
    (tree / "notes" / "deep").mkdir()
    (tree / "notes" / "deep" / "main").symlink_to(tree.parent / "elsewhere")
    return "notes"


@pytest.mark.parametrize("change", [another, further, below])
def test_a_link_that_leads_elsewhere_now_is_put_aside(tmp_path: Path, change: Callable[[Path], str]) -> None:
    tree = tmp_path / "project"
    of_ones_own(tree)
    surveyed = survey(str(tree), "/nowhere", (), ())
    name = change(tree)
    found = [one.path for one in disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")]
    assert found == [f"{tree}/.git/{name}"]


@pytest.mark.parametrize("safe", [True, False], ids=["disarmed", "control: as it was left"])
def test_a_folder_with_an_old_link_that_is_moved_into_a_repository_is_not_written_through(
    tmp_path: Path, safe: bool
) -> None:
    """The control is git, which writes names and messages of the agent's to any file."""
    tree, written = tmp_path / "project", tmp_path / "written"
    (tree / "old").mkdir(parents=True)
    (tree / "old" / "HEAD").symlink_to(written)
    git(tree, "init", "-q", "-b", "main")
    git(tree, "commit", "-q", "--allow-empty", "-m", "x")
    time.sleep(1.1)  # what has changed within a second before counts as new by its time too
    surveyed = survey(str(tree), "/nowhere", (), ())
    os.rename(tree / ".git" / "logs", tree / "logs")
    os.rename(tree / "old", tree / ".git" / "logs")
    if safe:
        found = [one.path for one in disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")]
        assert found == [f"{tree}/.git/logs/HEAD"]
    git(tree, "commit", "-q", "--allow-empty", "-m", "y")
    assert written.exists() is not safe


def test_a_link_is_known_by_what_it_says_and_leads_to(tmp_path: Path) -> None:
    (tmp_path / ".git" / "modules" / "a").mkdir(parents=True)
    for name in ("x", "modules/a/y"):
        (tmp_path / ".git" / name).symlink_to("nowhere")
    names = [f"{tmp_path}/.git", f"{tmp_path}/.git/modules/a", f"{tmp_path}/gone"]
    assert links_of(names) == {
        f"{names[0]}/x": way_through(f"{names[0]}/x"),
        f"{names[1]}/y": way_through(f"{names[1]}/y"),
    }
    assert way_through(names[0]) == ""
    assert way_through(f"{names[0]}/x") == f"nowhere\0{names[0]}/nowhere"
