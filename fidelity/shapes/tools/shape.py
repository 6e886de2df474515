"""Tools at once, each a process: what the agent does next depends on which of them ended first."""

import json

from fidelity.concurrent import tickets
from fidelity.serving import built
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """All six ended in each turn, and the order was told."""
    for body in run.served.bodies("/step"):
        ended = json.loads(body)["ended"]
        assert sorted(name for name, _ in ended) == list(range(6))
        assert len({said for _, said in ended}) == 6
    assert len(run.served.bodies("/step")) == 3


SHAPE = Shape(
    about="six tools at once, each a shell in a thread: told in the order in which they ended",
    serve=built(tickets),
    expect=expect,
)
