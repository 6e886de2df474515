"""Verdicts: the default is to deny, and a rule covers its own host on its own port only."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.policy.decide import (
    Allow,
    Deny,
    Verdict,
    appointed,
    decide_dial,
    decide_name,
    decide_request,
    holding,
    marked,
    upgrades,
)
from hark.policy.model import Address, HostRule, Policy, Rule, covers
from tests.support.policies import NOON, read

POLICY = Policy(
    allow_hosts=(HostRule("api.example"), HostRule("db.example", 8443), HostRule("192.0.2.1", 80))
)


def at(policy: Policy, host: str, port: int) -> Verdict:
    return decide_dial(policy, host, port, NOON)


def named(policy: Policy, host: str) -> Verdict:
    return decide_name(policy, host, NOON)


def asks(
    policy: Policy, method: str, path: str, *, host: str = "api.example", now: datetime = NOON
) -> Verdict:
    return decide_request(policy, host, 443, method, path, now=now)


def test_without_a_policy_everything_is_denied():
    assert isinstance(at(Policy(), "api.example", 443), Deny)
    assert isinstance(named(Policy(), "api.example"), Deny)


def test_a_rule_allows_its_host_on_its_port_and_names_itself():
    assert at(POLICY, "api.example", 443) == Allow("allow_hosts: api.example")
    assert at(POLICY, "db.example", 8443) == Allow("allow_hosts: db.example:8443")


def test_a_rule_does_not_hold_for_another_port_of_its_host():
    verdict = at(POLICY, "db.example", 443)
    assert verdict == Deny("db.example is allowed on port 8443, not on 443", "db.example")


def test_neither_a_subdomain_nor_the_parent_of_an_allowed_name_is_allowed():
    for host in ("x.api.example", "example", "api.example.evil.example", "xapi.example"):
        assert isinstance(at(POLICY, host, 443), Deny)
        assert isinstance(named(POLICY, host), Deny)


def test_a_literal_address_needs_a_rule_of_its_own():
    assert isinstance(at(POLICY, "192.0.2.2", 80), Deny)
    assert isinstance(at(POLICY, "192.0.2.1", 80), Allow)


def test_the_hint_is_the_entry_that_would_allow_it():
    verdict = at(POLICY, "new.example", 8080)
    assert isinstance(verdict, Deny)
    assert HostRule.parse(verdict.hint) == HostRule("new.example", 8080)


def test_a_name_is_resolved_when_any_port_of_it_is_allowed():
    assert isinstance(named(POLICY, "db.example"), Allow)


@pytest.mark.parametrize(
    ("host", "covered"),
    [
        ("a.example.test", True),
        ("example.test", False),
        ("a.b.example.test", False),
        ("aexample.test", False),
        (".example.test", False),
        ("a.example.test.evil.test", False),
    ],
)
def test_a_wildcard_stands_for_exactly_one_label(host: str, covered: bool):
    assert covers("*.example.test", host) is covered
    policy = Policy(allow=(Rule("*.example.test", ports=(443, 8443), name="allow 1: *.example.test"),))
    verdict = at(policy, host, 8443)
    assert (verdict == Allow("allow 1: *.example.test")) is covered
    assert isinstance(at(policy, host, 80), Deny)


GITHUB = read("""
[[allow]]
host = "api.example"
methods = ["GET", "HEAD"]
paths = ["/repos/acme/**", "/user"]

