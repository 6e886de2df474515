"""How the files differ that two runs left: by line, where the bundles hold what stood in them.

What always holds: a bundle has a file's content in its copy of the project as it began, or among what it kept
of its end (`hark.snapshot.contents`); where one is in neither, the hashes are all there is.
Content counts only under its own hash. An archive is read to `MAX_BYTES`, and only of files that differ is
anything held.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from blake3 import blake3

from hark.bundle import events as ev
from hark.diff.align import Row
from hark.diff.side import Side
from hark.diff.texts import MAX_TEXT, Change, of_text
from hark.errors import BundleError
from hark.replay import treatment
from hark.snapshot import contents, stored
from hark.snapshot.archive import FILE, Reader
from hark.snapshot.unpack import Unpacking

MAX_BYTES: Final = 256 << 20  # of an archive, unpacked
NO_CONTENT: Final = "differs; a bundle holds its hash alone"
EMPTY: Final = blake3().digest()


class Files:
    """The files of two runs. What they held is read when the first one is asked for."""

    def __init__(self, rows: Sequence[Row], one: Side, other: Side) -> None:
        """`rows` are those of both runs."""
        self._rows = rows
        self._sides = (one, other)

    def changes(self, row: Row) -> list[Change]:
        """Return how a file differs in the second run; nothing of a row of no file. Raises BundleError."""
        if row.equal or not _is_file(row):
            return []
        one, other = self._sides
        was, now = one.result(row.was), other.result(row.now)
        known = was or now
        if known is None or known.was_there:
            return []
        before = self._hash(was, one, known.path)
        after = self._hash(now, other, known.path)
        modes = [f"{end.mode & 0o7777:04o}" for end in (was, now) if end is not None and end.hash]
        found = []
        if len(modes) == 2 and modes[0] != modes[1]:
            found.append(Change("mode", f"was {modes[0]} and is {modes[1]}"))
        if before != after:
            found.append(self._of_hashes(before, after))
        return found

    def _hash(self, end: ev.FileResult | None, side: Side, path: str) -> bytes:
        """Return what a run left: of a file that it left alone, what it began with; empty for none."""
        if end is not None:
            return end.hash
        return self._began[side].get(path, b"")

    def _of_hashes(self, before: bytes, after: bytes) -> Change:
        was, now = self._text(before), self._text(after)
        if was is None or now is None:
            return Change("content", NO_CONTENT)
        change = of_text("content", was, now, self._sides[0].effort)
        if not before or not after:
            return change._replace(words="is new" if not before else "is gone")
        return change

    def _text(self, digest: bytes) -> str | None:
        if digest in (b"", EMPTY):
            return ""
        data = self._held.get(digest)
        if data is None or len(data) > MAX_TEXT or b"\0" in data:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError:
            return None

    @cached_property
    def _began(self) -> dict[Side, dict[str, bytes]]:
        found: dict[Side, dict[str, bytes]] = {}
        for side in self._sides:
            found[side] = {}
            for event in side.manifests():
                if isinstance(event, ev.FsManifest) and event.root == side.start.working_dir:
                    found[side] |= event.entries
        return found

    @cached_property
    def _held(self) -> dict[bytes, bytes]:
        """What files held that differ, by hash."""
        wanted = set(self._wanted())
        return {
            digest: data
            for side in self._sides
            for archive in _archives(side)
            for digest, data in _held(archive, wanted)
        }

    def _wanted(self) -> Iterator[bytes]:
        for row in self._rows:
            if row.equal or not _is_file(row):
                continue
            for side, action in zip(self._sides, (row.was, row.now), strict=True):
                if (end := side.result(action)) is not None:
                    yield end.hash
                    yield from (began.get(end.path, b"") for began in self._began.values())


def _is_file(row: Row) -> bool:
    return row.action.stream.partition(" ")[0] == treatment.FILE


def _archives(side: Side) -> list[bytes]:
    """Return what a bundle holds of the project as it began, and of its end. It is decoded once."""
    found: dict[str, list[bytes]] = {stored.NAME: [], contents.NAME: []}
    for event in side.snapshots():
        if isinstance(event, ev.Snapshot) and event.name in found:
            found[event.name].append(event.data)
    return [b"".join(parts) for parts in found.values() if parts]


def _held(archive: bytes, wanted: set[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield what an archive holds of what is wanted. One that cannot be read holds nothing."""
    if not archive:
        return
    try:
        for entry in Reader(Unpacking(archive), MAX_BYTES):
            if entry.kind == FILE and (digest := blake3(entry.data).digest()) in wanted:
                yield digest, entry.data
    except BundleError:
        return
