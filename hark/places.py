"""Paths as names: what `~` stands for, and which path lies in which. Nothing is looked up on the disk.

What is said of two paths holds for the directories themselves only where both are canonical.
"""

import os
from collections.abc import Iterable


def contains(outer: str, inner: str) -> bool:
    """Whether `inner` is `outer` or lies below it."""
    return inner == outer or inner.startswith(f"{outer.rstrip('/')}/")


def within(path: str, roots: Iterable[str]) -> bool:
    """Whether one of `roots` contains `path`."""
    return any(contains(root, path) for root in roots)


def expanded(path: str, home: str) -> str:
    """Put the caller's home directory in the place of a leading `~`, as a policy may write it."""
    return home if path == "~" else os.path.join(home, path[2:]) if path.startswith("~/") else path
