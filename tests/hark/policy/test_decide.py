"""Verdicts: the default is to deny, and a rule covers its own host on its own port only."""

import pytest

from hark.policy.decide import Allow, Deny, decide_host, decide_name
from hark.policy.model import HostRule, Policy, Rule, covers

POLICY = Policy(
    allow_hosts=(HostRule("api.example"), HostRule("db.example", 8443), HostRule("192.0.2.1", 80))
)


def test_without_a_policy_everything_is_denied():
    assert isinstance(decide_host(Policy(), "api.example", 443), Deny)
    assert isinstance(decide_name(Policy(), "api.example"), Deny)


def test_a_rule_allows_its_host_on_its_port_and_names_itself():
    assert decide_host(POLICY, "api.example", 443) == Allow("allow_hosts: api.example")
    assert decide_host(POLICY, "db.example", 8443) == Allow("allow_hosts: db.example:8443")


def test_a_rule_does_not_hold_for_another_port_of_its_host():
    verdict = decide_host(POLICY, "db.example", 443)
    assert verdict == Deny("db.example is allowed on port 8443, not on 443", "db.example")


def test_neither_a_subdomain_nor_the_parent_of_an_allowed_name_is_allowed():
    for host in ("x.api.example", "example", "api.example.evil.example", "xapi.example"):
        assert isinstance(decide_host(POLICY, host, 443), Deny)
        assert isinstance(decide_name(POLICY, host), Deny)


def test_a_literal_address_needs_a_rule_of_its_own():
    assert isinstance(decide_host(POLICY, "192.0.2.2", 80), Deny)
    assert isinstance(decide_host(POLICY, "192.0.2.1", 80), Allow)


def test_the_hint_is_the_entry_that_would_allow_it():
    verdict = decide_host(POLICY, "new.example", 8080)
    assert isinstance(verdict, Deny)
    assert HostRule.parse(verdict.hint) == HostRule("new.example", 8080)


def test_a_name_is_resolved_when_any_port_of_it_is_allowed():
    assert isinstance(decide_name(POLICY, "db.example"), Allow)


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
    verdict = decide_host(policy, host, 8443)
    assert (verdict == Allow("allow 1: *.example.test")) is covered
    assert isinstance(decide_host(policy, host, 80), Deny)
