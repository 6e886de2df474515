"""Chance in request bodies."""

import json

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape

SAME = ("hash", "set", "address", "pid")
"""What one process has once."""


def expect(run: Outcome) -> None:
    """No draw came twice."""
    taken = [json.loads(body) for body in run.served.bodies("/draws")]
    assert len(taken) == 3
    for name in set(taken[0]) - {*SAME, "choice"}:
        assert len({str(each[name]) for each in taken}) == 3, name


SHAPE = Shape(
    about="secrets, random, uuid4, urandom, hashes, addresses",
    serve=routes({"/draws": echo}),
    expect=expect,
    quick=True,
)
