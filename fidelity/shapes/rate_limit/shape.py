"""A server that allows one request a second, and says when to come again: once in seconds, once as a date."""

import email.utils
import json
import time

from fidelity.serving import built, in_turn, say
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call, Upstream


def in_seconds(call: Call) -> None:
    """Come again in a second."""
    say(call, {"error": "slow down"}, 429, ("Retry-After", "1"))


def at_a_time(call: Call) -> None:
    """Come again at a time."""
    say(
        call,
        {"error": "slow down"},
        429,
        ("Retry-After", email.utils.formatdate(time.time() + 2, usegmt=True)),
    )


def build(server: Upstream) -> None:
    """Twice 429, then the work."""
    server.on("/work")(in_turn(in_seconds, at_a_time, lambda call: say(call, {"done": True})))


def expect(run: Outcome) -> None:
    """It waited twice, and then it worked."""
    assert [line[:3] for line in run.lines] == ["429", "429", "200"]
    assert [json.loads(body)["waited"] for body in run.served.bodies("/work")] == [[], [True], [True, True]]


SHAPE = Shape(about="429 with Retry-After, in seconds and as a date", serve=built(build), expect=expect)
