"""What a shape is, and where it is found. Nothing is run here.

A shape is a folder with `shape.py`, whose `SHAPE` says what is served and what must have been seen, and
`policy.toml`. In that and in the command `$packages` stands for the fetched Python packages, `$npm` for those
from npm, `$agents` for the agents from PyPI, `$python` for the interpreter and `$outside` for a directory the
agent does not reach. What else lies there is put into its project.
"""

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.e2e.rig import Desk
from tests.fakes.upstream import Seen

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
NOT_THE_AGENTS: Final = ("shape.py", "policy.toml", "__pycache__")
PYTHON: Final = "$python"
"""In a command: the interpreter that the user's hark is installed for."""


@dataclass
class Served:
    """Servers that are up: where each host's is, who vouches for it, and the requests as they came."""

    addresses: Mapping[str, str]
    ca_pem: bytes = b""
    seen: list[Seen] = field(default_factory=list)
    heard: list[Any] = field(default_factory=list)
    """What came in another form than HTTP/1 requests."""

    @property
    def ports(self) -> list[int]:
        """The ports of this machine at which the servers are, or were."""
        return sorted({int(address.rpartition(":")[2]) for address in self.addresses.values()})

    def bodies(self, path: str) -> list[bytes]:
        """The bodies that were sent to a path, in the order in which they came."""
        return [one.body for one in self.seen if one.path.partition("?")[0] == path]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One recorded run: how it ended, what it printed, what the servers saw, what is on the record."""

    code: int
    out: str
    err: str
    served: Served
    desk: Desk

    @property
    def lines(self) -> list[str]:
        """What the agent printed."""
        return self.out.splitlines()


type Serve = Callable[[Desk], AbstractContextManager[Served]]


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of agent."""

    about: str
    """What it does that is hard to replay, in a few words."""
    serve: Serve
    """MUST serve until the context ends, and answer nobody after it."""
    expect: Callable[[Outcome], None]
    """MUST raise AssertionError unless the recorded run did what the shape is about."""
    command: Sequence[str] = (PYTHON, "agent.py")
    program: str | None = None
    """A program of the system's without which there is nothing to try."""
    packages: bool = False
    """Whether it needs the packages that `make .clients/.done` fetches."""
    agents: bool = False
    """Whether it needs those that `make .agents/.done` fetches."""
    quick: bool = False
    """Whether it is among those of `make test`: one of each kind, which need nothing fetched."""
    code: int = 0
    files: Mapping[str, Path] = field(default_factory=dict)
    """Files for the project that lie elsewhere in the tree."""
    stdin: bytes | None = None
    typed: Sequence[tuple[str, str]] = ()
    """At a terminal: what is waited for, and what is typed then."""
    caller: Mapping[str, str] = field(default_factory=dict)
    """Variables of the caller's: where the real credentials are."""
    not_covered: str | None = None
    """Why it cannot come out equal each time, where that is known."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A shape at its place."""

    name: str
    path: Path
    shape: Shape

    @property
    def in_make_test(self) -> bool:
        """Whether it is tried wherever hark is tested."""
        return self.shape.quick and not self.shape.packages and not self.shape.agents

    @property
    def policy(self) -> Path:
        """Its policy."""
        named = self.path / "policy.toml"
        return self.shape.files.get("policy.toml", named)

    def files(self) -> Mapping[str, bytes]:
        """What is put into the agent's project, by name."""
        own = {
            str(path.relative_to(self.path)): path.read_bytes()
            for path in sorted(self.path.rglob("*"))
            if path.is_file() and path.relative_to(self.path).parts[0] not in NOT_THE_AGENTS
        }
        return own | {
            name: path.read_bytes() for name, path in self.shape.files.items() if name != "policy.toml"
        }


@functools.cache
def folders(kind: str = "shapes") -> tuple[Folder, ...]:
    """Every shape of a kind, by name."""
    found = sorted(path.parent for path in (HERE / kind).glob("*/shape.py"))
    return tuple(Folder(path.name, path, _load(kind, path.name)) for path in found)


def _load(kind: str, name: str) -> Shape:
    shape = importlib.import_module(f"fidelity.{kind}.{name}.shape").SHAPE
    if not isinstance(shape, Shape):
        raise TypeError(f"fidelity/{kind}/{name}/shape.py has no SHAPE that is one")
    return shape
