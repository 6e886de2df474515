"""A guard and a redirection in this process, beside a mediator that stands for the attendant."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from hark.inprocess import guard as guarding
from hark.inprocess.guard import Guard
from hark.inprocess.redirect import Redirection
from tests.mediator.rig import Rig


@contextmanager
def guarded(*programs: str) -> Iterator[Guard]:
    """A guard that judges."""
    guard = Guard(programs)
    guarding.begin(guard)
    try:
        yield guard
    finally:
        guarding.end()


@contextmanager
def redirected(rig: Rig) -> Iterator[Guard]:
    """This process's sockets lead to that mediator."""
    guard = Guard()

    def dial(family: int, local: int, address: str, port: int) -> None:
        del family
        rig.origins.by_port[local] = (address, port)

    ports = {socket.AF_INET: rig.tcp[1], socket.AF_INET6: rig.sockets.tcp6.getsockname()[1]}
    redirection = Redirection(guard, dial, ports, rig.ca.pem().decode())
    redirection.apply()
    guarding.begin(guard)
    try:
        yield guard
    finally:
        guarding.end()
        redirection.undo()
