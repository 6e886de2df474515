"""One server that answers, and a port at which nobody listens."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from fidelity.serving import echo, served
from fidelity.shape import Outcome, Served, Shape
from tests.e2e.rig import Desk
from tests.fakes.upstream import serving


@contextmanager
def serve(_desk: Desk) -> Iterator[Served]:
    """Hold the port of `gone.example` without listening at it."""
    with serving("api.example") as upstream, socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        upstream.routes.update({"/a": echo, "/report": echo})
        one = served(upstream, "api.example")
        gone = {"gone.example": f"127.0.0.1:{held.getsockname()[1]}"}
        yield Served(dict(one.addresses) | gone, one.ca_pem, one.seen)


def expect(run: Outcome) -> None:
    """It failed twice and went on."""
    assert run.lines[2] == "200"
    assert not any(line.startswith("2") for line in run.lines[:2])
    assert [one.path for one in run.served.seen] == ["/a", "/report"]


SHAPE = Shape(about="a server that refuses the connection, twice", serve=serve, expect=expect)
