"""The kernel's word on whose a socket is; the control is a listener of another process."""

import socket
import subprocess
import sys

import pytest

from hark.inprocess import own

LISTEN = """
import socket, sys
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); sys.stdin.read()
"""


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"])
def test_every_spelling_of_loopback_is_loopback(address: str) -> None:
    assert own.is_loopback(address)
    assert not own.is_loopback("192.0.2.1")
    assert not own.is_loopback("::ffff:192.0.2.1")


def test_a_port_is_ones_own_only_while_one_listens_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert own.serves(port)
        assert not own.serves(port, "udp")
    assert not own.serves(port)


def test_a_port_of_another_process_is_not_ones_own() -> None:
    command = [sys.executable, "-c", LISTEN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        port = int(other.stdout.readline())
        assert not own.serves(port)
        with socket.create_connection(("127.0.0.1", port)):  # the control: somebody listens
            pass
        other.stdin.close()


def test_connections_are_listed_by_peer_and_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert ("127.0.0.1", port) in [found[1:] for found in own.connections()]
            own.end_those_to({port + 1})
            client.sendall(b"still there")
            own.end_those_to({port})
            with pytest.raises(BrokenPipeError):
                client.sendall(b"over")
