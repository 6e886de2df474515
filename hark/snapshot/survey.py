"""What lies in a tree, without reading it: folders and names with their status, and what is left out and why.

Folders are opened one below the other and no link is followed on the way, so whoever changes the tree
meanwhile leads nothing out of it. What cannot be listed is named, as is what is neither file, folder nor
link.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, Self

from hark.snapshot.ignoring import EXCLUDES, FILE, MAX_RULES, Rules

MASKED: Final = "masked"
MASKED_FOLDER: Final = "masked folder"
UNREADABLE: Final = "unreadable"
UNNAMED: Final = b"(a name)"
"""Stands for names that hold a credential."""
_HOLDS: Final = "holds the value of secrets."
TOO_MANY: Final = "too many files"
TOO_DEEP: Final = "too deep"
MAX_DEPTH: Final = 200  # folders in folders: each is held open while one looks into it
MAX_NAMES: Final = 200_000  # looked at, about a second; what lies beyond is neither kept nor compared
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # never wait for a FIFO
_SPECIAL: Final = (
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISFIFO, "FIFO"),
    (stat.S_ISBLK, "device"),
    (stat.S_ISCHR, "device"),
)
SPECIAL: Final = frozenset(word for _, word in _SPECIAL)


type Search = Callable[[bytes], str | None]
"""MUST return the name of a secret whose real value stands in the bytes, in any form; None without one."""


class Path(NamedTuple):
    """A name, and where it is."""

    name: bytes
    whole: bytes


class Name(NamedTuple):
    """A file or a link in a folder."""

    name: bytes
    status: os.stat_result


@dataclass(slots=True)
class Folder:
    """One folder, and what of it is neither folder nor left out, sorted."""

    path: bytes
    status: os.stat_result
    names: list[Name] = field(default_factory=list)


@dataclass(slots=True)
class Survey:
    """A tree as it lies there. Paths are relative to it; folders come before what is in them, sorted."""

    folders: list[Folder] = field(default_factory=list)
    left_out: dict[bytes, str] = field(default_factory=dict)
    """Path to why; a folder's ends with a slash."""
    rules: Rules = field(default_factory=Rules)
    ignored: list[bytes] = field(default_factory=list)
    """Files that a pattern leaves out, in folders that none does: a credential may lie there."""
    cut: bool = False
    """There was more than is looked at."""

    def files(self) -> Iterator[tuple[bytes, os.stat_result]]:
        """Yield every path that is no folder."""
        for folder in self.folders:
            for name in folder.names:
                yield joined(folder.path, name.name), name.status


def joined(folder: bytes, name: bytes) -> bytes:
    """A name in a folder; the tree's own is empty."""
    return folder + b"/" + name if folder else name


class Descent:
    """Folders of a tree, opened from its root downwards; neighbours share what is open above them."""

    def __init__(self, root: str | bytes) -> None:
        self._open = [(b"", os.open(root, _FOLDER))]

    def folder(self, path: bytes) -> int:
        """A descriptor of the folder at `path`, valid until the next call. Raises OSError."""
        while self._open[-1][0] and not (path + b"/").startswith(self._open[-1][0] + b"/"):
            os.close(self._open.pop()[1])
        here, descriptor = self._open[-1]
        for name in path[len(here) :].split(b"/"):
            if name:
                descriptor = os.open(name, _FOLDER, dir_fd=descriptor)
                here = joined(here, name)
                self._open.append((here, descriptor))
        return descriptor

    def file(self, folder: bytes, name: bytes) -> int:
        """A new descriptor of a regular file. Raises OSError, also where it is none by now."""
        descriptor = os.open(name, _FILE, dir_fd=self.folder(folder))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(f"{os.fsdecode(joined(folder, name))} is no file any more")
        return descriptor

    def close(self) -> None:
        """Close every folder."""
        while self._open:
            os.close(self._open.pop()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def survey(
    root: str, rules: Rules, kept_back: Collection[bytes], search: Search | None = None, *, learn: bool = True
) -> Survey:
    """Look through the tree. `kept_back` is what the agent does not see; it is named, as covered.

    With `learn`, the files of patterns in the tree become part of `rules`; without, they are files.
    """
    found = Survey(rules=rules)
    sort = _Sorting(found, kept_back, search).sort
    with Descent(root) as descent:
        if learn:
            _learn(rules.read_general, descent, *EXCLUDES.rpartition(b"/")[::2])
        pending, seen = [b""], 0
        while pending:
            path = pending.pop()
            if path.count(b"/") >= MAX_DEPTH:
                found.left_out[path + b"/"] = TOO_DEEP
                continue
            try:
                descriptor = descent.folder(path)
                with os.scandir(descriptor) as listed:
                    entries = sorted(listed, key=lambda entry: os.fsencode(entry.name))
                folder = Folder(path, os.fstat(descriptor))
            except OSError:
                found.left_out[path + b"/"] = UNREADABLE
                continue
            seen += len(entries)
            if seen > MAX_NAMES:
                found.cut = True
                found.left_out[path + b"/"] = TOO_MANY
                continue
            if learn and any(entry.name == FILE for entry in entries):
                _learn(partial(rules.read, path), descent, path, FILE.encode())
            found.folders.append(folder)
            below = [one for entry in entries if (one := sort(folder, entry)) is not None]
            pending += reversed(below)
    return found


class _Sorting:
    """Puts names where they belong."""

    def __init__(self, found: Survey, kept_back: Collection[bytes], search: Search | None) -> None:
        self._found = found
        self._kept_back = kept_back
        self._search = search

    def sort(self, folder: Folder, entry: "os.DirEntry[str]") -> bytes | None:
        """Take note of a name; the path of a folder that is to be looked into."""
        name = os.fsencode(entry.name)
        path = joined(folder.path, name)
        is_folder = entry.is_dir(follow_symlinks=False)
        shown = path + b"/" if is_folder else path
        if self._search is not None and (secret := self._search(path)) is not None:
            self._found.left_out[joined(folder.path, UNNAMED)] = holds(secret)
        elif path in self._kept_back:
            self._found.left_out[shown] = MASKED_FOLDER if is_folder else MASKED
        elif (why := self._found.rules.why(path, folder=is_folder)) is not None:
            self._found.left_out[shown] = why
            if self._search is not None and entry.is_file(follow_symlinks=False):
                self._found.ignored.append(path)
        elif is_folder:
            return path
        else:
            self._sort_file(folder, entry, Path(name, path))
        return None

    def _sort_file(self, folder: Folder, entry: "os.DirEntry[str]", path: Path) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return  # gone by now
        why = next((word for test, word in _SPECIAL if test(status.st_mode)), None)
        if why is not None:
            self._found.left_out[path.whole] = why
        else:
            folder.names.append(Name(path.name, status))


def holds(secret: str) -> str:
    """Why something is left out in which a credential stands."""
    return f"{_HOLDS}{secret}"


def held(why: str) -> str | None:
    """Which secret's value stands in what is left out for that; None where another thing is why."""
    return why.removeprefix(_HOLDS) if why.startswith(_HOLDS) else None


def _learn(take: Callable[[bytes], None], descent: Descent, folder: bytes, name: bytes) -> None:
    try:
        with open(descent.file(folder, name), "rb") as file:
            take(file.read(MAX_RULES + 1))  # one more shows that it is too much
    except OSError:
        return
