"""Repositories in folders that the agent may write beside the project: kept from it as the project's own are.

What git obeys in them is read-only, and put aside where it appears. Nothing else there is: it is granted
to be written, and what other programs act on in it (`~/.claude/CLAUDE.md`) may be what it is granted for. Nor
are credentials masked there. What lies in such a folder and is granted by itself is left as that grant says.
"""

import os
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from hark.errors import PolicyError
from hark.places import contains, within
from hark.plan.customs import acted_on
from hark.plan.links import links_of
from hark.plan.project import Project, aliases, identity, led_to, way_of
from hark.plan.repositories import COMPARED, Reading, backlinks, index_files, kept, obeyed, obeyed_through
from hark.plan.unfinished import known
from hark.plan.walk import walk
from hark.plan.ways import text_of

MAX_NAMES: Final = 300_000
"""Looked at in one such folder before the run, some tenths of a second; of a larger one it is said."""


def surveyed(project: Project, granted: Iterable[str], home: str) -> Project:
    """Return the project with what was found in the folders that are granted beside it."""
    beside = [path for path in dict.fromkeys(granted) if not contains(project.root, path)]
    searched = {path: _survey(path, (project.root, *beside), home) for path in beside if os.path.isdir(path)}
    found = [one for one in searched.values() if one is not None]
    roots = (project.root, *(one.root for one in found))
    return replace(
        project,
        roots=roots,
        beside=tuple(replace(one, roots=roots) for one in found),
        large=tuple(path for path, one in searched.items() if one is None),
    )


def _survey(root: str, roots: tuple[str, ...], home: str) -> Project | None:
    """Look for repositories at and below a folder; None where it is too large to be looked through."""
    without = frozenset(one for one in roots if one != root and contains(root, one))
    watched: list[str] = []
    deeper: list[str] = []
    seen: set[str] = set()
    repositories: set[str] = set()
    unlisted: list[str] = []
    ways: dict[str, str] = {}
    reading = Reading(root)
    now = time.time_ns()
    try:
        for entry in walk(root, at_most=MAX_NAMES, without=without, unlisted=unlisted):
            if not (entry.name == ".git" or (entry.name == "HEAD" and acted_on(entry))):
                continue  # HEAD: of a bare repository
            seen.add(entry.path)
            git = entry.path if entry.name == ".git" else os.path.dirname(entry.path)
            repositories.update(kept(git))
            if entry.name == ".git" and not entry.is_dir(follow_symlinks=False):
                watched += (git, *obeyed_through(git, home, reading))
                ways[git] = way_of(git)
            else:
                worktree = os.path.dirname(git) if os.path.basename(git) == ".git" else git
                watched += obeyed(git, worktree, home, reading)
                deeper += [f"{git}/{name}" for name in COMPARED]
        watched = [path for path in watched if contains(root, path) and not within(path, without)]
        files, folders = led_to(watched, root)
        shown = [path for path in dict.fromkeys((*watched, *files)) if os.path.lexists(path)]
        shown += aliases(root, shown)
    except PolicyError:
        return None
    return Project(
        root,
        (),
        tuple(shown),
        tuple(dict.fromkeys((*watched, *files, *folders, *deeper))),
        frozenset(seen),
        frozenset(repositories),
        frozenset(unlisted),
        now,
        ways=ways | {path: text_of(path) for path in backlinks(repositories)},
        indexes={path: identity(path) for git in repositories for path in index_files(git)},
        unfinished=known(repositories, identity),
        links=links_of(repositories),
        without=without,
        is_granted=True,
    )
