"""Five megabytes each way."""

import hashlib
import random

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape

ANSWER = random.Random(5).randbytes(5 << 20)


def expect(run: Outcome) -> None:
    """All of it arrived, both ways."""
    (sent,) = run.served.bodies("/up")
    assert run.lines[0] == f"sending {5 << 20} {hashlib.sha256(sent).hexdigest()}"
    assert run.served.bodies("/report") == [hashlib.sha256(ANSWER).hexdigest().encode()]


SHAPE = Shape(
    about="5 MB of random bytes up, 5 MB down",
    serve=routes({"/up": lambda call: call.reply(200, ANSWER), "/report": echo}),
    expect=expect,
)
