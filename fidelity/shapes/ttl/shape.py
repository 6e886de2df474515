"""A server whose slow answer takes longer than a token lives."""

import itertools

from fidelity.serving import built, later
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call, Upstream


def build(server: Upstream) -> None:
    """Tokens, and two kinds of work."""
    count = itertools.count(1)
    server.on("/token")(lambda call: call.reply(200, f"token-{next(count)}".encode()))

    def work(call: Call) -> None:
        call.reply(200, f"with {call.headers['x-token']}".encode())

    server.on("/quick")(work)
    server.on("/slow")(later(4.0, work))


def expect(run: Outcome) -> None:
    """A token after each slow answer, and none without."""
    assert [line for line in run.lines if line.startswith("new")] == [f"new token-{n}" for n in (1, 2, 3)]
    assert run.lines[-1] == "/quick with token-3"


SHAPE = Shape(about="a token that expires by the monotonic clock", serve=built(build), expect=expect)
