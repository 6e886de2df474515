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
        assert own.serves("127.0.0.1", port)
        assert not own.serves("127.0.0.1", port, "udp")
    assert not own.serves("127.0.0.1", port)


def test_a_port_of_another_process_is_not_ones_own() -> None:
    command = [sys.executable, "-c", LISTEN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        port = int(other.stdout.readline())
        assert not own.serves("127.0.0.1", port)
        with socket.create_connection(("127.0.0.1", port)):  # the control: somebody listens
            pass
        other.stdin.close()


@pytest.mark.attack
@pytest.mark.parametrize("mine", ["127.0.0.2", "::1"])
def test_a_port_at_another_address_makes_no_others_server_ones_own(mine: str) -> None:
    command = [sys.executable, "-c", LISTEN]
    family = socket.AF_INET6 if ":" in mine else socket.AF_INET
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        port = int(other.stdout.readline())
        with socket.create_server((mine, port), family=family):
            assert own.serves(mine, port)  # the control
            assert not own.serves("127.0.0.1", port)
            assert not own.serves("0.0.0.0", port)
        other.stdin.close()


@pytest.mark.parametrize(
    ("listens", "asked"),
    [
        ("0.0.0.0", "127.0.0.1"),
        ("127.0.0.1", "0.0.0.0"),
        ("127.0.0.1", "::ffff:127.0.0.1"),
        ("::1", "::"),
        ("::1", "::1%lo"),
    ],
)
def test_what_takes_a_connection_is_found_in_every_spelling(listens: str, asked: str) -> None:
    family = socket.AF_INET6 if ":" in listens else socket.AF_INET
    with socket.create_server((listens, 0), family=family) as server:
        port = server.getsockname()[1]
        assert own.serves(asked, port)
        assert (("0.0.0.0", port) in own.exposed()) is (listens == "0.0.0.0")
    assert not own.serves(asked, port)


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
