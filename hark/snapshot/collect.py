"""A tree read once, before the agent starts: hashes for the manifest, and the copy that a replay works on.

Never in either: what the agent does not see, what is ignored, and a file, name or link in which a credential
of the run stands, in any spelling that the record's guard knows. What is left out is named. A tree that is
larger than the policy allows has no copy; its manifest goes as far as `MAX_UNKEPT` bytes of reading, so that
what a run costs before it begins has a bound. A file that changes while it is read is read once more, then
left out.
"""

import os
import stat
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from blake3 import blake3

from hark.policy.model import SnapshotRules
from hark.snapshot.archive import FILE, FOLDER, LINK, MAGIC, MODES, SAME, Entry, packed
from hark.snapshot.ignoring import Rules
from hark.snapshot.survey import Descent, Folder, Name, Search, Survey, held, holds, joined, survey

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHANGED: Final = "changed while it was read"
GONE: Final = "gone or unreadable"
NOT_KEPT: Final = "not kept"
MAX_UNKEPT: Final = 256 << 20  # bytes that are read of a tree of which no copy is kept: a quarter of a second
MAX_KEPT_NAMES: Final = 50_000  # files of a tree that is kept; more take seconds, whatever their size
MAX_IGNORED: Final = 16 << 20  # bytes that are read of ignored files, where a key may lie: some milliseconds
MAX_IGNORED_NAMES: Final = 2_000
LEVEL: Final = 1  # of zstd: a bundle is written once a run, and a run waits for it
_BATCH: Final = 1 << 18
_PIECE: Final = 1 << 20


class Kept(NamedTuple):
    """A copy as it goes on the record."""

    hash: bytes
    data: bytes
    size: int
    """Bytes of the archive, uncompressed."""


@dataclass(slots=True)
class Collected:
    """What is known of a tree before the agent."""

    survey: Survey
    entries: dict[bytes, bytes] = field(default_factory=dict)
    """Path to hash; empty where the file was not read."""
    left_out: dict[bytes, str] = field(default_factory=dict)
    kept: Kept | None = None
    holding: dict[bytes, str] = field(default_factory=dict)
    """Path to the name of a secret whose value stands there, and which the agent can read there."""
    why: str = ""
    """Why there is no copy, or not all of one, where it was asked for."""


class LeftOutError(Exception):
    """A file is left out; the message is why."""


class Packer:
    """An archive under way."""

    def __init__(self) -> None:
        self._compressor = zstd.ZstdCompressor(level=LEVEL)
        self._hasher = blake3()
        self._batch = bytearray(MAGIC)
        self._out = bytearray()
        self._size = 0

    def add(self, entry: Entry) -> None:
        """Take the next entry."""
        for piece in packed(entry):
            self._batch += piece
        if len(self._batch) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        batch = bytes(self._batch)
        self._hasher.update(batch)
        self._out += self._compressor.compress(batch)
        self._size += len(batch)
        self._batch.clear()

    def finish(self) -> Kept:
        """Return the whole."""
        self._flush()
        self._out += self._compressor.flush()
        return Kept(self._hasher.digest(), bytes(self._out), self._size)


def collect(
    root: str, rules: SnapshotRules, kept_back: Collection[bytes], search: Search | None, *, keep: bool = True
) -> Collected:
    """Read the tree. Raises OSError where not even its root can be opened. `keep`: make a copy."""
    looked = survey(root, Rules(rules.exclude), kept_back, search)
    found = Collected(looked, left_out=dict(looked.left_out))
    reading = _Reading(found, _to_keep(looked, rules.max_bytes, found) if keep else (), search)
    with Descent(root) as descent:
        for folder in looked.folders:
            reading.take_folder(descent, folder)
        found.holding = dict(_holding(descent, found, search))
    found.kept = reading.finish()
    return found


