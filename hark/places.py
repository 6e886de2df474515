"""Which absolute path lies in which, by their names alone: nothing is looked up on the disk.

The answer is about the directories themselves only where both paths are canonical.
"""

from collections.abc import Iterable


def contains(outer: str, inner: str) -> bool:
    """Whether `inner` is `outer` or lies below it."""
    return inner == outer or inner.startswith(f"{outer.rstrip('/')}/")


def within(path: str, roots: Iterable[str]) -> bool:
    """Whether one of `roots` contains `path`."""
    return any(contains(root, path) for root in roots)
