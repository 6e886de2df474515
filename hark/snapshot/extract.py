"""Files from the copy in a bundle, which somebody else wrote.

What always holds: nothing is written outside of the destination, which is an empty directory of ours. Each
name is made below a folder that is open, none may exist yet, and no link is followed. There are files,
folders and links of both kinds and nothing else, no set-user-id, no owner. What is made has the hash that
the bundle gives for the whole and, file by file, those of its manifest; otherwise BundleError, and the
caller removes the rest.

A path that the agent saw masked is made as something empty, to be covered again.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Final

from blake3 import blake3

from hark.errors import BundleError, UsageError
from hark.snapshot.archive import FILE, FOLDER, LINK, Entry, Reader
from hark.snapshot.names import is_inside, path_of, spelled
from hark.snapshot.stored import Stored
from hark.snapshot.survey import MASKED, MASKED_FOLDER, Descent, joined
from hark.snapshot.unpack import Unpacking

FACTOR: Final = 2
"""Heads beside contents: the limit counts the files alone, and a copy of many small ones is larger."""
SPARE: Final = 32 << 20  # heads of 50,000 entries with long paths
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TIMES_S: Final = range(-(1 << 33), 1 << 35)  # what file systems hold; others keep the time of the copy


def extract(stored: Stored, destination: str, max_bytes: int) -> None:
    """Make the files in `destination`, an empty directory, of at most `max_bytes` of files.

    Raises BundleError where the copy is not what the bundle says, UsageError where it cannot be written.
    """
    if os.listdir(destination):
        raise UsageError(f"{destination} is not empty; name an empty directory, or one that does not exist")
    source = Unpacking(stored.data)
    try:
        with Descent(destination) as descent:
            making = _Making(descent, stored)
            for entry in Reader(source, max_bytes * FACTOR + SPARE):
                making.make(entry)
            if source.finish() != stored.hash:
                raise BundleError("the snapshot is not the one that the bundle gives the hash of")
            making.finish()
    except OSError as error:
        raise UsageError(f"cannot copy the project to {destination}: {error.strerror or error}") from error


def masked(stored: Stored) -> Iterator[tuple[bytes, bool]]:
    """Yield what the agent saw masked, and whether it is a folder. Raises BundleError for a path outside."""
    for text, why in stored.left_out.items():
        if why in (MASKED, MASKED_FOLDER):
            path = path_of(text.rstrip("/"))
            if path is None or not is_inside(path):
                raise BundleError(f"{text} of the manifest would lie outside of the copy")
            yield path, why == MASKED_FOLDER


class _Making:
    """One extraction."""

    def __init__(self, descent: Descent, stored: Stored) -> None:
        self._descent = descent
        self._entries: Mapping[str, bytes] = stored.entries
        self._stored = stored
        self._folders: list[Entry] = []

    def make(self, entry: Entry) -> None:
        above, _, name = entry.path.rpartition(b"/")
        here = self._descent.folder(above)
        if entry.kind == FOLDER:
            os.mkdir(name, 0o700, dir_fd=here)
            self._folders.append(entry)
            return
        if entry.kind == LINK:
            self._check(entry.path, entry.data)
            os.symlink(entry.data, name, dir_fd=here)
        elif entry.kind == FILE:
            self._check(entry.path, entry.data)
            _write(here, name, entry)
        else:
            self._second_name(entry, here, name)
            return
        _date(entry, here, name)

    def _check(self, path: bytes, data: bytes) -> None:
        if self._entries.get(spelled(path)) != blake3(data).digest():
            raise BundleError(f"{spelled(path)} in the snapshot is not what the bundle's manifest says")

    def _second_name(self, entry: Entry, here: int, name: bytes) -> None:
        known = self._entries.get(spelled(entry.data))
        if self._entries.get(spelled(entry.path)) != known:
            raise BundleError(f"{spelled(entry.path)} in the snapshot is not what the bundle's manifest says")
        above, _, first = entry.data.rpartition(b"/")
        keep = os.dup(here)
        try:
            os.link(
                first, name, src_dir_fd=self._descent.folder(above), dst_dir_fd=keep, follow_symlinks=False
            )
        finally:
            os.close(keep)

    def finish(self) -> None:
        """Put what was masked in its place, and give folders, now that all is in them, modes and times."""
        for path, folder in masked(self._stored):
            self._cover(path, folder=folder)
        for entry in reversed(self._folders):
            above, _, name = entry.path.rpartition(b"/")
            here = self._descent.folder(above)
            _date(entry, here, name)
            os.chmod(name, entry.mode, dir_fd=here)

    def _cover(self, path: bytes, *, folder: bool) -> None:
        names = path.split(b"/")
        above = b""
        for name in names[:-1]:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self._descent.folder(above))
            above = joined(above, name)
        here = self._descent.folder(above)
        if folder:
            os.mkdir(names[-1], 0o700, dir_fd=here)
        else:
            os.close(os.open(names[-1], _NEW, 0o600, dir_fd=here))


def _write(here: int, name: bytes, entry: Entry) -> None:
    with open(os.open(name, _NEW, 0o600, dir_fd=here), "wb", buffering=0) as file:
        rest = memoryview(entry.data)
        while rest:
            rest = rest[file.write(rest) :]
        os.fchmod(file.fileno(), entry.mode)


def _date(entry: Entry, here: int, name: bytes) -> None:
    if entry.mtime_ns // 1_000_000_000 in _TIMES_S:
        os.utime(name, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=here, follow_symlinks=False)
