"""Where everything is allowed, everything is carried: the web as ever, anything else as raw TCP."""

import pytest

from hark.bundle.events import EgressDecision, TunnelData
from hark.policy.model import Policy
from tests.fakes.raw import echo, raw_server, read_all
from tests.mediator.rig import API, raw, running

EVERYTHING = Policy(allow_all=True)
SSH = b"SSH-2.0-OpenSSH_9.2\r\n"


def test_a_protocol_that_nobody_named_is_tunnelled_with_its_first_bytes() -> None:
    with (
        raw_server(echo) as server,
        running(policy=EVERYTHING, upstreams={API: server.address}) as rig,
        rig.dial(rig.address(API), 9999) as sock,
    ):
        sock.sendall(SSH)
        assert sock.recv(100) == SSH
        assert b"".join(event.data for event in rig.recorder.of(TunnelData) if event.from_agent) == SSH
        assert EgressDecision(API, True, "--unsafe-allow-all", "") in rig.recorder.of(EgressDecision)


def test_a_server_that_speaks_first_is_heard() -> None:
    def greet(connection) -> None:
        connection.sendall(b"220 ready\r\n")
        read_all(connection)

    with (
        raw_server(greet) as server,
        running(policy=EVERYTHING, upstreams={API: server.address}) as rig,
        rig.dial(rig.address(API), 25) as sock,
    ):
        assert sock.recv(100) == b"220 ready\r\n"


@pytest.mark.parametrize("policy", [Policy(), None])
def test_the_control_without_the_option_it_is_reset(policy: Policy | None) -> None:
    with running(f"{API}:9999", policy=policy) as rig:
        address = rig.address(API) if policy is None else "198.51.100.7"
        with rig.dial(address, 9999) as sock:
            assert raw(sock, SSH) == b"<reset>"


def test_a_name_that_no_rule_has_is_answered_and_keeps_its_address() -> None:
    with running(policy=EVERYTHING) as rig:
        assert rig.address("a.test") == rig.address("a.test") != rig.address("b.test")
