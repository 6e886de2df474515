"""A server that counts."""

import json

from fidelity.serving import built, echo, in_turn, say
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Upstream


def build(server: Upstream) -> None:
    """Another answer each time."""
    turns = [lambda call, word=word: say(call, {"next": word}) for word in ("first", "second", "third")]
    server.on("/next")(in_turn(*turns))
    server.on("/summary")(echo)


def expect(run: Outcome) -> None:
    """Three equal requests, three answers."""
    asked = run.served.bodies("/next")
    assert len(asked) == 3
    assert len(set(asked)) == 1
    (summary,) = run.served.bodies("/summary")
    assert [each["next"] for each in json.loads(summary)] == ["first", "second", "third"]


SHAPE = Shape(about="one request three times, three answers", serve=built(build), expect=expect, quick=True)
