"""The table names endpoints as a policy may: canonical hosts, and patterns that can match."""

from hark.policy.host import canonical_host
from hark.policy.paths import wrong_pattern
from mediator.endpoints import SHIPPED, Below


def test_every_row_can_match() -> None:
    for endpoint in SHIPPED:
        assert endpoint.fields
        for domain in (*endpoint.at, *endpoint.used):
            assert canonical_host(domain.replace(".*.", ".x.", 1)) == domain.replace(".*.", ".x.", 1)
        for pattern in endpoint.paths:
            assert wrong_pattern(pattern) is None


def test_below_a_domain_are_its_hosts_at_any_depth_and_itself() -> None:
    domain = Below("example.test")
    assert domain.matches("example.test", 443)
    assert domain.matches("a.b.example.test", 443)
    for host, port in (("badexample.test", 443), ("example.test.evil", 443), ("a.example.test", 80)):
        assert not domain.matches(host, port)
