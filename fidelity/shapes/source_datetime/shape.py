"""The clock in request bodies."""

import json
import time

from fidelity.serving import echo, later, routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """The times went on, and are those of now."""
    quick = [json.loads(body)["time"] for body in run.served.bodies("/quick")]
    assert abs(quick[0] - time.time()) < 60
    assert quick[1] - quick[0] > 1


SHAPE = Shape(
    about="the wall clock, in all of Python's ways",
    serve=routes({"/quick": echo, "/slow": later(1.1, echo)}),
    expect=expect,
)
