"""One spelling of a path, or none: what servers read in two ways is never compared with a pattern."""

import re
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hark.policy.paths import Ambiguous, Spelled, matches, spell, wrong_pattern

PUBLIC = "/public/**"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/", "/"),
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b/"),
        ("/a?x=//../%2f", "/a"),
        ("/%61%2D%7e", "/a-~"),
        ("/a%20b%3d%C3%a9", "/a%20b%3D%C3%A9"),
        ("/a;v=1/b", "/a;v=1/b"),
        ("/.well-known/x", "/.well-known/x"),
        ("/a..b/...c", "/a..b/...c"),
        ("/A", "/A"),
        ("/50%25", "/50%25"),
    ],
)
def test_a_path_that_everybody_reads_alike_has_one_spelling(target, path):
    assert spell(target) == Spelled(path)


@pytest.mark.parametrize(
    "target",
    [
        "/public/../secret",
        "/public/..%2fsecret",
        "/public/%2e%2e/secret",
        "/public/.%2E/secret",
        "/public/%2e/x",
        "/public/..",
        "/public/..;/secret",
        "/public/..;x=1/secret",
        "/public/..%3b/secret",
        "/public/;/secret",
        "/public/%252e%252e/secret",
        "/public/%252fsecret",
        "/public//secret",
        "//public/x",
        "/public/..\\secret",
        "/public/..%5csecret",
        "/public/.../x",
        "/public/..%20/secret",
        "/public/%c0%ae%c0%ae/secret",
        "/public/%ef%bc%8e%ef%bc%8e/secret",
        "/public%ef%bc%8fsecret",
        "/public/%00",
        "/public/%0d%0a",
        "/public/%2",
        "/public/%zz",
        "/public/x#y",
        "/public/\x00",
        "/public/\u00e9",
        "/public/ x",
        "http://api.example/public/x",
        "*",
        "",
        "public/x",
        "?x",
    ],
)
def test_a_path_that_servers_read_in_two_ways_has_none(target):
    assert isinstance(spell(target), Ambiguous)


def test_without_that_refusal_a_pattern_would_let_the_dot_segments_through():
    assert matches(PUBLIC, Spelled("/public/../secret"))
    assert not matches(PUBLIC, Spelled("/secret"))


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/", "/", True),
        ("/v1/chat", "/v1/chat", True),
        ("/v1/chat", "/v1/chat/", False),
        ("/v1/chat", "/v1/Chat", False),
        ("/repos/*/issues", "/repos/x/issues", True),
        ("/repos/*/issues", "/repos/x/y/issues", False),
        ("/repos/**/issues", "/repos/x/y/issues", True),
        ("/repos/**", "/repos", False),
        ("/repos/**", "/repos/", True),
        ("/**", "/", True),
        ("/a*c", "/abc", True),
        ("/a*c", "/a/c", False),
        ("/a**c", "/a/c", True),
        ("/%61", "/a", True),
        ("/a.c", "/abc", False),
        ("/*", "/%2A", True),
    ],
)
def test_a_pattern_matches_whole_paths(pattern, path, fits):
    assert matches(pattern, Spelled(path)) is fits


@pytest.mark.parametrize(
    "pattern", ["", "v1", "/a?b", "/a#b", "/***", "/../x", "/a//b", "/a%2fb", "/a b", "*", "/é"]
)
def test_a_pattern_that_could_match_nothing_is_wrong(pattern):
    assert wrong_pattern(pattern)


def test_a_pattern_that_no_policy_can_hold_matches_nothing():
    assert not matches("/../**", Spelled("/../x"))


PARTS = st.lists(st.sampled_from(["a", "b", "/", "*", "**", ".", "-", "ab"]), max_size=8).map("".join)


@given(PARTS, st.text("ab/.-", max_size=12))
@example("a**b*", "a/b")
def test_patterns_agree_with_a_regular_expression(pattern, path):
    pattern = f"/{pattern}"
    if wrong_pattern(pattern):
        return
    tokens = re.findall(r"\*\*|.", pattern)
    oracle = "".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in tokens)
    assert matches(pattern, Spelled(f"/{path}")) == bool(re.fullmatch(oracle, f"/{path}"))


@given(st.text(max_size=20))
def test_a_path_has_one_spelling_however_it_is_encoded(text):
    text = text.replace("/", "x")
    every = "/" + "".join(f"%{byte:02x}" for byte in text.encode())
    assert spell(every) == spell(quote(f"/{text}", safe="/~"))


@given(st.text(max_size=40).map(lambda text: f"/{text}"))
def test_a_spelling_is_its_own_spelling(target):
    once = spell(target)
    if isinstance(once, Spelled):
        assert spell(once.path) == once


def test_a_hostile_path_takes_no_longer_than_its_length_asks_for():
    assert not matches("/" + "**a*b" * 30, Spelled("/" + "ab/" * 20_000 + "c"))
