"""A path lies in another by whole names."""

from hark.places import contains, expanded, within


def test_containment_goes_by_names_and_not_by_letters() -> None:
    assert contains("/a/b", "/a/b/c")
    assert contains("/a/b", "/a/b")
    assert not contains("/a/b", "/a/bc")
    assert not contains("/a/b", "/a")


def test_the_root_and_a_slash_at_the_end_contain_what_lies_below() -> None:
    assert contains("/", "/a")
    assert contains("/a/", "/a/b")


def test_one_root_that_contains_a_path_is_enough_and_none_is_not() -> None:
    assert within("/a/b", ("/c", "/a"))
    assert not within("/a/b", ("/c", "/a/b/d"))
    assert not within("/a/b", ())


def test_a_tilde_in_front_is_the_home_directory_and_anywhere_else_a_name() -> None:
    assert expanded("~", "/home/u") == "/home/u"
    assert expanded("~/a", "/home/u") == "/home/u/a"
    assert [expanded(path, "/home/u") for path in ("~other/a", "/a/~", "a")] == ["~other/a", "/a/~", "a"]
