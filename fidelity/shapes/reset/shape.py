"""A server that resets connections in the middle of answers, the first time."""

import socket
import struct
import time

from fidelity.serving import built, echo, in_turn
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call, Upstream

WHOLE = b"0123456789" * 1000


def reset(call: Call) -> None:
    """End the connection rudely."""
    call.wfile.flush()
    time.sleep(0.1)
    call.close_connection = True
    call.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    call.connection.close()


def long(call: Call) -> None:
    """Announce more than comes."""
    call.send_response(200)
    call.send_header("Content-Length", str(len(WHOLE)))
    call.end_headers()
    call.wfile.write(WHOLE[:4000])
    reset(call)


def chunked(call: Call) -> None:
    """Never send the last chunk."""
    call.begin_chunked("text/plain")
    call.chunk(b"x" * 1000)
    time.sleep(0.05)
    call.chunk(b"y" * 500)
    reset(call)


def build(server: Upstream) -> None:
    """Resets at first."""
    server.on("/long")(in_turn(long, lambda call: call.reply(200, WHOLE)))
    server.on("/chunked")(chunked)
    server.on("/report")(echo)


def expect(run: Outcome) -> None:
    """It noticed each time where the answer ended."""
    assert "after 4000" in run.lines[0]
    assert "after 1500" in run.lines[1]
    assert run.lines[2] == "/long whole 10000"


SHAPE = Shape(about="a reset in the middle of an answer", serve=built(build), expect=expect, quick=True)
