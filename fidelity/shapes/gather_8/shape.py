"""Eight tasks of one event loop."""

from fidelity.concurrent import steps, tickets
from fidelity.serving import built
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Each took its three steps."""
    steps(run, workers=8, each=3)


SHAPE = Shape(about="asyncio.gather of 8 (aiohttp)", serve=built(tickets), expect=expect)
