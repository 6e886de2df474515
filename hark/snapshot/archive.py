"""The copy of a tree as bytes, and back: no IO, and nothing here trusts what it reads.

    HARKTREE1\n, then for each entry: length of its head (4 bytes, big endian), head, content

A head is deterministic CBOR: [kind, path, mode, mtime in ns, size of the content], path and kind as below. A
folder comes before what is in it, and a hard link after the file that it is another name of. So a tree has
one spelling: no owner, inode or time of reading is in it. `Reader` accepts nothing else: no path twice, none
that is absolute or leads up, none below what is no folder, no mode beyond the nine bits, no other kind of
file.

The bytes on the record are these, compressed with zstd in one frame; the hash is that of these.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple, Protocol

from hark.bundle import cbor
from hark.errors import BundleError
from hark.snapshot.names import is_inside, spelled

MAGIC: Final = b"HARKTREE1\n"
FOLDER, FILE, LINK, SAME = 0, 1, 2, 3
"""Kinds. Of LINK the content is where it leads, of SAME the path of the file that it is a second name of."""
MODES: Final = 0o777  # no set-user-id: a copy lies where nothing says nosuid
MAX_HEAD: Final = 8192  # a path has at most 4095 bytes
MAX_PATH: Final = 4095
MAX_TARGET: Final = 4095
_TIMES: Final = (-(1 << 63), 1 << 63)
_LENGTH: Final = Struct(">I")


class Entry(NamedTuple):
    """One name in a tree."""

    kind: int
    path: bytes
    mode: int = 0
    mtime_ns: int = 0
    data: bytes = b""


def packed(entry: Entry) -> Iterator[bytes]:
    """Yield the bytes of one entry: head, then content."""
    head = cbor.encode([entry.kind, entry.path, entry.mode, entry.mtime_ns, len(entry.data)])
    yield _LENGTH.pack(len(head)) + head
    yield entry.data


class Source(Protocol):
    """Where a Reader reads from. `take` MUST return exactly `size` bytes, or fewer at the end."""

    def take(self, size: int) -> bytes:
        """The next bytes."""
        ...


class Reader:
    """Entries of an archive, in order. Raises BundleError at the first that hark would not have written."""

    def __init__(self, source: Source, max_bytes: int) -> None:
        """Of more than `max_bytes` in all, heads included, nothing is read."""
        self._source = source
        self._left = max_bytes
        self._max = max_bytes
        self._kinds: dict[bytes, int] = {b"": FOLDER}

    def __iter__(self) -> Iterator[Entry]:
        """Yield every entry."""
        if self._take(len(MAGIC)) != MAGIC:
            raise BundleError("the snapshot does not begin as one")
        while head := self._take(_LENGTH.size, at_end=True):
            (size,) = _LENGTH.unpack(head)
            if size > MAX_HEAD:
                raise BundleError(f"the snapshot has an entry whose head takes {size} bytes")
            yield self._entry(cbor.decode(self._take(size)))

    def _take(self, size: int, *, at_end: bool = False) -> bytes:
        if size > self._left and not (at_end and self._source.take(1) == b""):
            raise BundleError(f"the snapshot is larger than {self._max} bytes; allow more, if you trust it")
        data = self._source.take(size)
        self._left -= len(data)
        if len(data) != size and not (at_end and not data):
            raise BundleError("the snapshot breaks off")
        return data

    def _entry(self, head: cbor.Value) -> Entry:
        match head:
            case [int(kind), bytes(path), int(mode), int(mtime), int(size)] if _plain(
                kind, mode, mtime, size
            ):
                pass
            case _:
                raise BundleError("the snapshot has an entry that is none")
        where = f"{spelled(path[:MAX_PATH])} in the snapshot"
        if len(path) > MAX_PATH or not is_inside(path):
            raise BundleError(f"{where} would lie outside of the copy")
        if path in self._kinds:
            raise BundleError(f"{where} is there twice")
        if self._kinds.get(path.rpartition(b"/")[0]) != FOLDER:
            raise BundleError(f"{where} lies in what is no folder")
        if (kind == FOLDER and size) or (kind in (LINK, SAME) and not 0 < size <= MAX_TARGET):
            raise BundleError(f"{where} has content that its kind does not have")
        entry = Entry(kind, path, mode, mtime, self._take(size))
        if kind == LINK and b"\0" in entry.data:
            raise BundleError(f"{where} leads to what is no path")
        if kind == SAME and self._kinds.get(entry.data) != FILE:
            raise BundleError(f"{where} is a second name of what is no file")
        self._kinds[path] = kind
        return entry


def _plain(kind: int, mode: int, mtime: int, size: int) -> bool:
    numbers = all(type(number) is int for number in (kind, mode, mtime, size))  # True is an int to a pattern
    return (
        numbers
        and kind in (FOLDER, FILE, LINK, SAME)
        and mode & ~MODES == 0
        and _TIMES[0] <= mtime < _TIMES[1]
        and size >= 0
    )
