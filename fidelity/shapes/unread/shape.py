"""Answers that are not read."""

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """All five came."""
    assert run.served.bodies("/note") == [f"note {number}".encode() for number in range(5)]
    assert run.lines == [f"{number} 200" for number in range(5)]


SHAPE = Shape(
    about="an agent that leaves without reading the answer's body",
    serve=routes({"/note": echo}),
    expect=expect,
)
