"""Where a path leads that git reads from a file of a repository.

Always: nothing is asked of hark's own place in the tree, and no link is followed. git writes such paths
without links in them; one through a link may lead git elsewhere than hark, as /proc/self/cwd does.
"""

import os
import re
import stat
from typing import Final

from hark.places import contains

MAX_TEXT: Final = 1 << 20  # bytes; git itself writes some hundred
_GITFILE: Final = re.compile(r"gitdir: ([^\n\r\0]+)[\n\r]*")
"""A `.git` that leads elsewhere as git writes it; read_gitfile takes line breaks within too."""


def gitfile(text: str) -> str | None:
    """Return the path that the text of a `.git` file names; None where git writes no such file."""
    found = _GITFILE.fullmatch(text)
    return found[1] if found else None


def straight(folder: str, name: str) -> str | None:
    """Return the path that `name` means in `folder`, which is canonical; None where it passes through a link.

    Also None where the kernel finds no way, but for names at the end that are not there: those may be made.
    """
    here, there = "" if os.path.isabs(name) else folder.rstrip("/"), True
    for part in name.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if not there:
                return None  # whoever makes what is missing says where it leads
            here = os.path.dirname(here).rstrip("/")
            continue
        here = f"{here}/{part}"
        try:
            mode = os.lstat(here).st_mode
        except FileNotFoundError:
            there = False
        except (OSError, ValueError):  # a NUL, which no path has, is a ValueError
            return None
        else:
            there = stat.S_ISDIR(mode)
            if stat.S_ISLNK(mode):
                return None
    return here or "/"


def link_on(root: str, path: str) -> str | None:
    """Return the first link below `root` that a path passes through or is; None where there is none."""
    if not contains(root, path):
        return None
    here = root.rstrip("/")
    for part in path[len(here) :].split("/"):
        here = f"{here}/{part}" if part else here
        if len(here) > len(root) and os.path.islink(here):
            return here
    return None


def text_of(path: str) -> str:
    """Return a small regular file's text; of anything else, a text that is no configuration."""
    data = data_of(path, MAX_TEXT)
    return "\0" if data is None else data.decode("utf-8", "surrogateescape")


def data_of(path: str, limit: int) -> bytes | None:
    """Return what a regular file holds; None for anything else, and for more than `limit` bytes."""
    try:
        place = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(place, "rb") as file:
            if not stat.S_ISREG(os.fstat(place).st_mode):
                return None
            data = file.read(limit + 1)
    except OSError:
        return None
    return None if len(data) > limit else data
