"""Paths that git reads are followed as they stand there, without hark's own place or any link."""

from pathlib import Path

import pytest

from hark.plan.ways import gitfile, link_on, straight, text_of


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("a")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "real"),
    [
        ("b", "a/b"),
        ("./b//../b/", "a/b"),
        ("..", ""),
        ("../new/deep", "new/deep"),
        ("../file", "file"),
        ("../new/../a", None),
        ("../file/../a", None),
        ("../file/x", None),
        ("../link/b", None),
        ("../link", None),
        ("/proc/self/cwd", None),
        ("/dev/fd/0", None),
        ("b\0c", None),
        ("x" * 5000, None),
    ],
)
def test_a_path_is_followed_where_no_link_lies_on_it(tree: Path, name: str, real: str | None) -> None:
    expected = None if real is None else str(tree / real)
    assert straight(f"{tree}/a", name) == expected
    if name[0] != "/":
        assert straight("/", f"{tree}/a/{name}") == expected


def test_the_root_has_no_parent() -> None:
    assert straight("/", "../..") == "/"
    assert straight("/usr", "../../etc") == "/etc"


def test_the_first_link_on_a_path_below_the_root_is_found(tree: Path) -> None:
    assert link_on(str(tree), f"{tree}/link/b/c") == f"{tree}/link"
    assert link_on(str(tree), f"{tree}/a/b/c") is None
    assert link_on(f"{tree}/a", f"{tree}/link/b") is None


def test_a_file_that_leads_elsewhere_is_one_line_as_git_writes_it() -> None:
    assert gitfile("gitdir: ../x y\r\n") == "../x y"
    assert [gitfile(text) for text in ("gitdir: a\nb", "gitdir: a\0", "gitdir:a", "")] == [None] * 4


def test_what_is_no_small_file_has_a_text_that_is_no_configuration(tree: Path) -> None:
    assert text_of(f"{tree}/file") == "x"
    assert {text_of(f"{tree}/{name}") for name in ("a", "link", "gone")} == {"\0"}
