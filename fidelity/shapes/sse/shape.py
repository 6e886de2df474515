"""An event stream of twelve events that come one by one, one of them cut in two between its bytes."""

import json
import time

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call


def stream(call: Call) -> None:
    """Send each event when it is time, the seventh in two chunks."""
    call.begin_chunked("text/event-stream")
    for number in range(12):
        data = f"event: delta\ndata: {json.dumps({'n': number, 'text': 'é' * number})}\n\n".encode()
        cuts = (data[:-9], data[-9:]) if number == 7 else (data,)
        for cut in cuts:
            call.chunk(cut)
            time.sleep(0.03)
    call.chunk(b"")


def expect(run: Outcome) -> None:
    """It saw the events one by one and reported thirteen pieces."""
    (done,) = run.served.bodies("/done")
    assert len(json.loads(done)["pieces"]) == 13, done
    assert run.lines[0] == "200 text/event-stream"


SHAPE = Shape(
    about="an event stream, read piece by piece",
    serve=routes({"/stream": stream, "/done": echo}),
    expect=expect,
    quick=True,
)
