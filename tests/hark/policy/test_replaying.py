"""`[replay]`: what is ignored is named exactly, and what would make any request do is refused."""

import pytest

from hark.policy.model import Clock, Randomness, ReplayRules, Typed
from hark.policy.replaying import MAX_IGNORED
from tests.support.policies import read, refused


def test_without_the_table_everything_counts_and_is_under_control():
    assert read("").replay == ReplayRules((), (), Clock.RECORDED, Randomness.SEEDED)
    assert read("[replay]\n").replay == ReplayRules()


def test_every_key_is_read_and_names_become_canonical():
    text = """[replay]
ignore_headers = ["X-Session", "x-turn"]
ignore_json = ["$.metadata.trace", "$['messages'][*].id"]
ignore_query = ["a b", "A"]
ignore_form = ["csrf"]
ignore_messages = ["$['params'].arguments"]
clock = "real"
randomness = "real"
input = "unrecorded"
"""
    assert read(text).replay == ReplayRules(
        ("x-session", "x-turn"),
        ("$.metadata.trace", "$.messages[*].id"),
        Clock.REAL,
        Randomness.REAL,
        Typed.UNRECORDED,
        ("a b", "A"),
        ("csrf",),
        ("$.params.arguments",),
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('ignore_headers = ["Content-Type"]', "2:19: Content-Type always counts"),
        ('ignore_headers = ["a b"]', '2:19: "a b" is not the name of a header'),
        ('ignore_headers = ["X-A", "x-a"]', "2:26: replay.ignore_headers names x-a twice"),
        ('ignore_headers = "X-A"', "2:1: replay.ignore_headers must be a list, written as"),
        ('ignore_json = ["$"]', '2:16: path "$" is the whole body'),
        ('ignore_json = ["metadata"]', '2:16: path "metadata" does not begin with $'),
        ('ignore_json = ["$.a", "$..a"]', '2:23: path "$..a" cannot be read at character 2'),
        ('ignore_json = ["$.a", "$[\'a\']"]', "2:23: replay.ignore_json names $.a twice"),
        ('ignore_query = [""]', "2:17: a name without a letter"),
        ('ignore_form = ["a", "a"]', "2:21: replay.ignore_form names a twice"),
        ('ignore_messages = ["$"]', '2:20: path "$" is the whole body'),
        ('clock = "frozen"', '2:1: replay.clock is "recorded" or "real", not "frozen"'),
        ("randomness = true", "2:1: replay.randomness must be a string"),
        ("input = false", "2:1: replay.input must be a string"),
        ('ignore_body = ["$"]', "2:1: replay.ignore_body is not a key of a policy"),
    ],
)
def test_a_mistake_is_named_with_its_place(line, words):
    assert words in refused(f"[replay]\n{line}\n")


def test_a_list_without_end_is_refused():
    names = ", ".join(f'"x-{number}"' for number in range(MAX_IGNORED + 1))
    assert "has more than 200 entries" in refused(f"[replay]\nignore_headers = [{names}]\n")
