"""A work queue that is shared by processes."""

import json

from fidelity.serving import echo, later, routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """All tasks were done, by more than one process."""
    done = [json.loads(body) for body in run.served.bodies("/task")]
    assert sorted(each["task"] for each in done) == list(range(12))
    assert len({each["worker"] for each in done}) > 1


SHAPE = Shape(
    about="a work queue shared by 4 processes",
    serve=routes({"/task": later(0.02, echo)}),
    expect=expect,
    not_covered="which process takes which task is decided by the kernel's scheduler, inside the boundary",
)
