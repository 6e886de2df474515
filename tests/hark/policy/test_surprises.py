"""Warnings: what is surprising is told, and what is ordinary is not."""

import pytest

from hark.policy.surprises import is_shared, surprises
from tests.support.policies import NOON, read

QUIET = """
allow_hosts = ["api.example.com", "*.api.example.com"]
read_paths = ["/srv/in"]
write_paths = ["/srv/out"]
[[allow]]
host = "db.host"
port = 5432
protocol = "tcp"
upstream = "127.0.0.1:5432"
[[allow]]
host = "git.example.com"
methods = ["GET", "PATCH", "PROPFIND"]
paths = ["/acme/**"]
until = 2031-01-01T00:00:00Z
[secrets.K]
hosts = ["api.example.com"]
[env]
pass = ["LANG"]
set = { PGUSER = "reader" }
[[publish]]
port = 80
"""


def warned(text: str) -> list[str]:
    return [fact.words for fact in surprises(read(text), NOON)]


def test_an_ordinary_policy_surprises_nobody():
    assert warned(QUIET) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('allow_hosts = ["*.amazonaws.com"]', "strangers"),
        ('allow_hosts = ["*.s3.eu-central-1.amazonaws.com"]', "strangers"),
        ('allow_hosts = ["*.github.io"]', "strangers"),
        ('allow_hosts = ["*.a.example"]\n[secrets.K]\nhosts = ["*.a.example"]', "whatever host stands under"),
        ('[[allow]]\nhost = "a.example"\nuntil = 2020-01-01T00:00:00Z', "allows nothing any more"),
        ('[[allow]]\nhost = "a.example"\nport = 443\nprotocol = "tcp"', "raw TCP to port 443"),
        ('[[allow]]\nhost = "a.example"\npaths = ["/**"]', "which every path matches"),
        ('allow_hosts = ["db.host"]', "has no upstream, and no name server knows it: say what it stands for"),
        ('allow_hosts = ["a.example:22"]', 'host = "a.example", port = 22, protocol = "tcp"'),
        ('[[allow]]\nhost = "a.example"\nports = [443, 3306, 25]', "on port 25 a client waits"),
        ('allow_hosts = ["127.0.0.1:8000"]', 'host = "NAME.host", port = 8000, upstream = "127.0.0.1:8000"'),
        ('allow_hosts = ["[::1]:8000"]', "the agent's own loopback"),
        ('allow_hosts = ["0.0.0.0:8000"]', "the agent's own loopback"),
        (
            '[[allow]]\nhost = "localhost"\nport = 5432\nprotocol = "tcp"',
            'port = 5432, protocol = "tcp", upstream',
        ),
        (
            '[[allow]]\nhost = "a.example"\nmethods = ["GTE"]',
            "GTE is no method that HTTP knows; did you mean GET?",
        ),
        ('[env]\nset = { PGPASSWORD = "x" }', "PGPASSWORD looks like a credential"),
        ('[mcp.m]\ncommand = ["m"]\nenv = { API_KEY = "x" }', "see secrets of [mcp.m]"),
        ('read_paths = ["/srv/out/in"]\nwrite_paths = ["/srv/out"]', "may write it too"),
        ('allow_hosts = ["a.example"]\nwrite_paths = ["/srv"]\n[secrets.K]\nfile = "/srv/k"', "masked there"),
        ('[env]\npass = ["GITHUB_TOKEN"]', "looks like a credential"),
        ('[[publish]]\nport = 80\nat = "0.0.0.0:80"', "over the network"),
        ('allow_hosts = ["a.example"]\n[secrets.K]\nmount = "~/.netrc"', "other credentials in it too"),
    ],
)
def test_what_may_mean_more_than_its_author_thinks_is_told(text, words):
    assert any(words in warning for warning in warned(text))


def test_raw_tcp_to_a_port_where_servers_speak_first_surprises_nobody():
    assert warned('[[allow]]\nhost = "a.example"\nport = 22\nprotocol = "tcp"') == []


def test_a_domain_of_ones_own_is_not_shared():
    assert not is_shared("*.notamazonaws.com")
    assert not is_shared("*.example.com")


def test_a_countrys_registry_sells_names_one_label_down():
    assert is_shared("*.co.uk")
    assert is_shared("*.com.au")
    assert not is_shared("*.example.co.uk")
    assert not is_shared("*.co.example")
