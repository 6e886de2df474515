"""Paths below a tree's root, as bytes on the disk and as text on the record.

What always holds: two paths have two spellings. A backslash is doubled and what is not UTF-8 is an escape, so
that a name made of the characters of an escape is another name.
"""

import os


def spelled(path: bytes) -> str:
    r"""The path as an event holds it: `a\\b` for a backslash, `\xff` for a byte outside UTF-8."""
    return path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def path_of(text: str) -> bytes | None:
    """The path that `spelled` made a text of; None where it made none such."""
    out = bytearray()
    rest = text.encode("utf-8", "surrogatepass")
    while rest:
        head, slash, rest = rest.partition(b"\\")
        out += head
        if not slash:
            break
        if rest[:1] == b"\\":
            out += b"\\"
            rest = rest[1:]
        elif rest[:1] == b"x":
            try:
                out += bytes.fromhex(rest[1:3].decode("ascii"))
            except ValueError:
                return None
            rest = rest[3:]
        else:
            return None
    return bytes(out)


def below(root: str, path: str) -> bytes | None:
    """The absolute `path` as one below `root`; None where it is not below it."""
    top = os.fsencode(root.rstrip("/")) + b"/"
    whole = os.fsencode(path)
    return whole[len(top) :].rstrip(b"/") or None if whole.startswith(top) else None


def is_inside(path: bytes) -> bool:
    """Whether a path that somebody else wrote is relative, plain, and leads nowhere but down."""
    names = path.split(b"/")
    return b"\0" not in path and not any(name in (b"", b".", b"..") or len(name) > 255 for name in names)
