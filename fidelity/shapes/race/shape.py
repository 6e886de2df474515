"""Two threads that race in memory."""

import json

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Both came in each time, and it was a race."""
    order = json.loads(run.served.bodies("/won")[0])["order"]
    assert order.count("a") == order.count("b") == 100
    assert len({order[place : place + 2] for place in range(0, 200, 2)}) > 1


SHAPE = Shape(
    about="two threads that race in memory",
    serve=routes({"/won": echo}),
    expect=expect,
    not_covered="who of two threads writes first is decided by the kernel's scheduler, inside the boundary",
)
