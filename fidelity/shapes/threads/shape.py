"""Eight threads and a server that takes differently long for each."""

from fidelity.concurrent import steps, tickets
from fidelity.serving import built
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Each took its three steps."""
    steps(run, workers=8, each=3)


SHAPE = Shape(about="8 threads: urllib, random, uuid in each", serve=built(tickets), expect=expect)