[[allow]]
host = "api.example"
methods = ["POST"]
paths = ["/repos/acme/*/issues"]
""")


@pytest.mark.parametrize(
    ("method", "path", "rule"),
    [
        ("GET", "/repos/acme/x", "allow 1: api.example"),
        ("GET", "/user?tab=1", "allow 1: api.example"),
        ("GET", "/%75ser", "allow 1: api.example"),
        ("POST", "/repos/acme/x/issues", "allow 2: api.example"),
    ],
)
def test_any_rule_that_allows_a_request_allows_it(method, path, rule):
    assert asks(GITHUB, method, path) == Allow(rule)


@pytest.mark.parametrize(
    ("method", "path", "reason", "table"),
    [
        (
            "DELETE",
            "/user",
            "allow 1: api.example allows GET, HEAD, not DELETE",
            '[[allow]]\nhost = "api.example"\nmethods = ["DELETE"]\npaths = ["/user"]',
        ),
        (
            "GET",
            "/users?q=1",
            "allow 1: api.example allows /repos/acme/**, /user, not /users",
            '[[allow]]\nhost = "api.example"\nmethods = ["GET"]\npaths = ["/users"]',
        ),
        (
            "POST",
            "/repos/acme/x/pulls",
            "allow 1: api.example allows GET, HEAD, not POST",
            '[[allow]]\nhost = "api.example"\nmethods = ["POST"]\npaths = ["/repos/acme/x/pulls"]',
        ),
        (
            "GET",
            "/repos/acme/..%2f..%2fuser",
            "allow 1: api.example goes by paths, and the request's has",
            "",
        ),
        ("get", "/user", "allow 1: api.example allows GET, HEAD, not get", ""),
        ("GET", "/\x1b[2J", "goes by paths, and the request's has characters that a path must", ""),
        ("OPTIONS", "*", "allow 1: api.example allows GET, HEAD, not OPTIONS and goes by paths", ""),
    ],
)
def test_a_denied_request_is_told_the_nearest_rule_and_the_text_that_would_allow_it(
    method, path, reason, table
):
    verdict = asks(GITHUB, method, path)
    assert isinstance(verdict, Deny)
    assert reason in verdict.reason
    assert (verdict.hint, verdict.table) == ("", table)


ATTACKS = [
    "/public/../secret",
    "/public/..%2fsecret",
    "/public/%2e%2e/secret",
    "/public/%2E%2E%2Fsecret",
    "/public/..;/secret",
    "/public/..;x=y/secret",
    "/public/%252e%252e/secret",
    "/public//../secret",
    "/public/..%5csecret",
    "/public/..\\secret",
    "//public/secret",
    "/PUBLIC/../secret",
    "/Public/secret",
    "http://api.example/public/secret",
    "api.example:443",
    "*",
    "/public",
    "",
]


@pytest.mark.parametrize("path", ATTACKS)
def test_no_spelling_of_a_path_leads_out_of_what_a_pattern_allows(path):
    policy = read('[[allow]]\nhost = "api.example"\npaths = ["/public/**"]')
    assert isinstance(asks(policy, "GET", "/public/secret"), Allow)
    assert isinstance(asks(policy, "GET", path), Deny)


@pytest.mark.parametrize("path", ATTACKS)
def test_where_no_rule_goes_by_paths_their_spelling_is_the_servers_own_business(path):
    assert isinstance(asks(read('allow_hosts = ["api.example"]'), "GET", path), Allow)


def test_a_rule_ends_at_its_moment_in_any_zone():
    policy = read('[[allow]]\nhost = "api.example"\nuntil = 2030-06-03T14:00:00+02:00')
    before = NOON - timedelta(microseconds=1)
    assert isinstance(asks(policy, "GET", "/", now=before), Allow)
    assert isinstance(asks(policy, "GET", "/", now=before.astimezone(timezone(timedelta(hours=-5)))), Allow)
    for verdict in (asks(policy, "GET", "/"), at(policy, "api.example", 443), named(policy, "api.example")):
        assert isinstance(verdict, Deny)
        assert verdict.reason == "allow 1: api.example ended at 2030-06-03T14:00:00+02:00"
        assert (verdict.hint, verdict.table) == ("", "")


@pytest.mark.parametrize(
    ("hours", "clock", "within"),
    [
        ("09:00-18:00", (9, 0), True),
        ("09:00-18:00", (18, 0), False),
        ("09:00-18:00", (8, 59), False),
        ("22:00-06:00", (23, 0), True),
        ("22:00-06:00", (5, 59), True),
        ("22:00-06:00", (6, 0), False),
        ("22:00-24:00", (23, 59), True),
        ("22:00-24:00", (0, 0), False),
    ],
)
def test_hours_are_of_the_local_day_and_their_end_is_not_in_them(hours, clock, within):
    policy = read(f'[[allow]]\nhost = "api.example"\nhours = "{hours}"')
    verdict = decide_dial(policy, "api.example", 443, NOON.replace(hour=clock[0], minute=clock[1]))
    assert isinstance(verdict, Allow) is within
    assert within or "holds from" in verdict.reason


def test_a_rule_for_raw_tcp_allows_no_request():
    policy = read('[[allow]]\nhost = "api.example"\nport = 443\nprotocol = "tcp"')
    assert isinstance(at(policy, "api.example", 443), Allow)
    assert asks(policy, "GET", "/") == Deny("allow 1: api.example allows raw TCP and no requests", "", "")


def test_the_rule_that_names_the_host_comes_before_a_wildcard():
    policy = read(
        '[[allow]]\nhost = "*.example"\n[[allow]]\nhost = "api.example"\nbody = "hash"\n'
        '[[allow]]\nhost = "*.api.example"'
    )
    verdict = asks(policy, "GET", "/")
    assert isinstance(verdict, Allow)
    assert verdict.by == policy.allow[1]
    assert at(policy, "api.example", 443) == Allow("allow 2: api.example")


def test_a_wildcard_that_nearly_covers_a_host_is_named():
    policy = read('allow_hosts = ["*.api.example"]')
    for host in ("api.example", "a.b.api.example"):
        verdict = at(policy, host, 443)
        assert isinstance(verdict, Deny)
        assert "*.api.example stands for exactly one label" in verdict.reason


def test_allowing_everything_allows_what_no_rule_does_and_says_so():
    everything = replace(GITHUB, allow_all=True)
    assert at(everything, "evil.example", 22) == Allow("--unsafe-allow-all")
    assert named(everything, "evil.example") == Allow("--unsafe-allow-all")
    assert asks(everything, "DELETE", "/../x") == Allow("--unsafe-allow-all")
    assert asks(everything, "GET", "/", host="evil.example") == Allow("--unsafe-allow-all")
    assert asks(everything, "GET", "/user") == Allow("allow 1: api.example")


def test_what_a_rule_says_of_bodies_holds_where_everything_is_allowed():
    policy = replace(
        read('[[allow]]\nhost = "api.example"\nmethods = ["GET"]\nbody = "hash"'), allow_all=True
    )
    verdict = asks(policy, "POST", "/")
    assert isinstance(verdict, Allow)
    assert verdict.by == policy.allow[0]


METHODS = st.sampled_from(["GET", "PUT", "get", "CONNECT", "M-SEARCH"])
PATHS = st.text("ab/*%2.;?~", max_size=10).map(lambda path: f"/{path}")


@given(METHODS, PATHS, st.sampled_from([443, 8443]))
def test_the_table_in_a_denial_allows_that_request_and_no_other_method_or_path(method, path, port):
    text = f'[[allow]]\nhost = "api.example"\nport = {port}\nmethods = ["POST"]\npaths = ["/zzz"]\n'
    verdict = decide_request(read(text), "api.example", port, method, path, now=NOON)
    assert isinstance(verdict, Deny)
    if verdict.table:
        more = read(text + verdict.table)
        assert isinstance(decide_request(more, "api.example", port, method, path, now=NOON), Allow)
        assert isinstance(decide_request(more, "api.example", port, "PATCH", path, now=NOON), Deny)
        assert (
            isinstance(decide_request(more, "api.example", port, method, "/other", now=NOON), Deny)
            or "*" in path
        )


def test_where_a_host_is_dialled_does_not_change_when_its_rule_ends():
    policy = read(
        '[[allow]]\nhost = "db.host"\nupstream = "127.0.0.1:1"\nuntil = 2000-01-01T00:00:00Z\n'
        '[[allow]]\nhost = "api.example"'
    )
    assert isinstance(at(policy, "db.host", 443), Deny)
    assert appointed(policy, "db.host", 443) == Address("127.0.0.1", 1)
    assert appointed(policy, "db.host", 80) is None
    assert appointed(policy, "api.example", 443) is None


UPGRADES = read("""
allow_hosts = ["api.example"]
[[allow]]
host = "api.example"
methods = ["POST"]
paths = ["/x/*"]
until = 2031-01-01T00:00:00Z
upgrade = ["TCP"]
""")


def test_a_request_may_switch_protocols_by_a_rule_that_allows_it_and_says_so():
    def of(method, path, now=NOON, port=443):
        return upgrades(UPGRADES, "api.example", port, method, path, now=now)

    assert of("POST", "/x/y?q") == ("tcp",)
    for method, path in (("GET", "/x/y"), ("POST", "/x"), ("POST", "/x//y"), ("POST", "/x/../x/y")):
        assert of(method, path) == ()
    assert of("POST", "/x/y", port=80) == ()
    assert of("POST", "/x/y", NOON.replace(year=2032)) == ()
    assert isinstance(decide_request(UPGRADES, "api.example", 443, "GET", "/z", now=NOON), Allow)


MARKS = read("""
allow_hosts = ["api.example"]
[[allow]]
host = "api.example"
methods = ["POST"]
paths = ["/x/*"]
may_reexecute = true
[[allow]]
host = "db.example"
port = 5432
protocol = "tcp"
may_reexecute = true
""")


def test_a_mark_covers_what_its_rule_does():
    assert marked(MARKS, "api.example", 443, "POST", "/x/y?q")
    assert marked(MARKS, "api.example", None, "POST", "/x/y")
    for port, method, path in (
        (444, "POST", "/x/y"),
        (443, "PUT", "/x/y"),
        (443, "POST", "/x"),
        (443, None, "/"),
    ):
        assert not marked(MARKS, "api.example", port, method, path)
    assert marked(MARKS, "db.example", 5432, None)
    assert not marked(MARKS, "db.example", 5432, "POST")
    assert not marked(replace(POLICY, allow_all=True), "api.example", 443, "POST")


def test_a_mark_says_nothing_of_a_connection():
    bare = replace(MARKS, allow=tuple(replace(rule, may_reexecute=False) for rule in MARKS.allow))
    assert holding(MARKS, "api.example", 443, NOON) == holding(bare, "api.example", 443, NOON)
