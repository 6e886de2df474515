"""Traps 26 and 27 in raw TCP, where nothing is replaced: a placeholder leaves, a real value comes in."""

import contextlib
import socket
from collections.abc import Iterator
from typing import Final
from unittest.mock import patch

from hark.policy.model import Address, Rule, Speaks
from mediator import tunnel
from mediator.borders import Borders
from tests.attacks.registry import Outcome, add, run_without
from tests.fakes.raw import raw_server
from tests.mediator.rig import API, OTHER, running, secret

VALUE: Final = "s3cr3t-Value-0123456789/abc"
KEY: Final = secret(VALUE, API)
PORT: Final = 5432


def _rule(address: str) -> tuple[Rule, ...]:
    host, _, port = address.partition(":")
    return (Rule(OTHER, (PORT,), "allow 1", Speaks.TCP, upstream=Address(host, int(port))),)


def _leaves() -> Outcome:
    """Sent in pieces, so that no one of them has it whole."""
    got = bytearray()

    def keep(connection: socket.socket) -> None:
        while piece := connection.recv(1000):
            got.extend(piece)

    with raw_server(keep) as server, running(rules=_rule(server.address), secrets=(KEY,)) as rig:
        with rig.dial(rig.address(OTHER), PORT) as sock, contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in KEY.placeholder.encode():
                sock.sendall(bytes((byte,)))
            sock.shutdown(socket.SHUT_WR)
            sock.recv(1)
        rig.mediator.stop()
    return Outcome.seen(f"the server got {len(got)} bytes", succeeded=KEY.placeholder.encode() in got)


def _comes_in() -> Outcome:
    """In hexadecimal, cut in the middle."""
    sent = VALUE.encode().hex().encode()

    def give(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(sent[:30])
        connection.sendall(sent[30:])
        connection.recv(1)

    got = bytearray()
    with (
        raw_server(give) as server,
        running(rules=_rule(server.address), secrets=(KEY,)) as rig,
        rig.dial(rig.address(OTHER), PORT) as sock,
        contextlib.suppress(OSError),
    ):
        while len(got) < len(sent) and (piece := sock.recv(1000)):
            got.extend(piece)
    return Outcome.seen(f"the agent got {len(got)} bytes", succeeded=sent in got)


@contextlib.contextmanager
def _unsearched() -> Iterator[None]:
    """Without the search of the stream, and that across the borders of its events."""
    with (
        patch.multiple(tunnel.StreamSwap, at_once=lambda _, piece: piece, finish=lambda _: b""),
        patch.object(Borders, "check", lambda *_: None),
    ):
        yield


add(26, "a placeholder in raw TCP", _leaves, run_without(_unsearched, _leaves))
add(27, "a real value in raw TCP", _comes_in, run_without(_unsearched, _comes_in))
