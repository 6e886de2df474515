"""A process that has left the network reaches nothing, and the kernel counts that it has not."""

import socket

import pytest

from launcher import offline
from tests.launcher.rig import WHO, apart


def _reached(address: tuple[str, int]) -> bool:
    with socket.socket() as client:  # no name to look up: its codec could not be loaded by then
        client.settimeout(2)
        return client.connect_ex(address) == 0


@pytest.mark.parametrize("who", WHO)
def test_who_has_left_reaches_no_listener_of_the_host(who: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def leave() -> tuple[bool, bool, list[str], int]:
            before = _reached(address)
            offline.leave_network()
            return before, _reached(address), offline.interfaces(), offline.packets()

        before, after, interfaces, packets = apart(leave, who=who)
    assert before
    assert not after
    assert interfaces == ["lo"]
    assert packets == 0


def test_a_packet_is_counted_where_there_is_a_network() -> None:
    """The control: the count of the tests' own namespace grows."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = offline.packets()
        assert _reached(server.getsockname())
        assert offline.packets() > before
