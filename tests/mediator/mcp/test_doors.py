"""Which connections lead to a tool server, and how many."""

import contextlib

import pytest

from hark.bundle.events import EgressAttempt, EgressDecision, McpMessage
from launcher.plan import GATEWAY_V4, GATEWAY_V6
from mediator.mcp import doors
from mediator.mcp.program import FIRST_PORT
from tests.mediator.mcp.rig import Client, door, program, text_of
from tests.mediator.rig import Rig, running


def refused(rig: Rig) -> bool:
    """Tell whether one more connection is reset."""
    try:
        more = Client(rig)
    except OSError:
        return True  # the reset may come before `connect` has returned
    try:
        return more.call("echo") is None
    except OSError:
        return True
    finally:
        more.close()


def test_a_connection_is_recorded_with_the_table_that_allows_it() -> None:
    with door() as (rig, client):
        client.call("echo")
        (attempt,) = rig.recorder.of(EgressAttempt)
        (decision,) = rig.recorder.of(EgressDecision)
    assert (attempt.host, attempt.port, attempt.protocol) == (GATEWAY_V4, FIRST_PORT, "mcp")
    assert (decision.allowed, decision.rule) == (True, "mcp.fake")


@pytest.mark.parametrize(
    "place", [(GATEWAY_V4, FIRST_PORT + 1), ("198.51.100.7", FIRST_PORT), (GATEWAY_V6, FIRST_PORT)]
)
def test_no_other_address_or_port_is_a_door(place: tuple[str, int]) -> None:
    with running(mcp=(program(),)) as rig, rig.dial(*place) as sock:
        sock.sendall(b'{"id":1,"method":"ping"}\n')
        with contextlib.suppress(OSError):
            assert sock.recv(100) == b""
        assert not any(decision.allowed for decision in rig.recorder.of(EgressDecision))


def test_without_servers_there_is_no_door() -> None:
    with running() as rig, rig.dial(GATEWAY_V4, FIRST_PORT) as sock:
        sock.sendall(b'{"id":1,"method":"ping"}\n')
        with contextlib.suppress(OSError):
            assert sock.recv(100) == b""
        assert rig.recorder.of(McpMessage) == []


def test_open_connections_are_bounded_and_room_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "MAX_OPEN", 2)
    with door() as (rig, client):
        client.call("echo")
        second = Client(rig)
        assert text_of(second.call("echo")) == "{}"
        assert refused(rig)
        second.done()
        while second.receive() is not None:
            pass
        second.close()
        rig.recorder.wait_for(McpMessage, 5)  # two of each connection, and the end of this one
        assert not refused(rig)
        denials = [one.reason for one in rig.recorder.of(EgressDecision) if not one.allowed]
    assert denials == ["2 are open already of the connections to tool servers"]


def test_the_lines_at_the_end_of_a_run_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "MAX_WARNINGS", 2)
    with door(program(tools=())) as (rig, client):
        for number in range(5):
            client.call(f"tool-{number}", number)
        warnings = rig.mediator.summary().warnings
    assert len(warnings) == 3
    assert "hark inspect" in warnings[-1]


def test_connections_of_a_run_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "MAX_MADE", 1)
    with door() as (rig, client):
        client.call("echo")
        client.close()
        assert refused(rig)
