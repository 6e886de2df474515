"""numpy's generators in request bodies."""

import json

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Two draws of each, all different."""
    taken = [json.loads(body) for body in run.served.bodies("/draws")]
    assert len(taken) == 2
    assert all(taken[0][name] != taken[1][name] for name in ("new", "normal", "old"))


SHAPE = Shape(about="numpy's generators", serve=routes({"/draws": echo}), expect=expect, packages=True)
