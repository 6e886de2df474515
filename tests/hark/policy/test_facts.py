"""A policy in words: each fact once, with its line."""

from hark.policy.facts import facts
from hark.policy.model import Policy
from tests.hark.policy.test_parse import WHOLE
from tests.support.policies import read


def said(text: str) -> list[tuple[int | None, str]]:
    return [tuple(fact) for fact in facts(read(text))]


def test_a_policy_that_allows_nothing_says_so():
    assert list(facts(Policy())) == [(None, "nothing may be reached")]


def test_rules_and_secrets_are_told_with_all_their_conditions():
    text = """allow_hosts = ["a.example"]
[[allow]]
host = "b.example"
methods = ["GET"]
paths = ["/x/**"]
hours = "09:00-18:00"
[[allow]]
host = "db.host"
port = 5432
protocol = "tcp"
upstream = "127.0.0.1:1"
[secrets.K]
command = ["pass", "show", "k"]
hosts = ["a.example"]
in = ["header"]
"""
    assert said(text) == [
        (1, "allowed: all requests to a.example:443"),
        (
            2,
            "allowed: GET requests to b.example:443, on the paths /x/**, from 09:00 to 18:00 each day",
        ),
        (7, "allowed: raw TCP to db.host:5432, dialled at 127.0.0.1:1"),
        (None, "nothing else may be reached"),
        (
            12,
            "secret K, from what pass prints, goes into headers of requests to a.example",
        ),
    ]


def test_a_rule_is_told_with_its_end_its_ports_and_what_is_kept_of_bodies():
    rule = 'ports = [443, 8443]\nuntil = 2031-01-01T00:00:00Z\nbody = "hash"\ntools = ["t"]'
    (fact, _) = said(f'[[allow]]\nhost = "b.example"\n{rule}')
    assert "to b.example:443, b.example:8443, of MCP's tools t, until 2031-01-01T00:00:00+00:00" in fact[1]
    assert fact[1].endswith("with bodies recorded as length and hash alone")


def test_protocols_that_a_request_may_switch_to_are_told_with_what_that_means():
    (fact, _) = said('[[allow]]\nhost = "b.example"\npaths = ["/x"]\nupgrade = ["tcp", "SPDY/3.1"]')
    assert fact[1].endswith("which may become streams of tcp, spdy/3.1 that no rule judges any more")


def test_what_a_fork_may_do_again_is_told():
    marked = "may_reexecute = true\n"
    text = f"""[[allow]]
host = "b.example"
methods = ["POST"]
{marked}[[allow]]
host = "db.host"
port = 5432
protocol = "tcp"
{marked}[mcp.m]
command = ["x"]
may_reexecute = ["a"]
[[allow]]
host = "mcp.example"
may_reexecute = ["a", "c"]
"""
    words = [fact[1] for fact in said(text)]
    assert words[0] == "allowed: POST requests to b.example:443, and a fork may make them again"
    assert words[1] == "allowed: raw TCP to db.host:5432, and a fork may connect again"
    assert words[2].endswith("to mcp.example:443, and a fork may call a, c of MCP's tools again")
    assert words[4].endswith("the agent may call any tool, and a fork may call a again")


def test_every_table_of_a_whole_policy_is_told_with_a_line():
    found = said(WHOLE.decode())
    lines = WHOLE.decode().splitlines()
    words = " ".join(sentence for _, sentence in found)
    for known in (
        "git",
        "files",
        "8080",
        "namespaces",
        "MODE=test",
        "LANG",
        ".env",
        "access_token",
        "/opt",
        "1h30m",
    ):
        assert known in words
    assert all(line is None or lines[line - 1].strip() for line, _ in found)
    assert [sentence for line, sentence in found if line is None] == ["nothing else may be reached"]


def test_a_place_is_spelled_as_one_writes_it_also_where_it_is_an_ipv6_address():
    assert said('allow_hosts = ["[2001:db8::1]"]')[0] == (1, "allowed: all requests to [2001:db8::1]:443")


def test_what_is_kept_of_the_project_is_told_where_it_is_not_the_usual():
    text = """[snapshot]
max = "1MB"
exclude = ["data/"]
"""
    rest = "is copied into the bundle as the run begins, and none of a larger one"
    assert said(text)[1:] == [
        (2, f"a project of up to 1MB {rest}"),
        (3, "what matches data/ in the project is left out of that copy, and not compared at the end"),
    ]
    assert len(said('[snapshot]\nmax = "64MB"\n')) == 1


def test_what_a_replay_does_not_compare_is_told_and_the_usual_is_not():
    text = """[replay]
ignore_headers = ["X-Session"]
ignore_json = ["$.trace"]
ignore_query = ["nonce"]
ignore_form = ["csrf"]
ignore_messages = ["$.id"]
clock = "real"
randomness = "real"
input = "unrecorded"
"""
    assert said(text)[1:] == [
        (2, "a replay does not compare the header x-session of requests"),
        (3, "a replay does not compare the JSON value $.trace of requests"),
        (4, "a replay does not compare the query parameter nonce of requests"),
        (5, "a replay does not compare the form field csrf of requests"),
        (6, "a replay does not compare the JSON value $.id of WebSockets' and tool servers' messages"),
        (7, "the agent reads the real clock, also in a replay"),
        (8, "the agent's random bytes are real ones, and a replay's are others"),
        (9, "standard input and what is typed are in no record, and the agent of a replay has no input"),
    ]
    assert len(said('[replay]\nclock = "recorded"\nrandomness = "seeded"\n')) == 1
