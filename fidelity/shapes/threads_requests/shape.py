"""Eight threads that share a session of requests."""

from fidelity.concurrent import steps, tickets
from fidelity.serving import built
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Each took its three steps."""
    steps(run, workers=8, each=3)


SHAPE = Shape(
    about="8 threads over one session of requests",
    serve=built(tickets),
    expect=expect,
    packages=True,
)
