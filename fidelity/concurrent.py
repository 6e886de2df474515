"""For shapes with several workers: a server whose steps take differently long, and what must be seen."""

import json
import random
import time

from fidelity.serving import echo, say
from fidelity.shape import Outcome
from tests.fakes.upstream import Call, Upstream


def tickets(server: Upstream) -> None:
    """Answer each step with a ticket, after 5 to 60 ms by worker and step; `/order` is taken as it comes."""

    def step(call: Call) -> None:
        asked = json.loads(call.body)
        chance = random.Random(f"{asked['worker']} {asked['step']}")
        time.sleep(chance.uniform(0.005, 0.06))
        say(call, {"ticket": f"{asked['worker']}.{asked['step']}.{chance.randrange(10**6)}"})

    server.on("/step")(step)
    server.on("/order")(echo)


def steps(run: Outcome, workers: int, each: int) -> None:
    """Make sure that every worker took its steps in order, with identifiers and draws of its own."""
    taken = [json.loads(body) for body in run.served.bodies("/step")]
    assert len(taken) == workers * each, len(taken)
    for worker in range(workers):
        own = [step for step in taken if step["worker"] == worker]
        assert [step["step"] for step in own] == list(range(each))
        assert all(step["after"].startswith(f"{worker}.") for step in own[1:])
    for what in ("id", "draw"):
        assert len({step[what] for step in taken}) == len(taken), f"a {what} came twice"
