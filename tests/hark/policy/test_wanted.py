"""The text in a denial is a policy, and what cannot be allowed has none."""

import pytest

from hark.policy.model import Rule, Speaks
from hark.policy.paths import Ambiguous, Spelled
from hark.policy.wanted import MAX_SHOWN, shown, table
from tests.support.policies import read


def test_a_table_reads_as_the_rule_it_stands_for():
    rule = Rule("a.example", (8443,), "allow 1: a.example", methods=("PUT",), paths=("/a%20b",))
    assert read(table("a.example", 8443, "PUT", Spelled("/a%20b"))).allow == (rule,)
    raw = Rule("db.host", (443,), "allow 1: db.host", Speaks.TCP)
    assert read(table("db.host", 443, speaks=Speaks.TCP)).allow == (raw,)


@pytest.mark.parametrize("method", ["CONNECT", "get", "A" * (MAX_SHOWN + 1)])
def test_there_is_none_for_a_method_that_no_rule_can_name(method):
    assert table("a.example", 443, method, Spelled("/")) == ""


@pytest.mark.parametrize(
    "path",
    [
        Ambiguous("has two readings"),
        Spelled("/***"),
        Spelled("/**"),
        Spelled("/a/*"),
        Spelled("/" + "a" * MAX_SHOWN),
    ],
)
def test_there_is_none_for_a_path_that_no_pattern_can_name(path):
    assert table("a.example", 443, "GET", path) == ""


def test_what_the_agent_wrote_is_shown_short_and_printable():
    assert shown("/\x1b[2J\u00e9\n") == r"/\x1b[2J\xe9\n"
    assert len(shown("a" * 10_000)) < MAX_SHOWN + 4
