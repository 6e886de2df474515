"""What the agent may see of the host, and where it may write: the plan's grants, each with its reason.

Raises PolicyError for a grant that nobody can mean: of what is not there, of the whole machine, or to write
to the system or to the home directory. What is hidden or masked inside a grant is not decided here.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hark.errors import PolicyError
from hark.places import contains, expanded, within
from hark.plan import project
from hark.plan.command import installation
from hark.policy.model import Policy
from launcher import system
from launcher.plan import Access, Grant

_NAMED: Final = ("write_paths", "-write")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says of grants."""

    command: str
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()


def settle(
    asked: Asked, policy: Policy, needs: tuple[str, ...], workdir: str, home: str
) -> tuple[Grant, ...]:
    """List what the agent may see beside the system, widest reason first; one grant a path."""
    grants = [*system.system_grants(), Grant(workdir, Access.WRITE, "project directory")]
    why = f"needed by {asked.command}"
    grants += [Grant(path, Access.READ, why) for path in needs if not _is_system(path)]
    grants += [granted(path, Access.READ, "read_paths", home) for path in policy.read_paths]
    grants += [granted(path, Access.WRITE, "write_paths", home) for path in policy.write_paths]
    grants += [granted(path, Access.READ, "-read", home) for path in asked.read]
    grants += [granted(path, Access.WRITE, "-write", home) for path in asked.write]
    chosen: dict[str, Grant] = {}
    for grant in grants:
        if grant.path not in chosen or grant.access is Access.WRITE:
            chosen[grant.path] = grant
    return tuple(chosen.values())


def with_stubs(grants: tuple[Grant, ...], needs: tuple[str, ...]) -> tuple[Grant, ...]:
    """Add what the stubs of the tool servers cannot run without."""
    known = {grant.path for grant in grants}
    added = [path for path in needs if path not in known and not _is_system(path)]
    return (*grants, *(Grant(path, Access.READ, "stubs of [mcp]") for path in added))


def active(environ: Mapping[str, str], home: str, workdir: str) -> tuple[str, ...]:
    """Return the environments that the caller works in: a shell in the agent finds their programs too."""
    named = [environ.get(name, "") for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "JAVA_HOME", "GOROOT")]
    places = [f"{workdir}/.venv", *filter(os.path.isabs, named)]
    return tuple(path for place in places for path in installation(place, workdir, home))


def writable(grants: tuple[Grant, ...]) -> list[str]:
    return [grant.path for grant in grants if grant.access is Access.WRITE]


def asked_to_write(grants: tuple[Grant, ...]) -> list[str]:
    """List what was granted by name to be written."""
    return [grant.path for grant in grants if grant.access is Access.WRITE and grant.why in _NAMED]


def _is_system(path: str) -> bool:
    return within(path, ("/usr", "/bin", "/sbin", "/lib", "/lib64"))


def granted(path: str, access: Access, why: str, home: str) -> Grant:
    """Return the grant of one path that was asked for. Raises PolicyError."""
    real = os.path.realpath(expanded(path, home))
    if not os.path.lexists(real):
        raise PolicyError(f"{why} names {path}, which does not exist; create it or remove the grant")
    if real == "/":
        raise PolicyError(f"{why} names /, which would grant the whole machine; name what the agent needs")
    if access is Access.WRITE and project.belongs_to_system(real):
        raise PolicyError(f"{why} names {path}, which belongs to the system; name a directory of yours")
    above_home = home != "/" and contains(real, home)
    if access is Access.WRITE and above_home:
        raise PolicyError(f"{why} names {path}, your home directory or above it; name a directory below it")
    return Grant(real, access, why)
