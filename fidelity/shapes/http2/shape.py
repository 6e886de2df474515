"""A server that speaks HTTP/2 alone and answers several streams at once, the later ones first."""

from fidelity.h2server import serve_h2
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """All over HTTP/2."""
    assert len(run.lines) == 9
    assert all(line.startswith("HTTP/2") for line in run.lines)
    assert len(run.served.heard) == 9


SHAPE = Shape(
    about="HTTP/2 with several streams at once (httpx)", serve=serve_h2, expect=expect, packages=True
)
