"""The seat between a mediator and a test: dials are counted for what was said, and an end is told."""

import json
import socket
import threading
from collections.abc import Iterator

import pytest

from hark.inprocess import words
from hark.inprocess.seat import AUTHORITY, Seat
from launcher import wire


@pytest.fixture
def seated() -> Iterator[tuple[Seat, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    seat = Seat(theirs, 1, {"KEY": "placeholder"})
    with ours, theirs:
        yield seat, ours
        seat.close()
        for sock in (*(getattr(seat.sockets, name) for name in ("tcp4", "tcp6", "udp4", "udp6", "packets")),):
            sock.close()


def test_the_test_is_told_where_to_connect_whom_to_trust_and_what_to_hold(
    seated: tuple[Seat, socket.socket],
) -> None:
    seat, test = seated
    seat.start({AUTHORITY: b"PEM"}, lambda *_: True)
    ready = wire.receive(test)
    assert ready.word == words.READY
    assert int(ready.fields[0]) == seat.sockets.tcp4.getsockname()[1]
    assert (ready.fields[2], json.loads(ready.fields[3])) == ("PEM", {"KEY": "placeholder"})


def test_a_connection_is_what_was_said_of_it_once_and_a_strangers_is_unknown(
    seated: tuple[Seat, socket.socket],
) -> None:
    seat, test = seated
    with socket.socket() as client, socket.socket() as stranger:
        client.bind(("127.0.0.1", 0))
        wire.send(test, words.DIAL, "2", str(client.getsockname()[1]), "192.0.2.1", "443")
        wire.send(test, words.ENDED, "3")
        ended = seat.wait()
        assert (wire.receive(test).word, ended.code) == (words.OK, 3)
        for sock in (client, stranger):
            sock.connect(seat.sockets.tcp4.getsockname())
        accepted, other = seat.sockets.tcp4.accept()[0], seat.sockets.tcp4.accept()[0]
        with accepted, other:
            assert seat.origin(accepted) == ("192.0.2.1", 443)
            for unknown in (other, accepted):
                with pytest.raises(OSError, match="said nothing"):
                    seat.origin(unknown)


def test_a_run_that_is_ended_is_ended_for_the_test_at_its_next_step(
    seated: tuple[Seat, socket.socket],
) -> None:
    seat, test = seated
    threading.Timer(0.05, seat.kill, ("it diverged",)).start()
    assert seat.wait().killed == "it diverged"
    wire.send(test, words.DIAL, "2", "1", "192.0.2.1", "443")
    wire.send(test, words.ENDED, "1")
    seat.until_end()
    assert wire.receive(test) == wire.Message(words.OVER, ("it diverged",))


def test_a_test_that_is_gone_has_ended_by_force(seated: tuple[Seat, socket.socket]) -> None:
    seat, test = seated
    test.close()
    assert seat.wait().signal == 9
    assert seat.ended == -1


def test_no_boundary_is_said_to_be_there(seated: tuple[Seat, socket.socket]) -> None:
    facts = seated[0].facts
    assert (facts.landlock_abi, facts.grants, facts.withheld) == (0, (), ())
    assert facts.uid > 0
