"""Node: fetch, crypto and Date."""

import json

from fidelity.concurrent import tickets
from fidelity.serving import built
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Ten requests with draws of their own."""
    taken = [json.loads(body) for body in run.served.bodies("/step")]
    assert len(taken) == 10
    for name in ("id", "draw", "bytes", "web"):
        assert len({each[name] for each in taken}) == 10, name
    assert run.lines[-1].startswith("first ")


SHAPE = Shape(
    about="Node: fetch, crypto, Date, Promise.all and race",
    serve=built(tickets),
    expect=expect,
    command=("node", "agent.mjs"),
    program="node",
)
