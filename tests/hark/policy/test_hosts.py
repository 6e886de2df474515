"""Hosts as a policy may write them: what is likely meant stands in the refusal."""

import pytest

from hark.policy.hosts import pattern_covers
from hark.policy.model import Address, HostRule
from tests.support.policies import read, refused


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("API.example.", HostRule("api.example")),
        ("*.API.example", HostRule("*.api.example")),
        ("*.a.example:8443", HostRule("*.a.example", 8443)),
        ("*.internal", HostRule("*.internal")),
        ("2001:db8::1", HostRule("2001:db8::1")),
        ("[2001:db8::1]:22", HostRule("2001:db8::1", 22)),
        ("0x7f.1", HostRule("127.0.0.1")),
    ],
)
def test_an_entry_of_allow_hosts_has_one_spelling(text, rule):
    assert read(f'allow_hosts = ["{text}"]').allow_hosts == (rule,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("https://a.example/v1", 'write "a.example"'),
        ("a.example/v1", 'write "a.example"'),
        ("http://a.example/?to=https://b.example:1", 'write "a.example:80"'),
        ("WS://a.example", 'write "a.example:80"'),
        ("http://a.example:8080/", 'write "a.example:8080"'),
        ("https://[2001:db8::1]/", 'write "[2001:db8::1]"'),
        ("http://[2001:db8::1]", 'write "[2001:db8::1]:80"'),
        ("*", "--unsafe-allow-all"),
        ("*example.com", 'not one whole label in front; write "*.example.com" or each'),
        ("*com", "in front; write each host out"),
        ("a.*.example.com", 'write "*.example.com"'),
        ("api-*.example.com", 'write "*.example.com"'),
        ("*.*.example.com", 'write "*.example.com"'),
        ("*.*.com", "exactly one label; write each host"),
        ("*.com", "whoever owns a name under .com"),
        ("*.", "not a host name"),
        ("*.10.0.0.1", "wildcard over an address"),
        ("a.example:0", "port"),
        ("a.example:", "port is empty"),
        ("user@a.example", 'user part, and a rule names a host; write "a.example"'),
        (".a.example", 'write "*.a.example" for one label in front, or "a.example"'),
        ("10.0.0.0/8", "is a range of addresses"),
        ("2001:db8::/32", "is a range of addresses"),
        ("10.0.0.1/v1", 'write "10.0.0.1"'),
        ("a\\u0001b", "control character"),
        ("", "not a host name"),
    ],
)
def test_what_is_no_host_is_refused_at_its_place_with_what_was_meant(text, words):
    sentence = refused(f'allow_hosts = [\n  "{text}"]')
    assert sentence.startswith("2:3: ")
    assert words in sentence


def test_the_same_host_twice_is_refused_in_any_spelling():
    assert "1:29: allow_hosts names a.example twice" in refused('allow_hosts = ["a.example", "A.EXAMPLE."]')


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("a.example:8443", 'write host = "a.example" and port = 8443'),
        ("[::1]:8443", 'write host = "[::1]" and port = 8443'),
        ("*.a.example:1", "and port = 1"),
        ("https://a.example", 'write "a.example"'),
        ("http://a.example/v1", 'write host = "a.example" and port = 80'),
        ("https://a.example:8443/v1", 'write host = "a.example" and port = 8443'),
    ],
)
def test_a_table_says_its_port_apart(host, words):
    assert words in refused(f'[[allow]]\nhost = "{host}"')


def test_a_table_takes_an_address_of_version_6_as_it_is():
    assert read('[[allow]]\nhost = "2001:DB8::1"').allow[0].host == "2001:db8::1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("localhost:5432", 'write "127.0.0.1:5432"'),
        ("127.0.0.1", 'write "127.0.0.1:5432" with the port you mean'),
        ("224.0.0.1:53", "multicast"),
        ("tcp://127.0.0.1:1", "URL"),
        ("127.0.0.1:x", "port"),
    ],
)
def test_an_upstream_is_an_address_with_a_port(text, words):
    assert words in refused(f'[[allow]]\nhost = "db.host"\nupstream = "{text}"')


def test_an_upstream_may_have_any_spelling_of_its_address():
    upstream = read('[[allow]]\nhost = "db.host"\nupstream = "[::1]:5432"').allow[0].upstream
    assert upstream == Address("::1", 5432)


@pytest.mark.parametrize(
    ("pattern", "other", "covers"),
    [
        ("a.example", "a.example", True),
        ("*.example", "a.example", True),
        ("*.example", "*.example", True),
        ("*.example", "example", False),
        ("*.example", "a.b.example", False),
        ("*.example", "*.a.example", False),
        ("a.example", "*.example", False),
        ("*.*", "*.a", False),
    ],
)
def test_a_pattern_covers_what_every_host_of_the_other_is(pattern, other, covers):
    assert pattern_covers(pattern, other) is covers
