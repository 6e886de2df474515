"""git repositories in a project: what git runs or obeys by itself, so that the agent may not write it.

Found by name and by reading configuration as text; git itself is not run, since it would obey what it reads.
"""

import os
import re
from collections.abc import Iterator
from typing import Final

MAX_CONFIG: Final = 1 << 16  # bytes of a repository's configuration that are read; git writes some hundred
MAX_MODULES: Final = 2_000  # directories looked at for submodules in one repository
OBEYED: Final = ("hooks", "config", "config.worktree", "info", "commondir")
"""What git obeys in a repository's own directory. `commondir`, which worktrees have, sends it elsewhere."""
_HOOKS_PATH: Final = re.compile(r"^\s*hookspath\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
_INCLUDED: Final = re.compile(r"^\s*path\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)


def obeyed(git: str, worktree: str) -> Iterator[str]:
    """Yield the paths that git obeys for the repository in directory `git`, whether they exist or not."""
    for directory in (git, *_modules(f"{git}/modules")):
        for name in OBEYED:
            yield f"{directory}/{name}"
    text = _text(f"{git}/config")
    for found in _HOOKS_PATH.findall(text):
        yield os.path.normpath(os.path.join(worktree, found.strip('"')))
    for found in _INCLUDED.findall(text):
        yield os.path.normpath(os.path.join(git, found.strip('"')))


def _modules(directory: str) -> Iterator[str]:
    """Yield the git directories of submodules, at any depth: their names may hold slashes."""
    pending, left = [directory], MAX_MODULES
    while pending and left > 0:
        here = pending.pop()
        left -= 1
        try:
            entries = {entry.name: entry for entry in os.scandir(here)}
        except OSError:
            continue
        if "HEAD" in entries and "objects" in entries:
            yield here
            pending.append(f"{here}/modules")
        else:
            pending += [entry.path for entry in entries.values() if entry.is_dir(follow_symlinks=False)]


def _text(path: str) -> str:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(MAX_CONFIG).decode("utf-8", "replace")
    except OSError:
        return ""
