"""A copy of the directory that a run has worked in, set back to what the run began with.

Always: only what is still as the run left it, by kind and content, is touched; what somebody changed since
stays. The paths are a bundle's word, so each is gone to folder by folder, without following a link.

Not done here: folders that were empty at the beginning are not on the record; where nothing but what the run
made was in one, it goes too, unless the bundle's own copy of the project has it.
"""

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from typing import Final, NamedTuple

from blake3 import blake3

from hark.bundle.events import FileResult
from hark.snapshot.collect import LeftOutError, hashed
from hark.snapshot.names import is_inside, path_of
from hark.snapshot.survey import Descent, joined

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Rewound(NamedTuple):
    """What was set back, and what could not be, by the names on the record."""

    done: list[str]
    undone: list[str]


def rewind(
    results: Iterable[FileResult],
    entries: Mapping[str, bytes],
    left_out: Set[str],
    root: str,
    unpacked: Callable[[], str | None],
) -> Rewound:
    """Set back in `root` what a run of these results has made, changed and removed there.

    `entries` are the files that it began with, and `unpacked` gives a folder with them; None: nobody has one.
    """
    found = Rewound([], [])
    emptied: set[bytes] = set()
    with Descent(root) as descent:
        for path, result in _as_left(results, descent):
            if result.path in left_out:
                continue
            if result.path not in entries:
                if result.hash:
                    _remove(descent, path)
                    emptied.add(path.rpartition(b"/")[0])
                    found.done.append(result.path)
                continue
            before = unpacked()
            back = before is not None and _bring_back(descent, path, before)
            (found.done if back else found.undone).append(result.path)
    _tidy(root, emptied, None if not emptied else unpacked())
    return found


def _as_left(results: Iterable[FileResult], descent: Descent) -> Iterator[tuple[bytes, FileResult]]:
    """Yield the results that the tree still shows."""
    for result in results:
        path = path_of(result.path)
        if path is not None and is_inside(path) and _is_as_left(descent, path, result):
            yield path, result


def _is_as_left(descent: Descent, path: bytes, result: FileResult) -> bool:
    folder, _, name = path.rpartition(b"/")
    try:
        status = os.lstat(name, dir_fd=descent.folder(folder))
    except OSError:
        return not result.hash
    if not result.hash or stat.S_IFMT(status.st_mode) != stat.S_IFMT(result.mode):
        return False
    with suppress(OSError, LeftOutError):
        if stat.S_ISLNK(status.st_mode):
            return blake3(os.readlink(name, dir_fd=descent.folder(folder))).digest() == result.hash
        with open(descent.file(folder, name), "rb", buffering=0) as file:
            return hashed(file.fileno(), None, status.st_size) == result.hash
    return False


def _remove(descent: Descent, path: bytes) -> None:
    folder, _, name = path.rpartition(b"/")
    os.unlink(name, dir_fd=descent.folder(folder))


def _bring_back(descent: Descent, path: bytes, before: str) -> bool:
    """Put a file or link in its place as it was; False where it cannot be."""
    folder, _, name = path.rpartition(b"/")
    try:
        with Descent(before) as source:
            status = os.lstat(name, dir_fd=source.folder(folder))
            with suppress(FileNotFoundError):
                _remove(descent, path)
            _make_folders(descent, folder)
            here = descent.folder(folder)
            if stat.S_ISLNK(status.st_mode):
                os.symlink(os.readlink(name, dir_fd=source.folder(folder)), name, dir_fd=here)
                return True
            with (
                open(source.file(folder, name), "rb") as old,
                open(os.open(name, _NEW, 0o600, dir_fd=here), "wb") as new,
            ):
                shutil.copyfileobj(old, new)
                os.fchmod(new.fileno(), stat.S_IMODE(status.st_mode))
            os.utime(name, ns=(status.st_mtime_ns, status.st_mtime_ns), dir_fd=here)
    except OSError:
        return False
    return True


def _make_folders(descent: Descent, folder: bytes) -> None:
    above = b""
    for name in folder.split(b"/") if folder else ():
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=descent.folder(above))
        above = joined(above, name)


def _tidy(root: str, emptied: Set[bytes], before: str | None) -> None:
    """Remove the folders that have nothing in them any more, and were not there before."""
    for folder in sorted(emptied, key=len, reverse=True):
        left = folder
        while left and not (before is not None and _is_folder(before, left)) and _is_removed(root, left):
            left = left.rpartition(b"/")[0]


def _is_removed(root: str, folder: bytes) -> bool:
    above, _, name = folder.rpartition(b"/")
    try:
        with Descent(root) as descent:
            os.rmdir(name, dir_fd=descent.folder(above))
    except OSError:
        return False
    return True


def _is_folder(root: str, path: bytes) -> bool:
    try:
        with Descent(root) as descent:
            descent.folder(path)
    except OSError:
        return False
    return True
