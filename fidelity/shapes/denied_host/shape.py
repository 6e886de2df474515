"""A server of which one path is allowed."""

from fidelity.serving import routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Only what is allowed reached the server."""
    assert [one.path for one in run.served.seen] == ["/open", "/open"]
    assert "Name or service not known" in run.lines[0]
    assert [line[:3] for line in run.lines[1:4]] == ["403", "403", "200"]
    assert len(run.lines) == 5


SHAPE = Shape(
    about="a name, a path, an address and a port that are denied",
    serve=routes({"/open": lambda call: call.reply(200, b"open")}),
    expect=expect,
    quick=True,
)
