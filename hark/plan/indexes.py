"""Tells an index that git could have written from one whose names lead out of the work tree or into `.git`.

git looks at a name as it is added, and not again as an index is read: `git restore .` writes whatever one
says. Always: what git would refuse to add, on any system, is not sound, and neither is what cannot be read as
git reads it. Not looked at: the checksum, which git does not ask either, and what else an extension says.
https://git-scm.com/docs/index-format, and verify_path in git's read-cache.c. Pure.
"""

import re
import struct
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

MAX_INDEX: Final = 1 << 28
"""Bytes, some three million entries; a larger one counts as none that git has written."""
_BATCH: Final = 4096  # names that are looked at together
_NAME_BITS: Final = 0xFFF
_EXTENDED: Final = 0x4000
_STAGE: Final = 0x3000
_KIND, _FILE, _LINK, _FOLDER = 0o170000, 0o100000, 0o120000, 0o040000
_PACKED: Final = 4  # the version whose names leave out what they have in common with the one before

_UNSEEN: Final = rb"(?:\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf)*"
"""What HFS+ does not see in a name."""
_ILL: Final = re.compile(
    rb"[/\0](?:[/\0]|\.\.?[/\0])"  # empty, `.`, `..`
    rb"|[/\\\0](?:\.git|git~1)[. ]*[/\\:\0]"  # as NTFS has it, in any case
    rb"|[/\0]" + _UNSEEN + rb"".join(one + _UNSEEN for one in (rb"\.", b"g", b"i", b"t")) + rb"[/\0]",
    re.IGNORECASE,
)
"""Found in names that are joined by NUL, with one before the first and one behind the last."""
_MODULES: Final = re.compile(rb"[/\\](?:\.gitmodules|gitmod~\d)[. ]*\0", re.IGNORECASE)


class _UnsoundError(Exception):
    pass


def is_sound(data: bytes, id_bytes: int = 20) -> bool:
    """Tell whether git could have written these names. `id_bytes`: 20, or 32 where objects have SHA-256."""
    try:
        _check(data, id_bytes)
    except (_UnsoundError, struct.error, IndexError, ValueError):
        return False
    return True


def _check(data: bytes, id_bytes: int) -> None:
    magic, version, count = struct.unpack_from(">4sII", data)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise _UnsoundError
    reading = _Reading(data, version, count, id_bytes)
    names = _Names()
    for batch in reading.batches():
        names.add(batch, reading.links)
        reading.links.clear()
    extensions = _extensions(reading)
    if names.has_empty and b"link" not in extensions:
        raise _UnsoundError
    _check_offsets(reading, extensions)


class _Names:
    """What was seen of the names up to here. They come in order, or git refuses the index."""

    def __init__(self) -> None:
        self.has_empty = False
        self._last = b""
        self._below: list[bytes] = []
        """What names below a link would begin with, and may still come."""

    def add(self, batch: list[bytes], links: list[bytes]) -> None:
        """Look at the next names, each with its NUL. Raises _UnsoundError."""
        if batch[0] == b"\0":  # of a split index, which replaces an entry of the shared one
            self.has_empty = True
            batch = [name for name in batch if name != b"\0"]
        if not batch:
            return
        joined = b"\0" + b"".join(batch)
        if joined.count(b"\0") != len(batch) + 1 or _ILL.search(joined):
            raise _UnsoundError
        if batch[0] < self._last or batch != sorted(batch):
            raise _UnsoundError
        self._below += links
        for start in self._below:
            at = bisect_left(batch, start)
            if at < len(batch) and batch[at].startswith(start):
                raise _UnsoundError
        self._last = batch[-1]
        self._below = [start for start in self._below if self._last < start]


class _Reading:
    """Reads the entries one by one, as git does without threads."""

    def __init__(self, data: bytes, version: int, count: int, id_bytes: int) -> None:
        self.data, self.version, self.count, self.id_bytes = data, version, count, id_bytes
        self.end = 12
        """Where the entries end, once they have been read."""
        self.links: list[bytes] = []
        """What names would begin with that lie below a link, of those links that were read."""
        self.wanted: dict[int, int] = {}
        """How many entries come before some that MUST begin where the key says, with their whole names."""

    def batches(self) -> Iterator[list[bytes]]:
        """Yield the names with the NUL behind each, so far as there is one. Raises _UnsoundError."""
        data, at, whole, batch = self.data, 12, b"", []
        head = struct.Struct(f">24xI{12 + self.id_bytes}xH")
        last, packed = len(data) - self.id_bytes, self.version == _PACKED
        for number in range(self.count):
            mode, flags = head.unpack_from(data, at)
            here, length, kept = at + head.size, flags & _NAME_BITS, 0
            if flags & _EXTENDED:
                here += 2
            if packed:
                kept, here = self._kept(whole, here)
            if self.wanted and not kept and self.wanted.get(at) == number:
                del self.wanted[at]
            stop = data.index(0, here) if length == _NAME_BITS else here + length - kept
            if not here <= stop < last:
                raise _UnsoundError
            name = data[here : stop + 1]
            if packed:
                name = whole = whole[:kept] + name
                at = stop + 1
            else:
                at += (stop - at + 8) & ~7
            batch.append(name if mode & _KIND == _FILE else self._spelled(name, mode & _KIND, flags))
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch
        if at > last:
            raise _UnsoundError
        self.end = at

    def _kept(self, whole: bytes, at: int) -> tuple[int, int]:
        """Return how much of the name before is kept, and where the rest begins."""
        strip, at = _varint(self.data, at)
        kept = max(0, len(whole) - 1) - strip
        if kept < 0:
            raise _UnsoundError
        return kept, at

    def _spelled(self, name: bytes, kind: int, flags: int) -> bytes:
        """Return the name of what is no file as it is looked at: a sparse index's folder ends in `/`."""
        if kind == _FOLDER:
            return name.replace(b"/\0", b"\0")
        if kind == _LINK:
            if _MODULES.search(b"/" + name):
                raise _UnsoundError
            if not flags & _STAGE:
                self.links.append(name[:-1] + b"/")
        return name


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number as git packs offsets, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
        if value > MAX_INDEX:
            raise _UnsoundError
    return value, at + 1


def _extensions(reading: _Reading) -> dict[bytes, bytes]:
    """Return what comes behind the entries, by its name."""
    data, at, found = reading.data, reading.end, {}
    while at <= len(data) - reading.id_bytes - 8:
        name, size = struct.unpack_from(">4sI", data, at)
        at += 8 + size
        found[name] = data[at - size : at]
    if at > len(data) - reading.id_bytes:
        raise _UnsoundError
    return found


def _check_offsets(reading: _Reading, extensions: dict[bytes, bytes]) -> None:
    """Check that git, where it reads with several threads, begins at the same entries. Raises _UnsoundError.

    It looks for the one extension at its place from the end, and for the other in what that leads to.
    """
    data, size = reading.data, 12 + reading.id_bytes
    magic, _, end = struct.unpack_from(">4sII", data, max(0, len(data) - reading.id_bytes - size))
    if magic != b"EOIE":
        return
    blocks = [*struct.iter_unpack(">II", extensions.get(b"IEOT", b"")[4:])]
    before = 0
    for offset, count in blocks:
        reading.wanted[offset] = before
        before += count
    for _ in reading.batches() if blocks else ():
        pass
    if end != reading.end or reading.wanted or (blocks and before != reading.count):
        raise _UnsoundError
