"""The walk through a folder before the run: what is masked, protected and obeyed by git is found by it.

Always: every name is yielded, the nearest first, but for what lies in repositories and installed packages,
whose folders alone are; links are not followed; and a tree with too many names is refused, not half walked.
"""

import os
from collections import deque
from collections.abc import Container, Iterator
from typing import Final

from hark.errors import PolicyError

PACKAGES: Final = ("node_modules", "site-packages", "__pycache__", ".tox", ".nox", ".mypy_cache")
UNSEARCHED: Final = (".git", *PACKAGES)


def walk(
    root: str,
    *,
    at_most: int,
    unsearched: Container[str] = UNSEARCHED,
    without: Container[str] = frozenset(),
    unlisted: list[str] | None = None,
) -> Iterator[os.DirEntry[str]]:
    """Yield every name in the tree. Raises PolicyError where it has more than `at_most`.

    Folders that are called as in `unsearched`, or whose paths are in `without`, are not walked through. What
    the caller cannot list, and the agent neither, is added to `unlisted`: names in it may work.
    """
    pending, seen = deque([root]), 0
    while pending:
        folder = pending.popleft()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            if unlisted is not None:
                unlisted.append(folder)
            continue
        seen += len(entries)
        if seen > at_most:
            raise PolicyError(
                f"{root} has more than {at_most} files, too many to search for credentials; "
                "name a smaller project with -workdir"
            )
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False) and entry.name not in unsearched:
                pending += [entry.path] * (entry.path not in without)
