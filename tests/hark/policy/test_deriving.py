"""A policy out of what a run reached: it allows that, and nothing else."""

from hark.bundle import events as ev
from hark.policy.decide import Allow, decide_dial
from hark.policy.deriving import derived
from hark.policy.model import Speaks
from tests.hark.export.story import frame, frames
from tests.support.policies import NOON, read


def tried(host, port, protocol, *, allowed=True):
    return ev.EgressAttempt(host, port, protocol), ev.EgressDecision(host, allowed=allowed, rule="--x")


def policy(*pairs):
    return "\n".join(derived(frames(*(event for pair in pairs for event in pair))))


def test_what_was_reached_is_allowed_once_and_what_was_denied_is_not():
    text = policy(
        tried("b.example", 443, "tls"),
        tried("a.example", 80, "http"),
        tried("b.example", 443, "tls"),
        tried("2001:db8::1", 443, "tls"),
        tried("sql.example", 5432, "tcp"),
        tried("git.example", 22, "ssh"),
        tried("c.example", 443, "tls", allowed=False),
    )
    rules = read(text)
    for host, port, speaks in (
        ("b.example", 443, Speaks.WEB), ("a.example", 80, Speaks.WEB), ("2001:db8::1", 443, Speaks.WEB),
        ("sql.example", 5432, Speaks.TCP), ("git.example", 22, Speaks.TCP),
    ):  # fmt: skip
        verdict = decide_dial(rules, host, port, NOON)
        assert isinstance(verdict, Allow), host
        assert verdict.by is not None
        assert verdict.by.speaks is speaks
    for host, port in (("c.example", 443), ("a.example", 443), ("b.example", 80), ("sql.example", 443)):
        assert not isinstance(decide_dial(rules, host, port, NOON), Allow)
    assert text.count("b.example") == 1


def test_decisions_belong_to_the_attempts_at_their_host_in_order():
    (first, yes), (second, no) = tried("a.example", 80, "http"), tried("a.example", 25, "tcp", allowed=False)
    (other, let) = tried("b.example", 443, "tls")
    text = "\n".join(derived(frames(first, other, second, let, yes, no)))
    assert text == 'allow_hosts = [\n    "a.example:80",\n    "b.example",\n]'


def test_one_port_is_not_both_and_what_no_policy_can_name_is_left_out():
    text = policy(
        tried("a.example", 443, "tls"),
        tried("a.example", 443, "tcp"),
        tried('x"]\n[limits]\ny = ["', 443, "tls"),
        tried("bad host", 25, "tcp"),
    )
    assert [rule.host for rule in read(text).rules] == ["a.example"]
    assert '# raw TCP was passed to "a.example:443" too' in text


def test_what_was_redacted_says_nothing_and_nothing_is_no_policy_with_hosts():
    attempt, decision = tried("a.example", 443, "tls")
    whole = [frame(1, attempt), frame(2, decision)]
    assert list(derived(whole)) != []
    assert list(derived([whole[0], whole[1]._replace(payload=b"")])) == []
    assert list(derived([whole[0]._replace(payload=b""), whole[1]])) == []
