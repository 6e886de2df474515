"""A model that knows the edit."""

import json

from fidelity.serving import built, in_turn, say
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Upstream

EDIT = {
    "calc.py": '"""Sums."""\n\n\ndef add(a: int, b: int) -> int:\n    """Add."""\n    return a + b\n',
    "tools/run.sh": "#!/bin/sh\nls -1 | sort | tr '\\n' ' '\n",
    "docs/new.md": "# New\n",
}


def build(server: Upstream) -> None:
    """First the edit, then a verdict."""
    first = in_turn(lambda call: say(call, {"write": EDIT}), lambda call: say(call, {"verdict": "good"}))
    server.on("/model")(first)


def expect(run: Outcome) -> None:
    """The tests failed before and hold now; the project is as edited."""
    assert run.lines[0] == "before 1"
    assert run.lines[1].startswith("after 0")
    assert run.lines[2] == "good"
    assert "a + b" in (run.desk.project / "calc.py").read_text()
    assert not (run.desk.project / "old.txt").exists()
    last = json.loads(run.served.bodies("/model")[1])
    assert {"docs/notes.txt", "docs/new.md", "tools/run.sh"} <= set(last["files"])


SHAPE = Shape(
    about="a coding agent: edits files, runs tests and a script",
    serve=built(build),
    expect=expect,
    quick=True,
)
