"""What the command line says of dialling is read whole before the run, or refused with the next step."""

from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.plan import outward
from hark.policy.model import HostRule, Policy
from launcher.plan import Plan

POLICY = Policy(allow_hosts=(HostRule("api.example"),))
PROXIED = {"HTTPS_PROXY": "http://me:pass-word@proxy.example:3128"}


def plan(**env: str) -> Plan:
    return Plan(("/bin/true",), "/bin/true", "/", env, ())


def test_an_upstream_is_kept_by_canonical_name() -> None:
    found = outward.upstreams(("API.Example.=127.0.0.1:8443",), POLICY)
    assert found == {"api.example": "127.0.0.1:8443"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("api.example",), "is not HOST=ADDR"),
        (("other.example=127.0.0.1",), "allow_hosts does not"),
        (("a b=127.0.0.1",), "control character or a space"),
        (("api.example=localhost:1",), "localhost"),
        (("api.example=127.0.0.1", "API.example=127.0.0.2"), "names api.example twice"),
    ],
)
def test_an_upstream_that_makes_no_sense_is_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        outward.upstreams(words, POLICY)


def test_the_password_of_a_proxy_that_the_agent_would_hold_is_refused() -> None:
    assert [str(proxy) for proxy in outward.proxies(PROXIED, plan()).all] == ["http://proxy.example:3128"]
    with pytest.raises(PolicyError, match=r"hold the password of the proxy http://proxy\.example:3128"):
        outward.proxies(PROXIED, plan(**PROXIED))


def test_a_proxy_that_is_nowhere_named_is_refused() -> None:
    with pytest.raises(PolicyError, match="-via-proxy: neither"):
        outward.proxies({}, plan())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("host", "holds no PEM certificate"),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "certificate 1 in it is damaged",
        ),
    ],
)
def test_roots_that_could_not_be_used_are_refused(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "roots.pem").write_text(content)
    with pytest.raises(PolicyError, match=said):
        outward.roots((str(tmp_path / "roots.pem"),))
    assert outward.roots(()) == ()
