"""Rules that contradict each other, or of which one changes nothing, are refused; others may share a host."""

import pytest

from hark.errors import PolicyError
from tests.support.policies import read, refused


def table(host: str, *lines: str) -> str:
    return "\n".join(["[[allow]]", f'host = "{host}"', *lines, ""])


GET = 'methods = ["GET"]'
BODY = 'body = "hash"'
UPGRADE = 'upgrade = ["tcp"]'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            table("a.example") + table("a.example", "port = 443", 'protocol = "tcp"'),
            "a.example:443 is both web and tcp",
        ),
        (
            table("*.a.example") + table("d.a.example", "port = 443", 'protocol = "tcp"'),
            "both web and tcp (see *.a.example in line 1)",
        ),
        (
            f'allow_hosts = ["a.example"]\n{table("a.example", GET)}',
            "methods of this rule change nothing, since a.example in line 1 allows all of a.example:443",
        ),
        (
            table("a.example", GET, 'paths = ["/x"]') + f"{table('a.example')}",
            "1:3: methods and paths of this rule change nothing, since a.example in line 5 allows",
        ),
        (f'allow_hosts = ["*.a.example"]\n{table("b.a.example", GET)}', "change nothing"),
        (table("a.example", GET) + table("a.example", GET), "allowed twice"),
        (table("a.example") + table("a.example", 'body = "hash"'), "allowed twice"),
        ('allow_hosts = ["*.a.example", "b.a.example"]', "1:31: b.a.example:443 is allowed twice"),
        (table("a.example", 'methods = ["GET", "HEAD"]') + table("a.example", GET), "change nothing"),
        (
            table("a.example", "until = 2031-01-01T00:00:00Z")
            + table("a.example", "until = 2030-01-01T00:00:00Z"),
            "until of this rule change nothing",
        ),
        (
            table("a.example", GET, 'upstream = "127.0.0.1:1"') + table("a.example", 'methods = ["PUT"]'),
            'and one host and port is one place; say upstream = "127.0.0.1:1" in both',
        ),
        (
            table("a.example", 'tools = ["x"]') + table("a.example", 'tools = ["y"]'),
            "two rules that may allow one",
        ),
        (
            table("a.example", 'tools = ["x"]', 'paths = ["/m"]') + table("a.example", GET),
            "may allow one request",
        ),
        (
            table("a.example", "may_reexecute = true") + table("a.example", GET),
            "methods of this rule change nothing",
        ),
        (
            f'allow_hosts = ["a.example"]\n{table("a.example", GET, "may_reexecute = true", BODY)}',
            "body of this rule changes nothing, since a.example in line 1 comes before it",
        ),
        (table("*.a.example", GET) + table("b.a.example", GET), "allowed twice"),
        (table("a.example", "ports = [80, 443]") + table("a.example", "ports = [443, 444]"), "a.example:443"),
    ],
)
def test_a_contradiction_is_refused(text, words):
    assert words in refused(text)


@pytest.mark.parametrize(
    "text",
    [
        table("a.example", GET, 'paths = ["/x"]')
        + table("a.example", 'methods = ["POST"]', 'paths = ["/y"]'),
        table("a.example", GET) + table("a.example", 'paths = ["/y"]'),
        table("a.example", 'paths = ["/x"]') + table("a.example", 'paths = ["/y"]'),
        table("*.a.example", GET) + table("b.a.example", GET, 'body = "hash"'),
        table("a.example", GET, 'tools = ["x"]') + table("a.example", 'methods = ["PUT"]', 'tools = ["y"]'),
        table("a.example") + table("a.example", "port = 22", 'protocol = "tcp"'),
        table("*.a.example", GET) + table("b.a.example"),
        table("*.a.example") + table("b.a.example", 'body = "hash"'),
        table("*.a.example") + table("a.example", GET),
        table("*.a.example") + table("c.b.a.example", GET),
        table("a.example", 'hours = "09:00-10:00"') + table("a.example", 'hours = "12:00-13:00"'),
        table("a.example", 'tools = ["x"]', 'paths = ["/a"]')
        + table("a.example", 'tools = ["y"]', 'paths = ["/b"]'),
    ],
)
def test_rules_that_say_different_things_may_share_a_host(text):
    assert len(read(text).allow) == 2


@pytest.mark.parametrize("lines", [(), (GET,), (GET, 'paths = ["/x"]')])
def test_a_rule_may_let_a_part_of_what_another_allows_switch_protocols(lines):
    text = f'allow_hosts = ["a.example"]\n{table("a.example", *lines, UPGRADE)}'
    assert [rule.upgrades for rule in read(text).rules] == [(), ("tcp",)]
    other_way = table("a.example", UPGRADE) + table("a.example", *lines, UPGRADE)
    with pytest.raises(PolicyError, match="remove one"):
        read(other_way)


@pytest.mark.parametrize("lines", [(), (GET,), (GET, 'paths = ["/x"]')])
def test_a_rule_may_mark_a_part_of_what_another_allows(lines):
    text = f'allow_hosts = ["a.example"]\n{table("a.example", *lines, "may_reexecute = true")}'
    assert [rule.may_reexecute for rule in read(text).rules] == [False, True]
