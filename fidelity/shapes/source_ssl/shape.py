"""OpenSSL's generator, in the process and as a program, in request bodies."""

import json

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """No draw came twice."""
    taken = [json.loads(body) for body in run.served.bodies("/draws")]
    assert len({each[name] for each in taken for name in each}) == 6


SHAPE = Shape(
    about="OpenSSL: RAND_bytes, rand, genpkey",
    serve=routes({"/draws": echo}),
    expect=expect,
    program="openssl",
)
