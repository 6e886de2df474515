"""Links in repositories, which git writes through: which were there before the run, and where they led.

Always: a link is known by its path, by what it says and where that leads, and by the links below the folder
that it leads to; never by its time, which it keeps where its folder is moved. No link is followed otherwise.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Final

from hark.places import contains

MAX_BELOW: Final = 50_000
"""Names looked at below a folder that one link leads to, some hundredths of a second."""


def links_of(repositories: Iterable[str]) -> dict[str, str]:
    """Return the links in repositories' own folders, with what each is known by."""
    found: dict[str, str] = {}
    last = ""
    for git in sorted(repositories):
        if last and contains(last, git):
            continue  # of a submodule or a linked worktree
        last = git
        found |= {path: way_through(path) for path in _links(git)}
    return found


def way_through(path: str) -> str:
    """Return what a link is known by; empty where it is none."""
    try:
        told = os.readlink(path)
    except OSError:
        return ""
    real = os.path.realpath(path)
    return "\0".join((told, real, *_told_below(real)))


def _told_below(folder: str) -> list[str]:
    below: list[str] = []
    for path in _links(folder, MAX_BELOW):
        try:
            below.append(f"{path}\n{os.readlink(path)}")
        except OSError:
            below.append(path)
    return sorted(below)


def _links(folder: str, at_most: int | None = None) -> Iterator[str]:
    """Yield the links in a folder, however deep, up to a number of names; none of what cannot be listed."""
    pending, seen = [folder], 0
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        seen += len(entries)
        if at_most is not None and seen > at_most:
            return
        for entry in entries:
            if entry.is_symlink():
                yield entry.path
            elif entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
