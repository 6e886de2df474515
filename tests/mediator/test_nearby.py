"""Without TLS a credential goes to services of this machine, and elsewhere only where the policy says so."""

import json
from dataclasses import replace

import pytest

from hark.bundle.events import SecretInjected
from hark.policy.model import Address, Secret, Surface
from mediator import nearby
from mediator.authority import Destination
from mediator.upstream import Redirect, read_redirects
from tests.mediator.rig import API, PLACEHOLDER, VALUE, plain, secret

HERE = Destination(API, 80)


@pytest.mark.parametrize(
    ("redirects", "appointed", "near"),
    [
        ({}, None, False),
        ({API: "127.0.0.1:8"}, None, True),
        ({API: "::1"}, None, True),
        ({API: "192.0.2.1"}, None, False),
        ({}, Address("127.0.0.1", 8), True),
        ({}, Address("192.0.2.1", 8), False),
        ({API: "192.0.2.1"}, Address("127.0.0.1", 8), False),
        ({"other.example.test": "127.0.0.1"}, None, False),
    ],
)
def test_a_service_of_this_machine_is_one_by_the_operators_word(
    redirects: dict[str, str], appointed: Address | None, near: bool
) -> None:
    read: dict[str, Redirect] = read_redirects(redirects)
    assert nearby.is_near(HERE, read, appointed) is near


def test_what_a_record_says_was_dialled_here_is_read_with_and_without_ports() -> None:
    said = (
        "a=127.0.0.1",
        "b=127.0.0.1:9",
        "c:80=[::1]:9",
        "d=192.0.2.1:9",
        "e=",
        "f",
        "a=192.0.2.1",
        "g=x y",
    )
    assert nearby.recorded(said) == {"a", "b", "c:80"}


BOTH = secret(VALUE, f"{API}:80", surfaces=(Surface.HEADER, Surface.BODY, Surface.QUERY, Surface.WS))


def _sent(one: Secret, monkeypatch: pytest.MonkeyPatch, *, far: bool) -> tuple[list[int], int, bytes]:
    """Ask without TLS in three places; return the answers, how many came to the server, and its bytes."""
    if far:
        monkeypatch.setattr(nearby, "is_loopback", lambda _: False)
    with plain(secrets=(one,)) as (rig, upstream):
        statuses = []
        for path, headers, body in (
            ("/a", {"X-Api-Key": PLACEHOLDER}, None),
            ("/b", {"Content-Type": "application/json"}, json.dumps({"key": PLACEHOLDER})),
            (f"/c?key={PLACEHOLDER}", {}, None),
        ):
            with rig.http() as client:
                client.request("POST" if body else "GET", path, body, headers)
                answer = client.getresponse()
                answer.read()
                statuses.append(answer.status)
        injected = len(rig.recorder.of(SecretInjected))
        seen = b"".join(f"{one.path} {one.headers}".encode() + one.body for one in upstream.seen)
    return statuses, injected, seen


@pytest.mark.attack
def test_without_tls_no_value_leaves_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses, injected, seen = _sent(BOTH, monkeypatch, far=True)
    assert statuses[0] == statuses[2] == 403
    assert statuses[1] in (403, 502)
    assert injected == 0
    assert VALUE.encode() not in seen


@pytest.mark.parametrize(("allowed", "far"), [(True, True), (False, False)])
def test_the_control_it_does_where_the_policy_says_so_and_to_this_machine(
    allowed: bool, far: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses, injected, seen = _sent(replace(BOTH, plain=allowed), monkeypatch, far=far)
    assert statuses == [200, 200, 200]
    assert injected == 3
    assert seen.count(VALUE.encode()) == 3
