"""Fifty tasks over twenty connections."""

import json

from fidelity.concurrent import steps, tickets
from fidelity.serving import built
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Each took its step, and not in the order of their numbers."""
    steps(run, workers=50, each=1)
    (order,) = (json.loads(body) for body in run.served.bodies("/order"))
    assert sorted(order) == list(range(50))
    assert order != sorted(order)


SHAPE = Shape(about="asyncio.gather of 50, in the order of the answers", serve=built(tickets), expect=expect)
