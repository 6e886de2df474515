"""Rules and secrets as values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.policy.host import HostError
from hark.policy.model import HostRule, Policy, Rule, Secret, covers


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("api.example", HostRule("api.example", 443)),
        ("api.example:80", HostRule("api.example", 80)),
        ("::1", HostRule("::1", 443)),
        ("[::1]:80", HostRule("::1", 80)),
    ],
)
def test_a_rule_reads_back_as_it_prints(text, rule):
    assert HostRule.parse(text) == rule
    assert HostRule.parse(str(rule)) == rule


def test_a_rule_with_two_ports_is_refused():
    with pytest.raises(HostError):
        HostRule.parse("api.example:1:2")


def test_a_secret_never_shows_its_value():
    secret = Secret("KEY", "the-real-value", "placeholder", (HostRule("api.example"),))
    assert "the-real-value" not in repr(secret)
    assert "placeholder" in repr(secret)


def test_a_secret_is_bound_to_host_and_port():
    secret = Secret("KEY", "v", "p", (HostRule("api.example"),))
    assert secret.bound_to("api.example", 443)
    assert not secret.bound_to("api.example", 8443)
    assert not secret.bound_to("other.example", 443)


@given(
    st.lists(st.sampled_from(["a.x", "*.x", "b.a.x", "*.a.x", "x", "*.y"]), max_size=6),
    st.sampled_from(["a.x", "b.a.x", "x", "c.a.x", "y", "a.y", ".x", "", "a.", "198.51.100.7", "::1"]),
)
def test_the_rules_about_a_host_are_those_that_cover_it_exact_ones_first(hosts, host):
    policy = Policy(allow=tuple(Rule(name, name=str(number)) for number, name in enumerate(hosts)))
    found = policy.about(host)
    assert {rule.name for rule in found} == {rule.name for rule in policy.rules if covers(rule.host, host)}
    exact = [rule.host == host for rule in found]
    assert exact == sorted(exact, reverse=True)
