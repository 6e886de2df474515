"""curl, in a shell."""

from fidelity.forms import upload
from fidelity.serving import built, echo, in_turn
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Upstream


def build(server: Upstream) -> None:
    """A page that moved, a form, a server that is busy once."""
    server.on("/moved")(lambda call: call.reply(302, b"", [("Location", "/page")]))
    server.on("/page")(lambda call: call.reply(200, b"the page"))
    server.on("/upload")(upload)
    server.on("/busy")(in_turn(lambda call: call.reply(503, b"busy"), lambda call: call.reply(200, b"done")))
    server.on("/plain")(echo)
    server.on("/head")(lambda call: call.reply(200, b"body of the head"))


def expect(run: Outcome) -> None:
    """Each step did what it should."""
    assert run.lines[0] == "the page"
    assert "busydone" in run.out
    assert run.lines[-1].startswith("HTTP/2 200")
    assert len(run.served.bodies("/plain")[0]) > 0
    paths = [one.path for one in run.served.seen]
    assert paths == ["/moved", "/page", "/upload", "/busy", "/busy", "/plain", "/head"]


SHAPE = Shape(
    about="curl in a shell: redirect, form, retry, dates",
    serve=built(build),
    expect=expect,
    command=("bash", "agent.sh"),
    program="curl",
    quick=True,
)
