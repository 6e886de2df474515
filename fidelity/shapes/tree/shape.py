"""Python, a shell, Python twice, curl twice; and that again."""

import json

from fidelity.concurrent import tickets
from fidelity.serving import built
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """All four leaves sent something of their own."""
    sent = [json.loads(body) for body in run.served.bodies("/step")]
    assert {each["worker"] for each in sent} == {"left-0", "right-0", "left-1", "right-1"}
    assert len({each["id"] for each in sent}) == 4


SHAPE = Shape(
    about="a tree of processes: Python, sh, Python, curl",
    serve=built(tickets),
    expect=expect,
    program="curl",
)
