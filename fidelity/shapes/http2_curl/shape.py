"""curl over HTTP/2, with its own process number and random bytes in the bodies."""

from fidelity.h2server import serve_h2
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Three requests, the last one of 20000 bytes."""
    assert [path for path, _ in run.served.heard] == ["/one", "/two", "/random"]
    assert '"length": 20000' in run.out


SHAPE = Shape(
    about="HTTP/2 by curl, with random bytes and a process number",
    serve=serve_h2,
    expect=expect,
    command=("sh", "agent.sh"),
    program="curl",
)
