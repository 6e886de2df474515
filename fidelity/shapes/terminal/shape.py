"""A person who types a name, a key and a line."""

import json

from fidelity.serving import echo, routes
from fidelity.shape import Outcome, Shape


def expect(run: Outcome) -> None:
    """All three reached the server, and so did the terminal's size."""
    said = [json.loads(body) for body in run.served.bodies("/said")]
    assert said == [{"name": "Zoë", "columns": 80, "rows": 24}, {"key": "y"}, {"last": "done\n"}], said
    assert run.out.count("sent") == 3


SHAPE = Shape(
    about="a session at a terminal: a line, a key, a line",
    serve=routes({"/said": echo}),
    expect=expect,
    typed=(("name? ", "Zoë\r"), ("key? ", "y"), ("last? ", "done\r")),
)
