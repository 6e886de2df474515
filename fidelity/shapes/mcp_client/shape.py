"""The protocol's own library on both sides, over HTTP and over stdio."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fidelity.shape import HERE, Outcome, Served, Shape
from tests.e2e.rig import Desk
from tests.support.waiting import until


def answers(port: int) -> bool:
    """Tell whether somebody listens."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


@contextmanager
def serve(at: Desk) -> Iterator[Served]:
    """The same server twice: outside for stdio, and on a port."""
    path = at.project.parent / "server.py"
    shutil.copyfile(HERE / "sdk_server.py", path)
    path.chmod(0o644)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, str(path), str(port)], env=dict(os.environ), **quiet) as process:
        try:
            until(lambda: answers(port))
            yield Served({"tools.example": f"127.0.0.1:{port}"})
        finally:
            process.kill()


def expect(run: Outcome) -> None:
    """Both servers were used, and both denied one call."""
    for name in ("http", "stdio"):
        own = [line for line in run.lines if line.startswith(name)]
        assert len(own) == 4
        assert own[0].endswith("['clock', 'erase', 'note']")
        assert own[1].startswith(f"{name} note noted 1")
        assert own[3].startswith(f"{name} erase denied")


SHAPE = Shape(
    about="the mcp client, over HTTP and over stdio",
    serve=serve,
    expect=expect,
)
