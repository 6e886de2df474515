"""Paths below a tree's root, as bytes on the disk and as text on the record.

What always holds: two paths have two spellings. A backslash is doubled and what is not UTF-8 is an escape, so
that a name made of the characters of an escape is another name.
"""

import os


def spelled(path: bytes) -> str:
    r"""The path as an event holds it: `a\\b` for a backslash, `\xff` for a byte outside UTF-8."""
    return path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def below(root: str, path: str) -> bytes | None:
    """The absolute `path` as one below `root`; None where it is not below it."""
    top = os.fsencode(root.rstrip("/")) + b"/"
    whole = os.fsencode(path)
    return whole[len(top) :].rstrip(b"/") or None if whole.startswith(top) else None


def is_inside(path: bytes) -> bool:
    """Whether a path that somebody else wrote is relative, plain, and leads nowhere but down."""
    names = path.split(b"/")
    return b"\0" not in path and not any(name in (b"", b".", b"..") or len(name) > 255 for name in names)
