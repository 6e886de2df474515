"""A server that is overloaded twice."""

import json

from fidelity.serving import built, in_turn, say
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call, Upstream


def busy(call: Call) -> None:
    """Answer that there is no time."""
    say(call, {"error": "overloaded"}, 503)


def build(server: Upstream) -> None:
    """Two times 503, then the work."""
    server.on("/work")(in_turn(busy, busy, lambda call: say(call, {"done": True})))


def expect(run: Outcome) -> None:
    """Three attempts, the last of which was answered."""
    assert [line[:5] for line in run.lines] == ["0 503", "1 503", "2 200"]
    jitter = [json.loads(body)["jitter"] for body in run.served.bodies("/work")]
    assert len(set(jitter)) == 3


SHAPE = Shape(about="503 twice, retried with jitter", serve=built(build), expect=expect, quick=True)
