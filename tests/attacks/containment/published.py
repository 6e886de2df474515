"""Trap 1 again: a published port is a way in for the operator, and must be no way out for the agent."""

import contextlib
import os
import socket
from collections.abc import Iterator

from launcher.doorway import Doorway, open_behind
from launcher.supervise import Boundary
from tests.attacks.containment.programs import CALLER, TRY, outside
from tests.attacks.registry import Outcome, attack
from tests.launcher.rig import apart, python

READY = "open('ready', 'w').close(); import time; time.sleep(60)\n"


@contextlib.contextmanager
def service() -> Iterator[int]:
    """A service on the host's loopback that greets whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as host:
        host.settimeout(0.01)
        yield host.getsockname()[1]


def _reach(doorway: Doorway, port: int) -> str:
    try:
        doorway.connect(port).close()
    except OSError as error:
        return f"REFUSED {error}"
    return "SUCCEEDED connected"


@attack(trap=1, name="have a published port lead to the service that the host has at the same number")
class SamePort:
    """The port is published and the agent listens nowhere: the host's own service must not answer."""

    @staticmethod
    def defended() -> Outcome:
        with service() as port:

            def during(boundary: Boundary) -> None:
                while not os.path.exists(os.path.join(boundary._plan.workdir, "ready")):
                    pass
                os.write(2, _reach(boundary.doorway, port).encode())
                boundary.kill("done")

            result = python(READY, who=CALLER, during=during, published=(port,))
        return Outcome.said(result.err or result.error)

    @staticmethod
    def undefended() -> Outcome:
        """The process stays in the host's network instead of going into the agent's."""
        with service() as port:
            return Outcome.said(apart(lambda: _reach(Doorway(open_behind((port,))), port), who=CALLER))


FIND = """
import glob
def look():
    return next(path for path in glob.glob('/proc/[0-9]*/comm') if open(path).read() == 'hark-doorway\\n')
try:
    print('SUCCEEDED', look())
except StopIteration:
    print('REFUSED nothing of that name')
"""


@attack(trap=1, name="find the process that opens published connections")
class Find:
    """What cannot be named cannot be traced, signalled or asked."""

    @staticmethod
    def defended() -> Outcome:
        result = python(TRY + FIND, who=CALLER, published=(8000,))
        return Outcome.said(result.out or result.error)

    @staticmethod
    def undefended() -> Outcome:
        held = open_behind((8000,))
        try:
            return outside(FIND)
        finally:
            held.close()
