"""Temporary names in a request body, and as a file of the project."""

import json

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """The one in the project is there."""
    names = json.loads(run.served.bodies("/names")[0])
    assert len(set(names)) == 4
    assert (run.desk.project / names[3]).read_bytes() == b"a draft"


SHAPE = Shape(about="names of temporary files", serve=routes({"/names": echo}), expect=expect)
