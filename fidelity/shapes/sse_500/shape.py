"""A stream of 500 events, as fast as they can be sent, with a request of the agent's after each hundred."""

import json
import random
import time

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call


def stream(call: Call) -> None:
    """Events of different sizes, now and then a pause."""
    chance = random.Random(1)
    call.begin_chunked("text/event-stream")
    for number in range(500):
        call.chunk(f"data: {json.dumps({'n': number, 'text': 'x' * chance.randrange(300)})}\n\n".encode())
        if number % 50 == 0:
            time.sleep(0.01)
    call.chunk(b"")


def expect(run: Outcome) -> None:
    """All came, and the five marks were made in the middle."""
    assert run.lines[0].split()[0] == "500"
    assert [json.loads(body)["events"] for body in run.served.bodies("/mark")] == [100, 200, 300, 400, 500]


SHAPE = Shape(
    about="an event stream of 500 events, with requests beside it",
    serve=routes({"/stream": stream, "/mark": echo}),
    expect=expect,
)
