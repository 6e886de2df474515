"""What has appeared in git's own folders is found; more of what is found by name is in test_project.py."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hark.plan import project
from hark.plan.appeared import made_since


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".git" / "old").symlink_to("x")
    repository(tmp_path / ".git" / "kept")
    return tmp_path


def repository(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("HEAD", "objects", "refs"):
        (folder / name).touch()


def known(tree: Path) -> project.Project:
    """As if what is there had been for a while."""
    found = project.survey(str(tree), "/nowhere", (), ())
    return replace(found, surveyed_at=found.surveyed_at + 2 * project._MARGIN_NS)


def later(found: project.Project) -> project.Project:
    return replace(found, surveyed_at=found.surveyed_at - 4 * project._MARGIN_NS)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (".git/objects/evil", "HEAD"),
        (".git/modules/a", ""),
        (".git/deep/er/.git", ""),
        ("node_modules/x/.git", ""),
        ("node_modules/x/.git/objects/evil", "HEAD"),
    ],
)
def test_a_repository_is_found_wherever_it_is_hidden(tree: Path, name: str, found: str) -> None:
    before = known(tree)
    repository(tree / name)
    assert str(tree / name / found) in made_since(later(before))
    (control,) = [one for one in before.repositories if one.endswith("/.git")]
    assert control not in made_since(later(before))


def test_what_was_there_is_not_found(tree: Path) -> None:
    assert made_since(known(tree)) == {}


def test_links_in_a_repository_are_found_but_for_the_head_that_old_versions_made(tree: Path) -> None:
    before = later(known(tree))
    (tree / ".git" / "old").unlink()
    git = tree / ".git"
    (git / "HEAD").unlink()
    (git / "HEAD").symlink_to("refs/heads/main")
    (git / "logs").mkdir()
    for name in ("logs/HEAD", "FETCH_HEAD", "refs/heads/x"):
        (git / name).symlink_to("refs/heads/main")
    found = {path for path in made_since(before) if "kept" not in path}
    assert found == {f"{git}/{name}" for name in ("logs/HEAD", "FETCH_HEAD", "refs/heads/x")}
    (git / "HEAD").unlink()
    (git / "HEAD").symlink_to("refs/../../x")
    assert f"{git}/HEAD" in made_since(before)


def test_a_repository_among_packages_that_is_written_in_its_place_is_found(tree: Path) -> None:
    git = tree / "node_modules" / "x" / ".git"
    repository(git)
    (git / "index").write_text("x")
    before = known(tree)
    assert made_since(before) == {}
    assert str(git) in made_since(later(before))


def test_a_repository_below_git_whose_head_is_a_link_is_found(tree: Path) -> None:
    before = known(tree)
    repository(tree / ".git" / "objects" / "evil")
    (tree / ".git" / "objects" / "evil" / "HEAD").unlink()
    (tree / ".git" / "objects" / "evil" / "HEAD").symlink_to("refs/heads/main")
    assert f"{tree}/.git/objects/evil/HEAD" in made_since(later(before))
