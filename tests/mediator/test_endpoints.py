"""The table names endpoints as a policy may: canonical hosts, and patterns that can match."""

import pytest

from hark.policy.host import canonical_host
from hark.policy.model import Policy
from hark.policy.paths import wrong_pattern
from mediator.authority import Destination
from mediator.endpoints import SHIPPED, Below, minting_at


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


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("iamcredentials.googleapis.com", b"/batch"),
        ("iamcredentials.googleapis.com", b"/google.iam.credentials.v1.IAMCredentials/GenerateAccessToken"),
        ("sts.googleapis.com", b"/$rpc/google.identity.sts.v1.SecurityTokenService/ExchangeToken"),
        ("www.googleapis.com", b"/batch/iamcredentials/v1"),
        ("vpce-0a1b2c-d3e4f5.sts.us-east-1.vpce.amazonaws.com", b"/"),
        ("sts.us-east-1.vpce.amazonaws.com", b"/"),
        ("sts.eu-west-1.api.aws", b"/"),
        ("oidc.us-east-1.amazonaws.com", b"/token"),
    ],
)
def test_the_other_ways_to_the_same_mints_are_known(host: str, path: bytes) -> None:
    assert minting_at(Policy(), Destination(host, 443), path) is not None


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("www.googleapis.com", b"/batch/drive/v3"),
        ("vpce-1.s3.us-east-1.vpce.amazonaws.com", b"/"),
        ("sts.us-east-1.vpce.amazonaws.com.evil.test", b"/"),
        ("storage.googleapis.com", b"/x"),
    ],
)
def test_the_control_others_mint_nothing(host: str, path: bytes) -> None:
    assert minting_at(Policy(), Destination(host, 443), path) is None
