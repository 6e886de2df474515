"""Published ports: the operator's side reaches the agent's server, on the record, and nothing else."""

import errno
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from hark.bundle.events import REFUSED, TunnelData
from hark.errors import ConfinementError
from hark.policy.model import Address, Published, Secret
from mediator.publish import listen, sentences
from tests.mediator.rig import API, PLACEHOLDER, VALUE, Rig, running, secret


def at(port: int = 0, host: str = "127.0.0.1") -> Published:
    return Published(8000, Address(host, port))


def inside(answer: bytes) -> tuple[socket.socket, threading.Thread]:
    """A server that stands for the agent's, and takes one connection."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            one, _ = server.accept()
            with one:
                one.sendall(answer + one.recv(1000))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return server, thread


@contextmanager
def published(
    answer: bytes | None, *, secrets: tuple[Secret, ...] = ()
) -> Iterator[tuple[Rig, tuple[str, int]]]:
    server, thread = inside(answer or b"")

    def connect(port: int) -> socket.socket:
        if answer is None:
            raise ConnectionRefusedError(111, "Connection refused")
        assert port == 8000
        return socket.create_connection(server.getsockname())

    opened = listen((at(),), connect)
    address = opened.listeners[0][1].getsockname()
    with running(secrets=secrets, published=opened) as rig:
        yield rig, address
    with suppress(OSError):
        server.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for a caller
    server.close()
    thread.join(60)


WAS_RESET = {errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN}
"""What each call says of a connection that was reset before it."""


def asked(address: tuple[str, int], said: bytes) -> bytes:
    got = b""
    with socket.create_connection(address, timeout=60) as sock:
        try:
            sock.sendall(said)
            sock.shutdown(socket.SHUT_WR)
            while piece := sock.recv(1000):
                got += piece
        except OSError as error:
            if error.errno not in WAS_RESET:
                raise
    return got


def test_what_passes_is_on_the_record_both_ways_with_the_port_and_who_came() -> None:
    with published(b"page for ") as (rig, address):
        assert asked(address, b"hello") == b"page for hello"
        rig.recorder.wait_for(TunnelData, 5)
        first, *rest = rig.recorder.of(TunnelData)
        assert first.host.startswith("published port 8000 to 127.0.0.1:")
        assert [(event.from_agent, event.data) for event in rest if event.data] == [
            (False, b"hello"),
            (True, b"page for hello"),
        ]


def test_a_port_where_nobody_listens_is_answered_with_a_reset_and_recorded() -> None:
    with published(None) as (rig, address):
        assert asked(address, b"hello") == b""
        rig.recorder.wait_for(TunnelData, 3)
        assert [event.error for event in rig.recorder.of(TunnelData)[1:]] == [
            "no connection: connection refused"
        ] * 2


@pytest.mark.parametrize("way", ["in", "out"])
def test_a_credential_of_the_run_does_not_pass_either_way(way: str) -> None:
    answer = PLACEHOLDER.encode() if way == "out" else b"x"
    with published(answer, secrets=(secret(VALUE, API),)) as (rig, address):
        got = asked(address, VALUE.encode() if way == "in" else b"hello")
        assert VALUE.encode() not in got
        rig.recorder.wait_for(TunnelData, 3)
    assert any(event.error.startswith(REFUSED) for event in rig.recorder.of(TunnelData))
    assert not any(VALUE.encode() in event.data for event in rig.recorder.of(TunnelData))


def test_an_address_that_cannot_be_had_is_refused_and_leaves_nothing_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        with pytest.raises(ConfinementError, match="address already in use"):
            listen((at(port), at(taken.getsockname()[1])), lambda _port: socket.socket())
        socket.create_server(("127.0.0.1", port)).close()


def test_the_operator_is_told_where_a_port_is_and_warned_where_others_reach_it() -> None:
    assert list(sentences((at(80),))) == ["port 8000 of the agent is at 127.0.0.1:80"]
    assert "other machines" in list(sentences((at(80, "0.0.0.0"),)))[1]
    assert "[::]:80" in list(sentences((at(80, "::"),)))[1]
    assert len(list(sentences((at(80, "::1"),)))) == 1
