"""Forms from requests."""

from fidelity.forms import forms, upload
from fidelity.serving import routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """Two forms of three parts, with two boundaries."""
    forms(run, turns=2)


SHAPE = Shape(
    about="multipart forms (requests)", serve=routes({"/upload": upload}), expect=expect, packages=True
)
