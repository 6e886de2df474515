"""The openai SDK against a stub that calls tools."""

from fidelity.models import openai
from fidelity.serving import built
from fidelity.shape import Outcome, Shape
from fidelity.talks import KEY, talked


def expect(run: Outcome) -> None:
    """Two turns each."""
    talked(run, "/v1/chat/completions", conversations=2)


SHAPE = Shape(
    about="the openai SDK with tools",
    serve=built(openai, "api.openai.com"),
    expect=expect,
    caller={"REAL_KEY": KEY},
    packages=True,
)
