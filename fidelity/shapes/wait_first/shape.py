"""A server whose answers come in an order of its own, far apart; the last two late."""

import json
import time

from fidelity.serving import echo, routes, say
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call

DELAYS = (0.5, 0.1, 0.4, 2.5, 0.2, 2.5)


def step(call: Call) -> None:
    """Answer when it is this one's turn."""
    worker = json.loads(call.body)["worker"]
    time.sleep(DELAYS[worker])
    say(call, {"ticket": f"t{worker}"})


def expect(run: Outcome) -> None:
    """It took the four quick ones, in the order in which they came."""
    (came,) = (json.loads(body) for body in run.served.bodies("/order"))
    assert [each.split()[0] for each in came] == ["1", "4", "2", "0"], came


SHAPE = Shape(
    about="asyncio.wait for the first, the last ones cancelled",
    serve=routes({"/step": step, "/order": echo}),
    expect=expect,
)
