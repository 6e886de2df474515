"""Where the fetched clients are, for whoever runs them, and what one of them is as a value."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.user import User, link_tree

ROOT: Final = Path(__file__).resolve().parents[2]
FETCHED: Final = ROOT / ".clients"
SEVERAL: Final = "the system's path, or more than one variable"


@dataclass(frozen=True, slots=True)
class Kit:
    """The fetched clients at a place that `user` can reach, and the Python that runs those from PyPI."""

    user: User
    folder: Path

    @property
    def python(self) -> str:
        """An interpreter of the version that the packages were fetched for."""
        return self.user.python

    def package(self, path: str) -> str:
        """A file of a package from PyPI."""
        return str(self.folder / "py" / path)

    def npm(self, program: str) -> str:
        """A program from npm."""
        return os.path.normpath(self.folder / "npm" / "node_modules" / ".bin" / program)

    def system(self, program: str) -> str:
        """A program of the system's that this user can execute, or its bare name."""
        own = os.environ.get("PATH", "") if os.geteuid() == self.user.uid else self.user.env["PATH"]
        return shutil.which(program, path=own) or program


@dataclass(frozen=True, slots=True)
class Client:
    """One client: how to tell its version, what it is asked to do, and what it must say then."""

    name: str
    program: Callable[[Kit], str]
    """What must be there for the client to be tried at all."""
    version: Callable[[Kit], list[str]]
    task: Callable[[Kit], list[str]]
    says: str
    """A text that stands in its standard output when it has done its task."""
    trust: str = SEVERAL
    """The variable that alone decides which roots it trusts (see `test_trust_is_decided_by`), or words."""
    hosts: tuple[str, ...] = ("api.example",)
    files: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    """Assigned by the policy, beside PYTHONPATH for the packages from PyPI."""
    caller: Mapping[str, str] = field(default_factory=dict)
    """The caller's own variables: where the real credentials are."""


@contextmanager
def kit_for(user: User) -> Iterator[Kit]:
    """Give the clients to `user`: in place where every folder above lets others through, else linked."""
    if os.geteuid() == user.uid or _open_to_all(FETCHED):
        yield Kit(user, FETCHED)
        return
    folder = Path(tempfile.mkdtemp(prefix="hark-clients-"))
    try:
        folder.chmod(0o755)
        link_tree(FETCHED, folder / "clients")
        yield Kit(user, folder / "clients")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _open_to_all(folder: Path) -> bool:
    return all(place.stat().st_mode & 0o001 for place in (folder, *folder.parents))
