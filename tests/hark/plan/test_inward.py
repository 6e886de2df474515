"""A service of this machine that a command names as localhost: told with the table that would reach it."""

import pytest

from hark.plan.inward import MAX_NAMED, meant
from hark.policy.model import Policy
from tests.support.policies import read


@pytest.mark.parametrize(
    ("text", "port", "upstream"),
    [
        ("http://localhost:18999/x", 18999, "127.0.0.1:18999"),
        ("postgres://u:p@127.0.0.1:5432/db", 5432, "127.0.0.1:5432"),
        ("http://[::1]:8080", 8080, "[::1]:8080"),
    ],
)
def test_a_port_of_the_loopback_is_told_with_a_table_that_is_one(text: str, port: int, upstream: str):
    for argv, env, where in (((text,), {}, "the command"), ((), {"URL": text}, "the variable URL")):
        (found,) = meant(argv, env, Policy(), ())
        assert f"in {where} is the agent's own loopback" in found.words
        assert found.words.endswith(f"name.host:{port}:")
        (rule,) = read("\n".join(found.lines)).allow
        assert (rule.host, rule.ports, str(rule.upstream)) == ("name.host", (port,), upstream)


@pytest.mark.parametrize(
    "text",
    ["localhost", "notlocalhost:80", "http://localhost.example:80", "10.127.0.0.1:80", "localhost:0", ""],
)
def test_what_names_no_port_of_the_loopback_is_not_told(text: str):
    assert list(meant([text], {"A": text}, Policy(), ())) == []


def test_a_port_that_is_led_to_or_published_is_not_told():
    led = read('[[allow]]\nhost = "db.host"\nport = 80\nupstream = "127.0.0.1:18999"')
    assert list(meant(["localhost:18999"], {}, led, ())) == []
    assert list(meant(["localhost:18999"], {}, Policy(), (18999,))) == []
    assert len(list(meant(["localhost:18999"], {}, Policy(), (1,)))) == 1


def test_few_are_told_and_each_once():
    many = " ".join(f"localhost:{port}" for port in range(1, 10))
    assert len(list(meant([many, many], {"A": many}, Policy(), ()))) == MAX_NAMED
