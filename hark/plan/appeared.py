"""What has appeared since a project was looked through, asked once no process of the agent's is left.

Always: however much the agent has made, it is looked through in bounded memory; what is not, is said.
"""

import os
import sys
from collections import deque
from collections.abc import Iterator
from typing import Final

from hark.plan.customs import acted_on, is_service
from hark.plan.links import way_through
from hark.plan.project import Project, services_in
from hark.plan.repositories import kept
from hark.plan.walk import PACKAGES, UNSEARCHED

MAX_ROOM: Final = 1 << 28
"""Bytes, about, for the paths of all folders that an agent left; names in them take none."""
_NAMES: Final = (".git", "HEAD")
_OWN: Final = ("/.git", "/HEAD")
_SIGNS: Final = ("HEAD", "objects", "refs", "commondir", "config", "hooks")


def made_since(
    project: Project, services: list[str] | None = None, unsearched: list[str] | None = None
) -> dict[str, int]:
    """Return what has appeared that other programs act on by name, repositories included, as `changes` does.

    What cannot be looked through is named itself. Among installed packages and below `.git`, which were not
    searched before, a repository counts that has changed since. `services` is given the sockets on which
    somebody listens now, and nobody did: no process of the agent's is left. `unsearched` is given where more
    than can be looked through lies, of which the nearest is returned.
    """
    # a `.git` that was not there is watched at the top, and nothing was looked for in it
    known = {*project.acted_on, *(path for path in project.watched if not path.endswith(_OWN))}
    found: dict[str, int] = {}
    unlisted: list[str] = []
    packages: list[str] = []
    own: list[str] = []
    beyond: list[str] = []
    for entry in _walk_left(project.root, UNSEARCHED, unlisted, beyond, project.without):
        if acted_on(entry) and (not project.is_granted or entry.name in _NAMES):
            if entry.path not in known:
                found[entry.path] = 1
            git = os.path.dirname(entry.path) if entry.name == "HEAD" else entry.path
            if entry.name == "HEAD" or (entry.name == ".git" and entry.path in known):
                found |= dict.fromkeys(set(kept(git)) - project.repositories - {git}, 1)
        if services is not None:
            here = services_in(entry.path) if entry.name == ".git" else [entry.path] * is_service(entry)
            services += (path for path in here if path not in project.services)
        if entry.name in PACKAGES:
            packages.append(entry.path)
        own += _folder_of_repository(entry)
    for folder in packages:
        for entry in _walk_left(folder, (".git",), unlisted, beyond):
            here = _folder_of_repository(entry)
            if _is_changed_repository(entry, project) or any(_has_changed(git, project) for git in here):
                found[entry.path] = 1
            own += here
    known |= {f"{git}/HEAD" for git in (*project.repositories, *found, *own)}
    found |= dict.fromkeys(_made_in(own, known, project, unlisted, beyond), 1)
    if unsearched is not None:
        unsearched += beyond
    return found | dict.fromkeys(set(unlisted) - project.unlisted, 1)


def _made_in(
    repositories: list[str], known: set[str], project: Project, unlisted: list[str], beyond: list[str]
) -> Iterator[str]:
    """Yield what has appeared in git's own folders that git makes none of: other repositories, and links."""
    closed: list[str] = []
    for git in repositories:
        for entry in _walk_left(git, (), closed, beyond):
            is_new = entry.is_symlink() and _is_new_link(entry, project, is_known=git in project.repositories)
            if not is_new and entry.name in _NAMES:
                is_new = entry.path not in known and _is_changed_repository(entry, project)
            if is_new:
                yield entry.path
    unlisted += filter(project.changed_since, closed)


def _has_changed(git: str, project: Project) -> bool:
    """Tell whether anything in a repository has changed that was not searched before, be it in its place."""
    return any(project.changed_since(entry.path) for entry in _walk_left(git, (), [], []))


def _folder_of_repository(entry: os.DirEntry[str]) -> list[str]:
    if entry.name == ".git" and entry.is_dir(follow_symlinks=False):
        return [entry.path]
    return [os.path.dirname(entry.path)] if entry.name == "HEAD" and acted_on(entry) else []


def _is_changed_repository(entry: os.DirEntry[str], project: Project) -> bool:
    """Tell whether git takes this name for a repository's, and the run may have changed that."""
    if entry.name != ".git" and not (entry.name == "HEAD" and acted_on(entry)):
        return False
    git = entry.path if entry.name == ".git" else os.path.dirname(entry.path)
    return any(map(project.changed_since, (entry.path, *(f"{git}/{name}" for name in _SIGNS))))


def _is_new_link(entry: os.DirEntry[str], project: Project, *, is_known: bool) -> bool:
    """Tell whether a link has appeared that git would write through in a repository: it makes HEAD alone.

    Where the repository was there, also one that leads elsewhere, or to links that were not there.
    """
    if is_known:
        told, _, _ = (way := way_through(entry.path)).partition("\0")
        if project.links.get(entry.path) == way:
            return False
    else:
        if not project.changed_since(entry.path):
            return False
        try:
            told = os.readlink(entry.path)
        except OSError:
            return True
    is_head = acted_on(entry) and told.startswith("refs/") and ".." not in told.split("/")
    return entry.name != "HEAD" or not is_head


def _walk_left(
    root: str,
    unsearched: tuple[str, ...],
    unlisted: list[str],
    beyond: list[str],
    without: frozenset[str] = frozenset(),
) -> Iterator[os.DirEntry[str]]:
    """As `walk`, however many names there are: the agent, which has ended, took longer to make them.

    What is bounded is memory: a root below which folders were left out for want of it is added to `beyond`.
    """
    pending, room = deque([root]), MAX_ROOM
    while pending:
        folder = pending.popleft()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if without and entry.path in without:
                        continue
                    yield entry
                    if entry.is_dir(follow_symlinks=False) and entry.name not in unsearched:
                        room -= len(entry.path) + sys.getsizeof("")
                        if room >= 0:
                            pending.append(entry.path)
        except OSError:
            unlisted.append(folder)
    if room < 0:
        beyond.append(f"{root} has too many folders for that; look before you run git there")
