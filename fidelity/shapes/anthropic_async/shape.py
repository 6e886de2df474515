"""The anthropic SDK against a stub that calls tools."""

from fidelity.models import anthropic
from fidelity.serving import built
from fidelity.shape import Outcome, Shape
from fidelity.talks import KEY, talked


def expect(run: Outcome) -> None:
    """Two turns each."""
    talked(run, "/v1/messages", conversations=3)


SHAPE = Shape(
    about="the anthropic SDK, 3 asynchronous conversations with tools",
    serve=built(anthropic, "api.anthropic.com"),
    expect=expect,
    caller={"REAL_KEY": KEY},
)
