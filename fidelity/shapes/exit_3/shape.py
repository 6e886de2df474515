"""An answer that the agent fails on."""

from fidelity.serving import routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """It said why."""
    assert run.lines == ["verdict: no"]
    assert "giving up" in run.err


SHAPE = Shape(
    about="an agent that fails with 3",
    serve=routes({"/verdict": lambda call: call.reply(200, b"no")}),
    expect=expect,
    code=3,
    quick=True,
)
