"""uuid1 in request bodies."""

import json

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Nine identifiers, all different."""
    ids = [one for body in run.served.bodies("/ids") for one in json.loads(body)["id"]]
    assert len(set(ids)) == 9


SHAPE = Shape(about="uuid1, hardware address, host name", serve=routes({"/ids": echo}), expect=expect)
