"""A server that takes a request and never answers, and one that answers half of what it announced."""

import json
import time

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call


def never(call: Call) -> None:
    """Wait until the other side has long gone."""
    time.sleep(8)
    call.cut()


def half(call: Call) -> None:
    """Announce ten bytes, send five, and wait."""
    call.send_response(200)
    call.send_header("Content-Length", "10")
    call.end_headers()
    call.wfile.write(b"01234")
    call.wfile.flush()
    time.sleep(8)
    call.cut()


def expect(run: Outcome) -> None:
    """It gave up twice and went on."""
    assert [line[:7] for line in run.lines[:2]] == ["gave up"] * 2
    assert run.lines[2] == "here"
    assert json.loads(run.served.bodies("/report")[0]) == run.lines[:3]
    assert [one.path for one in run.served.seen] == ["/never", "/half", "/at-once", "/report"]


SHAPE = Shape(
    about="an answer that does not come and one that stops, both given up",
    serve=routes(
        {"/never": never, "/half": half, "/at-once": lambda call: call.reply(200, b"here"), "/report": echo}
    ),
    expect=expect,
)
