"""A repository behind git's own CGI program."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fidelity.serving import echo, served
from fidelity.shape import Outcome, Served, Shape
from tests.e2e.rig import Desk
from tests.fakes.registries import git_host, git_repository
from tests.fakes.upstream import Answer, serving


class Routes(dict[str, Answer]):
    """As a dict, but all paths of the repository go to one function."""

    git: Answer

    def get(self, key: str, default: Answer | None = None) -> Answer | None:  # type: ignore[override]
        """As of a dict."""
        return self.git if key.startswith("/repo.git") else super().get(key, default)


@contextmanager
def serve(_desk: Desk) -> Iterator[Served]:
    """The repository, and where the hash is reported."""
    with tempfile.TemporaryDirectory() as name, serving("git.example") as upstream:
        git_repository(Path(name))
        upstream.routes = routes = Routes({"/report": echo})
        routes.git = git_host(Path(name))
        yield served(upstream, "git.example")


def expect(run: Outcome) -> None:
    """It has the file and made a commit."""
    assert run.lines[0] == "first"
    (reported,) = run.served.bodies("/report")
    assert run.lines[2] == reported.decode()
    assert len(reported) == 40
    assert "ahead 1" in run.lines[-1]


SHAPE = Shape(
    about="git: clone over https, commit, fetch",
    serve=serve,
    expect=expect,
    command=("sh", "agent.sh"),
    program="git",
)
