"""Trap 1 again, by way of the mediator: from one service of the host that is allowed to one that is not."""

import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final
from unittest.mock import patch

from hark.policy.decide import Allow
from hark.policy.model import Address, Rule, Speaks
from mediator import dial, gate, upstream
from mediator.authority import Destination
from tests.attacks.registry import Outcome, Verdict, add, run_without
from tests.fakes.raw import raw_server
from tests.mediator.rig import API, OTHER, Rig, running

BANNER: Final = b"a service of the host"
PORT: Final = 5432


def _serve(connection: socket.socket) -> None:
    connection.sendall(BANNER)
    connection.recv(1)


def _banner(sock: socket.socket) -> bool:
    try:
        return sock.recv(100) == BANNER
    except OSError:
        return False


def _by_port() -> Outcome:
    """The allowed name on another port, and the host's own address on that port."""
    with raw_server(_serve) as wanted, raw_server(_serve) as other:
        appointed = Address("127.0.0.1", wanted.port)
        rules = (Rule(API, (PORT,), "allow 1", Speaks.TCP, upstream=appointed),)
        with running(rules=rules) as rig:
            found = [place for place in (rig.address(API), "127.0.0.1") if _reaches(rig, place, other.port)]
        return Outcome.seen(f"reached {found}, {other.dials} dials", succeeded=bool(found))


def _reaches(rig: Rig, place: str, port: int) -> bool:
    with rig.dial(place, port) as sock:
        return _banner(sock)


def _by_resolver() -> Outcome:
    """A name that the policy allows and whose owner lets it resolve to this machine."""
    with raw_server(_serve) as other:
        rules = (Rule(OTHER, (other.port,), "allow 1", Speaks.TCP),)
        here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", other.port))]
        with (
            patch.object(dial.socket, "getaddrinfo", lambda *_, **__: here),
            running(rules=rules) as rig,
            rig.dial(rig.address(OTHER), other.port) as sock,
        ):
            reached = _banner(sock)
        return Outcome(Verdict.SUCCEEDED if reached else Verdict.REFUSED, f"{other.dials} dials")


@contextmanager
def _any_port() -> Iterator[None]:
    """No look at the port that was dialled, and the address of this machine for whatever it is."""
    anything = Allow("the defence is taken away", Rule(API, speaks=Speaks.TCP))

    def appointed(_dialler: object, target: Destination) -> tuple[str, int]:
        return "127.0.0.1", target.port

    with (
        patch.object(gate, "judge_dial", lambda *_: anything),
        patch.object(dial.Dialler, "_explicit", appointed),
    ):
        yield


def _any_address() -> AbstractContextManager[object]:
    return patch.object(upstream, "forbidden", lambda *_: None)


add(1, "another port of an allowed service of the host", _by_port, run_without(_any_port, _by_port))
add(1, "raw TCP to a name that resolves to the host", _by_resolver, run_without(_any_address, _by_resolver))
