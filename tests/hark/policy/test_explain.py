"""One URL explained: as the run would decide, with the rule's line."""

import pytest

from hark.errors import PolicyError
from hark.policy.decide import Allow, Deny
from hark.policy.explain import Target, decide, explained, target
from tests.support.policies import NOON, read

POLICY = read("""
allow_hosts = ["api.example.com"]
[[allow]]
host = "git.example.com"
methods = ["GET"]
paths = ["/acme/**"]
body = "hash"
[[allow]]
host = "db.host"
port = 5432
protocol = "tcp"
upstream = "127.0.0.1:1"
[[allow]]
host = "mcp.example.com"
tools = ["search", { name = "read", arguments = { path = "/data/.*" } }]
[secrets.K]
hosts = ["api.example.com"]
in = ["query"]
[[token]]
host = "api.example.com"
path = "/oauth"
fields = ["access_token"]
""")


def lines(url: str, method: str = "GET") -> list[str]:
    asked = target(url, method)
    return list(explained(POLICY, asked, decide(POLICY, asked, NOON), NOON))


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://API.example.com/a?b=c#d", Target("api.example.com", 443, "GET", "/a?b=c")),
        ("http://a.example", Target("a.example", 80, "GET", "/")),
        ("a.example:8443/x/../y", Target("a.example", 8443, "GET", "/x/../y")),
        ("tcp://db.host:5432", Target("db.host", 5432, None, "/")),
        ("wss://[::1]:9/", Target("::1", 9, "GET", "/")),
    ],
)
def test_a_url_is_read_as_it_would_be_asked_for(url, asked):
    assert target(url, "GET") == asked


@pytest.mark.parametrize(
    "url", ["ftp://a.example", "https://", "tcp://a.example", "https://u@a.example", "https://a:x/"]
)
def test_what_is_no_url_is_refused(url):
    with pytest.raises(PolicyError, match=r"is not a URL|has no port"):
        target(url, "GET")


def test_what_is_allowed_is_told_with_its_rule_record_and_secrets():
    assert lines("https://api.example.com/v1", "POST") == [
        "allowed: POST of /v1 at api.example.com:443",
        "by: allow_hosts: api.example.com (p.toml:2)",
        "recorded: request and answer, bodies whole",
        "secret: K is put into the query in its placeholder's place",
        "tokens: in answers at /oauth, access_token are credentials",
    ]
    assert lines("https://git.example.com/acme/x")[2:] == [
        "recorded: request and answer, bodies as length and hash alone",
        "secrets: none is put into it",
    ]
    assert lines("https://mcp.example.com/")[3] == "tools: search, read (by its arguments) may be called"
    assert lines("tcp://db.host:5432") == [
        "allowed: raw TCP to db.host:5432",
        "by: allow 2: db.host (p.toml:8)",
        "dialled: 127.0.0.1:1",
        "recorded: every byte, both ways",
    ]


def test_what_is_denied_is_told_with_what_would_allow_it():
    assert lines("https://git.example.com/acme/x", "PUT") == [
        "denied: PUT of /acme/x at git.example.com:443",
        "why: allow 1: git.example.com allows GET, not PUT (p.toml:3)",
        "recorded: the attempt and this verdict, and the request with the page that answers it",
        "to allow it:",
        "    [[allow]]",
        '    host = "git.example.com"',
        '    methods = ["PUT"]',
        '    paths = ["/acme/x"]',
    ]
    assert lines("https://evil.example/")[2:] == [
        "recorded: the question for its name and this verdict; it gets no address, so no connection follows",
        'to allow it: add "evil.example" to allow_hosts',
    ]
    assert lines("https://192.0.2.1/")[2].endswith("and the request with the page that answers it")
    assert lines("tcp://evil.example:22")[-4:] == [
        "    [[allow]]",
        '    host = "evil.example"',
        "    port = 22",
        '    protocol = "tcp"',
    ]


def test_what_would_allow_it_is_dialled_where_the_policy_dials_it_already():
    text = '[[allow]]\nhost = "m.host"\nmethods = ["GET"]\nupstream = "127.0.0.1:8000"\n'
    policy, asked = read(text), target("https://m.host/x", "POST")
    told = list(explained(policy, asked, decide(policy, asked, NOON), NOON))
    mended = read(text + "\n".join(told[told.index("to allow it:") + 1 :]))
    assert isinstance(decide(mended, asked, NOON), Allow)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "a.localhost"])
def test_what_goes_to_the_agents_own_loopback_never_reaches_us_whatever_is_allowed(host):
    policy = read(f'allow_hosts = ["{host}:8000"]')
    asked = target(f"http://{host}:8000/x", "GET")
    verdict = decide(policy, asked, NOON)
    assert isinstance(verdict, Deny)
    first, why, recorded, lead, *table = explained(policy, asked, verdict, NOON)
    assert first == f"never reached: GET of /x at {host}:8000"
    assert "the agent's own loopback" in why
    assert recorded == "recorded: nothing"
    assert lead == "for a service of this machine:"
    mended = read("\n".join(table))
    assert isinstance(decide(mended, target("http://name.host:8000/x", "GET"), NOON), Allow)
    assert str(mended.allow[0].upstream) == "127.0.0.1:8000"


def test_raw_tcp_is_not_what_a_rule_for_the_web_allows():
    asked = target("tcp://api.example.com:443", "GET")
    assert isinstance(decide(POLICY, asked, NOON), Deny)
    control = target("tcp://db.host:5432", "GET")
    assert isinstance(decide(POLICY, control, NOON), Allow)


def test_what_is_no_method_is_refused():
    for method in ("GET X", "", "GET\r\nX: y", "GÉT"):
        with pytest.raises(PolicyError, match="is not a method"):
            target("https://a.example/", method)
