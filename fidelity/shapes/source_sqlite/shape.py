"""sqlite's random() and 'now', in request bodies."""

import json

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Two rows that differ."""
    rows = [json.loads(body) for body in run.served.bodies("/rows")]
    assert rows[0][0] != rows[1][0]
    assert rows[0][2] != rows[1][2]


SHAPE = Shape(about="sqlite: random(), randomblob, now", serve=routes({"/rows": echo}), expect=expect)
