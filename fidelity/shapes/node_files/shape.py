"""Node: files that are looked for side by side by threads of its own, and programs that run so."""

import json

from fidelity.concurrent import tickets
from fidelity.serving import built
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """All were found in each turn, each with a draw of its own."""
    for body in run.served.bodies("/step"):
        found = json.loads(body)["found"]
        assert len({one.rpartition(" ")[2] for one in found}) == len(found) == 28
    assert len(run.served.bodies("/step")) == 3


SHAPE = Shape(
    about="Node: 24 files side by side, then 4 shells: told in the order in which they were there",
    serve=built(tickets),
    expect=expect,
    command=("node", "agent.mjs"),
    program="node",
)
