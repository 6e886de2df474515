"""A tree is walked to its end, the nearest names first, or refused."""

import os
from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.plan.walk import PACKAGES, walk


def made(root: Path, *names: str) -> str:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return str(root)


def names(root: str, at_most: int = 100, **more: object) -> list[str]:
    found = walk(root, at_most=at_most, **more)  # type: ignore[arg-type]
    return [os.path.relpath(entry.path, root) for entry in found]


def test_every_name_is_yielded_the_nearest_first(tmp_path: Path) -> None:
    found = names(made(tmp_path, "a/b/c/deep", "a/near", "top"))
    assert sorted(found) == ["a", "a/b", "a/b/c", "a/b/c/deep", "a/near", "top"]
    depths = [name.count("/") for name in found]
    assert depths == sorted(depths)


@pytest.mark.parametrize("folder", [".git", *PACKAGES])
def test_of_repositories_and_packages_the_folder_alone_is(tmp_path: Path, folder: str) -> None:
    root = made(tmp_path, f"a/{folder}/HEAD")
    assert sorted(names(root)) == ["a", f"a/{folder}"]
    assert f"a/{folder}/HEAD" in names(root, unsearched=())


def test_what_is_granted_by_itself_is_named_and_not_walked_through(tmp_path: Path) -> None:
    root = made(tmp_path, "a/in", "b/in")
    assert sorted(names(root, without=frozenset({f"{root}/a"}))) == ["a", "b", "b/in"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    root = made(tmp_path, "a/in")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    assert sorted(names(root)) == ["a", "a/in", "a/up", "link"]


def test_a_tree_with_more_names_than_are_looked_at_is_refused(tmp_path: Path) -> None:
    root = made(tmp_path, "a/1", "a/2", "a/3")
    assert len(names(root, at_most=4)) == 4
    with pytest.raises(PolicyError, match="has more than 3 files"):
        names(root, at_most=3)


def test_what_cannot_be_listed_is_named(tmp_path: Path) -> None:
    unlisted: list[str] = []
    missing = str(tmp_path / "missing")
    assert names(missing, unlisted=unlisted) == []
    assert unlisted == [missing]
    assert names(missing) == []
