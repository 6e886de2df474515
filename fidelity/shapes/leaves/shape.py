"""Answers whose rest is on its way when the agent leaves: which comes first differs from one to the next."""

import time

from fidelity.serving import built, echo
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call, Upstream

LARGE = b"0123456789abcdef" * (1 << 14)  # 256 KiB: more than one write takes, less than the kernel may hold


def late(call: Call) -> None:
    """Send the body about when an agent that has the head leaves."""
    call.begin_chunked("text/plain")
    number = int(call.path.rpartition("?")[2])
    for _ in range(3):
        time.sleep(0.002 * number)
        call.chunk(b"x" * 100)
    call.chunk(b"")


def build(server: Upstream) -> None:
    """Two kinds of answers."""
    server.on("/late")(late)
    server.on("/large")(lambda call: call.reply(200, LARGE))
    server.on("/report")(echo)


def expect(run: Outcome) -> None:
    """It got what it wanted of each."""
    assert run.lines[:8] == [f"{number} 200" for number in range(8)]
    assert run.lines[8:11] == ["1 1", "100 100", "20000 20000"]
    assert run.lines[11:] == ["--http1.1 100", "--http2 100", "200"]


SHAPE = Shape(
    about="an agent that leaves answers whose rest is on its way",
    serve=built(build),
    expect=expect,
    program="curl",
)
