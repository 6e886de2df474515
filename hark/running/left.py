"""What a run leaves in the project for other programs, looked at once no process of the agent's is left.

Always: before anything is said of it, what git would run of it has another name (`hark.plan.disarming`), also
where the run was ended by a limit or a failure.
"""

import os
import stat
from dataclasses import dataclass, field
from typing import Final

from hark.plan.appeared import made_since
from hark.plan.disarming import PutAside, disarm
from hark.plan.project import Project

MAX_LOOKS: Final = 50
"""At folders within folders that the agent made unreadable."""


@dataclass(frozen=True, slots=True)
class Left:
    """What there is to be said."""

    made: dict[str, int] = field(default_factory=dict)
    """What other programs act on and the agent has made, with numbers of files."""
    services: tuple[str, ...] = ()
    """Sockets and FIFOs of others that have appeared."""
    aside: tuple[PutAside, ...] = ()
    unsearched: str = ""
    """Why what the agent made was not all looked through."""


def looked_through(project: Project, unprotect: tuple[str, ...], home: str) -> Left:
    """Look through what an agent has left, beside the project too, and put aside what git would run."""
    services: list[str] = []
    unsearched = [f"{root} is too large to be searched for repositories" for root in project.large]
    found: dict[str, int] = {}
    aside: list[PutAside] = []
    for one in project.everywhere():
        here: list[str] = []
        beyond: list[str] = []
        made = made_in(one, here if one.is_granted else services, beyond)
        found |= made
        aside += disarm(one, made, () if one.is_granted else unprotect, home)
        unsearched += beyond
    return Left(found, tuple(services), tuple(aside), "; ".join(unsearched))


def made_in(project: Project, services: list[str], unsearched: list[str]) -> dict[str, int]:
    """As `made_since`, also in folders that cannot be listed, and that programs may know the names in."""
    found: dict[str, int] = {}
    for _ in range(MAX_LOOKS):
        services.clear()
        unsearched.clear()
        made = made_since(project, services, unsearched)
        found |= made
        opened = [path for path in made if path not in project.acted_on and _opened(path)]
        if not opened:
            break
    return found


def _opened(path: str) -> bool:
    """Make a folder of ours listable; False where it is that, or cannot be."""
    try:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode) or status.st_mode & stat.S_IRWXU == stat.S_IRWXU:
            return False
        os.chmod(path, stat.S_IMODE(status.st_mode) | stat.S_IRWXU)
    except OSError:
        return False
    return True
