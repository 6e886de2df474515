"""A tool server of the operator's, with a clock and a memory of its own."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from fidelity.shape import HERE, Outcome, Served, Shape
from tests.e2e.rig import Desk


@contextmanager
def serve(at: Desk) -> Iterator[Served]:
    """Put the server where the agent does not reach."""
    path = at.project.parent / "server.py"
    shutil.copyfile(HERE / "notes_server.py", path)
    path.chmod(0o644)
    yield Served({})


def expect(run: Outcome) -> None:
    """Three calls were made, the fourth was denied."""
    assert "by itself: notifications/message" in run.lines
    calls = [line.split()[:2] for line in run.lines if line.split()[0] in ("note", "clock", "erase")]
    assert calls == [["note", "True"], ["note", "True"], ["clock", "True"], ["erase", "False"]]
    results = [event["is_error"] for event in run.desk.events("ToolCallResult")]
    assert results == [False, False, False, True]


SHAPE = Shape(
    about="MCP over stdio: calls, a notification, one denied",
    serve=serve,
    expect=expect,
)
