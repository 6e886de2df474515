"""Secrets and token endpoints: each bound to what a rule allows."""

import pytest

from hark.policy.model import DEFAULT_SURFACES, HostRule, Mount, Surface
from tests.support.policies import read, refused

ALLOW = """
allow_hosts = ["a.example", "*.w.example"]
[[allow]]
host = "git.example"
port = 8443
[[allow]]
host = "db.host"
port = 5432
protocol = "tcp"
upstream = "127.0.0.1:5432"
"""


def secret(*lines: str, name: str = "K") -> str:
    return "\n".join([ALLOW, f"[secrets.{name}]", *lines])


@pytest.mark.parametrize("host", ["a.example", "git.example:8443", "*.w.example", "one.w.example"])
def test_a_secret_may_be_bound_to_whatever_a_rule_allows(host):
    assert read(secret(f'hosts = ["{host}"]')).secrets[0].hosts == (HostRule(*_split(host)),)


def _split(host: str) -> tuple[str, int]:
    name, _, port = host.partition(":")
    return name, int(port or 443)


@pytest.mark.parametrize("host", ["b.example", "db.host", "w.example", "a.b.w.example", "*.a.example"])
def test_a_secret_is_bound_to_nothing_that_no_rule_allows(host):
    assert f'add "{host}" to allow_hosts' in refused(secret(f'hosts = ["{host}"]'))


def test_a_secret_bound_to_the_usual_port_of_a_host_on_another_is_told_which_one():
    sentence = refused(secret('hosts = ["git.example"]'))
    assert sentence.endswith(
        'is bound to git.example, and that host is allowed on port 8443, not on 443: write "git.example:8443"'
    )


def test_a_secret_is_bound_to_nothing_that_speaks_tcp():
    assert "let a proxy of yours log in for it" in refused(secret('hosts = ["db.host:5432"]'))
    only = '[[allow]]\nhost = "db.host"\nport = 5432\nprotocol = "tcp"\n[secrets.K]\n'
    assert "all that is allowed speaks tcp" in refused(only)


def test_without_hosts_a_secret_goes_to_the_only_host_that_is_allowed():
    (one,) = read('[[allow]]\nhost = "a.example"\nport = 8443\n[secrets.K]').secrets
    assert (one.hosts, one.env, one.surfaces) == ((HostRule("a.example", 8443),), "K", DEFAULT_SURFACES)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "2:10: secrets.K is bound to no host and the policy allows 0"),
        ('allow_hosts = ["a.example", "b.example"]', "allows 2"),
        ('allow_hosts = ["*.a.example"]', 'if you mean it, say hosts = ["*.a.example"]'),
        ('[[allow]]\nhost = "a.example"\nports = [1, 2]', "allows 2"),
    ],
)
def test_without_hosts_nothing_is_guessed(text, words):
    assert words in refused(f"{text}\n[secrets.K]")


def test_a_secret_says_where_it_is_replaced():
    one = read(secret('hosts = ["a.example"]', 'in = ["basic", "body"]')).secrets[0]
    assert one.surfaces == (Surface.BASIC, Surface.BODY)


def test_a_secret_goes_without_tls_only_where_it_says_so():
    hosts = 'hosts = ["a.example"]'
    assert [
        read(secret(hosts, *more)).secrets[0].plain for more in ((), ("plain = false",), ("plain = true",))
    ] == [
        False,
        False,
        True,
    ]
    assert "plain" in refused('[[allow]]\nhost = "a.example"\n[secrets.K]\nplain = "yes"')


def test_a_secret_may_be_seen_in_a_file():
    lines = ('hosts = ["a.example"]', 'file = "/run/k.json"', 'mount = { path = "~/k.json", at = "a.b" }')
    assert read(secret(*lines)).secrets[0].mount == Mount("~/k.json", "a.b")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("hosts = []", "could never be used"),
        ('env = "A"\nfile = "/f"', "has both env and file; keep one"),
        ('command = ["x"]\nfile = "/f"', "has both file and command; keep one"),
        ('env = "A B"', "not the name of an environment variable"),
        ('file = "f"', "must begin with / or ~/"),
        ("command = []", "is empty; write secrets.K.command ="),
        ('command = ["bin/x"]', "depends on where hark is started"),
        ("command = [1]", "must be a list of strings"),
        ('in = ["heder"]', 'did you mean "header"?'),
        ("in = []", "could never be used"),
        ('host = ["a.example"]', "did you mean secrets.K.hosts?"),
        ('mount = "k"', "must begin with / or ~/"),
        ('mount = { at = "a" }', "secrets.K.mount has no path"),
        ('mount = { path = "~/k", at = "a..b" }', "not a path to a member of JSON"),
        ('sigv4 = "NOPE"', "no other secret; add [secrets.NOPE]"),
        ('sigv4 = "K"', "no other secret"),
        ('sigv4 = "L"\nin = ["header"]', "in has no meaning"),
    ],
)
def test_a_mistake_in_a_secret_is_named(line, words):
    hosts = "" if "hosts" in line else '\nhosts = ["a.example"]'
    assert words in refused(secret(f"{line}{hosts}"))


def test_the_name_of_a_secret_is_a_variable():
    assert '"a b" is not the name' in refused(secret('hosts = ["a.example"]', name='"a b"'))


def pair(key_id: str, key: str, more: str = "") -> str:
    return f"{ALLOW}\n[secrets.ID]\n{key_id}\n[secrets.KEY]\n{key}\n{more}"


def test_the_key_that_signs_is_put_nowhere():
    hosts = 'hosts = ["a.example"]'
    policy = read(pair(hosts, f'{hosts}\nsigv4 = "ID"'))
    assert [(one.sigv4, one.surfaces) for one in policy.secrets] == [(None, DEFAULT_SURFACES), ("ID", ())]


def test_the_key_that_signs_goes_where_its_id_goes():
    both = 'hosts = ["a.example", "*.w.example"]\nsigv4 = "ID"'
    assert 'add "*.w.example" to its hosts' in refused(pair('hosts = ["a.example"]', both))


def test_one_key_id_has_one_key():
    key = 'hosts = ["a.example"]\nsigv4 = "ID"'
    assert "both sign for ID" in refused(pair('hosts = ["a.example"]', key, f"[secrets.OTHER]\n{key}"))
    assert "which signs itself" in refused(pair(key.replace("ID", "KEY"), key))


def token(*lines: str) -> str:
    return "\n".join([ALLOW, "[[token]]", *lines])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (('path = "/t"', 'fields = ["a"]'), "token has no host"),
        (('host = "a.example"', 'fields = ["a"]'), "token has no path"),
        (('host = "a.example"', 'path = "/t"'), "token has no fields"),
        (('host = "a.example"', 'path = "/t"', "fields = []"), "name no credential"),
        (('host = "x.example"', 'path = "/t"', 'fields = ["a"]'), "which nothing allows"),
        (('host = "db.host"', 'path = "/t"', 'fields = ["a"]'), "which nothing allows"),
        (('host = "a.example"', 'path = "t"', 'fields = ["a"]'), "does not begin with a slash"),
    ],
)
def test_a_mistake_in_a_token_endpoint_is_named(lines, words):
    assert words in refused(token(*lines))
