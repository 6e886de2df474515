"""Patterns match whole texts, in time that an agent cannot draw out."""

import pytest

from hark.policy.patterns import finds, matches_whole, wrong_expression


@pytest.mark.parametrize(
    ("pattern", "text", "whole"),
    [
        ("/data/.*", "/data/a", True),
        ("/data/.*", "x/data/a", False),
        ("/data/[a-z]+\\.txt", "/data/b.txt", True),
        ("/data/[a-z]+\\.txt", "/data/b.txt\n", False),
        ("/data/[^/]*", "/data/é€😀", True),
        (".", "\ud800", False),
        ("a|ab", "ab", True),
        ("(?i)yes", "YES", True),
        (".*", "a\nb", False),
        ("\\d+", "٣", False),
    ],
)
def test_a_pattern_matches_the_whole_text_or_not(pattern: str, text: str, whole: bool) -> None:
    assert wrong_expression(pattern) is None
    assert matches_whole(pattern, text) is whole


@pytest.mark.parametrize("pattern", ["([a-z]+/?)+\\.txt", "(a|a)*b", ".*/a/.*/a/.*/a/.*x", "(.*)*\n"])
def test_no_text_takes_for_ever(pattern: str) -> None:
    """By Python's own expressions each of these takes years, and no other thread runs meanwhile."""
    assert not matches_whole(pattern, "a" * 65_000)
    assert not matches_whole(pattern, "/a/" * 21_000)


@pytest.mark.parametrize("pattern", ["(", "(?=a)", "(a)\\1", "a{2000}", "\ud800", "[z-a]"])
def test_a_pattern_that_cannot_be_used_says_why_and_nothing_is_printed(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert wrong_expression(pattern)
    assert capfd.readouterr() == ("", "")


def test_a_pattern_is_found_anywhere_or_not_at_all() -> None:
    assert finds("b+", "abbc")
    assert not finds("^b", "abbc")
    assert finds("a", "\ud800a")