def _holding(descent: Descent, found: Collected, search: Search | None) -> Iterator[tuple[bytes, str]]:
    """Yield what of the tree holds a credential: seen as it was read, or in a small file that is ignored."""
    for path, why in found.left_out.items():
        if (secret := held(why)) is not None:
            yield path, secret
    if search is None:
        return
    left = MAX_IGNORED
    for path in found.survey.ignored[:MAX_IGNORED_NAMES]:
        try:
            with open(descent.file(*_split(path)), "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if size <= min(left, _PIECE):
                    left -= size
                    hashed(file.fileno(), search, size)
        except LeftOutError as error:
            if (secret := held(str(error))) is not None:
                yield path, secret
        except OSError:
            continue


def _split(path: bytes) -> tuple[bytes, bytes]:
    folder, _, name = path.rpartition(b"/")
    return folder, name


def _to_keep(looked: Survey, most: int, found: Collected) -> tuple[bool, ...]:
    """Decide by sizes alone: all, all but git's own, or nothing. Each member says whether it is git's."""
    sizes = {True: 0, False: 0}
    number = 0
    for folder in looked.folders:
        sizes[_is_git(folder.path)] += sum(name.status.st_size for name in folder.names)
        number += 1 + len(folder.names)
    if looked.cut or number > MAX_KEPT_NAMES:
        found.why = f"it has more than {MAX_KEPT_NAMES} files and folders"
        return ()
    if sum(sizes.values()) <= most:
        return (True, False)
    if sizes[False] <= most:
        found.why = f"it has {sum(sizes.values())} bytes with its .git, more than {most}; .git is not in it"
        return (False,)
    found.why = f"it has {sum(sizes.values())} bytes, more than {most}"
    return ()


def _is_git(path: bytes) -> bool:
    return path == b".git" or path.startswith(b".git/")


class _Reading:
    """One pass over what was found."""

    def __init__(self, found: Collected, keeps: tuple[bool, ...], search: Search | None) -> None:
        self._found = found
        self._keeps = keeps
        self._search = search
        self._packer = Packer() if keeps else None
        self._unkept = MAX_UNKEPT
        self._names: dict[tuple[int, int], bytes] = {}
        """First name of each file that has several, where it is in the copy."""

    def finish(self) -> Kept | None:
        return None if self._packer is None else self._packer.finish()

    def take_folder(self, descent: Descent, folder: Folder) -> None:
        packer = self._packer if _is_git(folder.path) in self._keeps else None
        if packer is None and self._keeps and folder.path == b".git":
            self._found.left_out[b".git/"] = NOT_KEPT
        if packer is not None and folder.path:
            status = folder.status
            packer.add(Entry(FOLDER, folder.path, status.st_mode & MODES, status.st_mtime_ns))
        for name in folder.names:
            path = joined(folder.path, name.name)
            try:
                entry = self._entry(descent, folder.path, name, packer)
            except LeftOutError as error:
                self._found.left_out[path] = str(error)
            except OSError:
                self._found.left_out[path] = GONE
            else:
                if packer is not None and entry is not None:
                    packer.add(entry)

    def _entry(self, descent: Descent, folder: bytes, name: Name, packer: Packer | None) -> Entry | None:
        path, status = joined(folder, name.name), name.status
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(name.name, dir_fd=descent.folder(folder))
            self._refuse_secret(target)
            self._found.entries[path] = blake3(target).digest()
            return Entry(LINK, path, 0, status.st_mtime_ns, target)
        if packer is None:
            self._found.entries[path] = self._unkept_hash(descent, folder, name)
            return None
        data, status = self._content(descent, folder, name)
        self._refuse_secret(data)
        self._found.entries[path] = blake3(data).digest()
        first = self._names.setdefault((status.st_dev, status.st_ino), path) if status.st_nlink > 1 else path
        if first != path:
            return Entry(SAME, path, 0, 0, first)
        return Entry(FILE, path, status.st_mode & MODES, status.st_mtime_ns, data)

    def _refuse_secret(self, data: bytes) -> None:
        if self._search is not None and (secret := self._search(data)) is not None:
            raise LeftOutError(holds(secret))

    def _content(self, descent: Descent, folder: bytes, name: Name) -> tuple[bytes, os.stat_result]:
        """Read a file that stays the same meanwhile, and no larger than it was."""
        for _ in range(2):
            with open(descent.file(folder, name.name), "rb", buffering=0) as file:
                before = os.fstat(file.fileno())
                if before.st_size > name.status.st_size:
                    break  # what may be kept was decided by its size
                data = file.readall()
                after = os.fstat(file.fileno())
            if len(data) == before.st_size and same(before, after):
                return data, after
        raise LeftOutError(CHANGED)

    def _unkept_hash(self, descent: Descent, folder: bytes, name: Name) -> bytes:
        """Hash a file of which no copy is kept, while there is room for such."""
        if name.status.st_size > self._unkept:
            return b""
        self._unkept -= name.status.st_size
        with open(descent.file(folder, name.name), "rb", buffering=0) as file:
            return hashed(file.fileno(), self._search, name.status.st_size)


def hashed(descriptor: int, search: Search | None, most: int) -> bytes:
    """Hash an open file piece by piece. Raises LeftOutError where it holds a credential, or has grown."""
    hasher, before = blake3(), b""
    while data := os.read(descriptor, _PIECE):
        most -= len(data)
        if most < 0:
            raise LeftOutError(CHANGED)
        hasher.update(data)
        # A value across the border of two pieces stands in the two together.
        if search is not None and (secret := search(before + data)) is not None:
            raise LeftOutError(holds(secret))
        before = data
    return hasher.digest()


def same(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether nothing was done to a file between two looks at it. Its ctime nobody can set."""
    return (one.st_dev, one.st_ino, one.st_size, one.st_mode, one.st_mtime_ns, one.st_ctime_ns) == (
        other.st_dev, other.st_ino, other.st_size, other.st_mode, other.st_mtime_ns, other.st_ctime_ns,
    )  # fmt: skip
