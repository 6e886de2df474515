"""Three tasks on a pipe, one of them not ASCII and one without a line's end."""

import json

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape

TASKS = ("sum up", "übersetze dies", "and the last")


def expect(run: Outcome) -> None:
    """Each reached the server."""
    assert tuple(json.loads(body)["task"] for body in run.served.bodies("/task")) == TASKS
    assert run.lines[-1] == "end of input"


SHAPE = Shape(
    about="tasks from a pipe",
    serve=routes({"/task": echo}),
    expect=expect,
    stdin="\n".join(TASKS).encode(),
    quick=True,
)
