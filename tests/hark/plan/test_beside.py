"""The attack: git run later beside the project, in what was granted, runs nothing that an agent left."""

import os
import subprocess
from pathlib import Path

import pytest

from hark.plan import beside, project
from hark.plan.beside import surveyed
from hark.running.left import looked_through

WHO = ("-c", "user.name=x", "-c", "user.email=x@example.com")


def git(cwd: Path, *words: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {"HOME": "/nonexistent"}
    done = subprocess.run(
        ["git", *WHO, *words], cwd=cwd, capture_output=True, text=True, env=env, check=False
    )
    return done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project and a folder beside it, each with a repository."""
    for name in ("project", "granted/there"):
        (tmp_path / name).mkdir(parents=True)
        git(tmp_path / name, "init", "-q", "-b", "main")
        git(tmp_path / name, "commit", "-q", "--allow-empty", "-m", "x")
    git(tmp_path / "granted" / "there", "config", "alias.x", "!true")
    return tmp_path


def survey(tree: Path, *granted: str) -> project.Project:
    known = project.survey(str(tree / "project"), "/nowhere", (), ())
    return surveyed(known, [str(tree / name) for name in granted], "/nowhere")


def evil(folder: Path, ran: Path) -> None:
    git(folder.parent, "init", "-q", folder.name)
    git(folder, "config", "core.fsmonitor", f"touch {ran}; false")


def aside(known: project.Project) -> set[str]:
    left = looked_through(known, (), "/nowhere")
    assert all(one.now for one in left.aside)
    return {one.path for one in left.aside}


def test_what_git_obeys_in_a_repository_there_is_kept_from_the_agent_and_nothing_else(tree: Path) -> None:
    for name in (".env", "CLAUDE.md", ".vscode"):
        (tree / "granted" / name).write_text("x")
    (one,) = survey(tree, "granted").beside
    there = f"{tree}/granted/there/.git"
    assert set(one.protected) == {f"{there}/{name}" for name in ("hooks", "config", "info", "branches")}
    assert one.masked == ()
    assert f"{there}/commondir" in one.watched
    (tree / "granted" / "new").mkdir()
    (tree / "granted" / "new" / "CLAUDE.md").write_text("x")
    assert looked_through(survey(tree, "granted"), (), "/nowhere").made == {}


@pytest.mark.parametrize("safe", [True, False], ids=["looked through", "control: the project alone"])
def test_git_run_later_executes_nothing_that_was_planted_there(tree: Path, safe: bool) -> None:
    known = survey(tree, "granted") if safe else survey(tree)
    ran = [tree / "ran1", tree / "ran2"]
    evil(tree / "granted" / "made", ran[0])
    (tree / "granted" / "there" / ".git" / "commondir").write_text("../../made/.git\n")
    evil(tree / "granted" / "other", ran[1])
    os.rename(tree / "granted" / "other" / ".git", tree / "granted" / "there" / ".git" / "objects" / "evil")
    (tree / "granted" / "other" / ".git").write_text(f"gitdir: {tree}/granted/there/.git/objects/evil\n")
    done = aside(known)
    assert bool(done) is safe
    for name in ("made", "there", "other"):
        git(tree / "granted" / name, "status")
    assert [one.exists() for one in ran] == [not safe] * 2
    assert ("!true" in git(tree / "granted" / "there", "config", "--list")) is safe


def test_a_way_of_the_project_into_a_granted_folder_stays_where_that_is_looked_through(tree: Path) -> None:
    known = survey(tree, "granted")
    git(tree / "project", "worktree", "add", "-q", "../granted/wt")
    evil(tree / "granted" / "made", tree / "ran")
    (tree / "project" / "sub").mkdir()
    (tree / "project" / "sub" / ".git").write_text(f"gitdir: {tree}/granted/made/.git\n")
    assert aside(known) == {f"{tree}/granted/made/.git/config"}
    git(tree / "project" / "sub", "status")
    assert not (tree / "ran").exists()
    assert "later" in git(tree / "granted" / "wt", "commit", "--allow-empty", "-m", "later")


def test_a_known_repository_beside_that_something_leads_to_stays_as_it_was(tree: Path) -> None:
    known = survey(tree, "granted")
    (tree / "project" / "sub").mkdir()
    (tree / "project" / "sub" / ".git").write_text(f"gitdir: {tree}/granted/there/.git\n")
    assert aside(known) == set()


def test_a_folder_that_is_too_large_is_said_and_nothing_may_lead_there(tree: Path, monkeypatch) -> None:
    monkeypatch.setattr(beside, "MAX_NAMES", 0)
    known = survey(tree, "granted")
    assert known.beside == ()
    (tree / "project" / "sub").mkdir()
    (tree / "project" / "sub" / ".git").write_text(f"gitdir: {tree}/granted/there/.git\n")
    left = looked_through(known, (), "/nowhere")
    assert left.unsearched == f"{tree}/granted is too large to be searched for repositories"
    assert [one.path for one in left.aside] == [f"{tree}/project/sub/.git"]


def test_a_grant_above_the_project_leaves_the_project_to_itself(tree: Path) -> None:
    known = survey(tree, ".")
    (one,) = known.beside
    assert not any("/project/" in path for path in one.watched)
    evil(tree / "project" / "made", tree / "ran")
    known = survey(tree, ".")
    assert looked_through(known, ("made/.git",), "/nowhere").made == {}


@pytest.mark.parametrize("name", ["granted/there/.git/hooks", "granted/there/.git/config"])
def test_what_is_granted_by_itself_is_left_as_the_grant_says(tree: Path, name: str) -> None:
    (one, *_) = survey(tree, "granted", name).beside
    assert f"{tree}/{name}" not in (*one.protected, *one.watched)
    (control,) = survey(tree, "granted").beside
    assert f"{tree}/{name}" in control.protected


def test_a_repositorys_own_folder_may_be_what_is_granted(tree: Path) -> None:
    known = survey(tree, "granted/there/.git")
    (one,) = known.beside
    assert f"{tree}/granted/there/.git/config" in one.protected
    (tree / "granted" / "there" / ".git" / "commondir").write_text("x\n")
    (tree / "granted" / "there" / ".git" / "FETCH_HEAD").symlink_to(tree / "written")
    found = aside(known)
    assert found == {f"{tree}/granted/there/.git/{name}" for name in ("commondir", "FETCH_HEAD")}


def test_a_grant_in_the_project_and_one_of_a_file_are_not_searched(tree: Path) -> None:
    (tree / "file").write_text("x")
    assert survey(tree, "project/.git", "file").beside == ()
