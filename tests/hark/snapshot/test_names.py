"""Paths as bytes and as text."""

import pytest

from hark.snapshot.names import below, is_inside, path_of, spelled


def test_no_two_paths_have_one_spelling():
    paths = [b"a\xff", b"a\\xff", b"a\\\\xff", b"a\xc3\xbf", b"a/\\", b"a/\n"]
    assert len({spelled(path) for path in paths}) == len(paths)
    assert spelled(b"src/a.py") == "src/a.py"
    assert spelled(b"a\\b\xff") == "a\\\\b\\xff"


def test_a_path_is_below_a_root_or_nowhere():
    assert below("/p", "/p/a/b/") == b"a/b"
    assert below("/p/", "/p/a") == b"a"
    assert below("/p", "/p") is None
    assert below("/p", "/pp/a") is None
    assert below("/p", "/p/\udcff") == b"\xff"


@pytest.mark.parametrize("path", [b"/a", b"a/../b", b"..", b".", b"a//b", b"a/", b"", b"a\0", b"x" * 256])
def test_what_would_lead_out_is_not_inside(path: bytes):
    assert not is_inside(path)


def test_ordinary_names_are_inside():
    assert all(is_inside(path) for path in (b"a", b"a/b", b"..a/...", b"\xff", b"x" * 255))


@pytest.mark.parametrize("path", [b"src/a.py", b"a\\b\xff", b"a\xc3\xbf", b"a/\\", b"\\x2e", b""])
def test_a_spelling_is_read_as_the_path_that_it_is_of(path):
    assert path_of(spelled(path)) == path


@pytest.mark.parametrize("text", ["a\\q", "a\\", "\\xg0"])
def test_what_no_path_is_spelled_as_is_none(text):
    assert path_of(text) is None
