"""What files held that a run left different, kept by their hashes so that two runs can be compared by line.

An archive of `hark.snapshot.archive` whose names are the BLAKE3 hashes of what they hold, in hexadecimal.
Only of the project, where it is kept for a replay at all; no link, no file of more than `MAX_FILE` bytes, and
nothing in which a credential stands. What has no room is on the record by its hash, as every file is.
"""

from collections.abc import Callable, Iterator
from typing import Final

from hark.bundle.events import Snapshot
from hark.snapshot.archive import FILE, Entry
from hark.snapshot.collect import Packer
from hark.snapshot.stored import parts_of

NAME: Final = "results"
MAX_FILE: Final = 1 << 20  # bytes; of more nobody reads a list of lines
MAX_ALL: Final = 16 << 20  # bytes of all of them
_OVERHEAD: Final = 128  # bytes of the archive for each, besides what it holds

type Take = Callable[[bytes, bytes], None]
"""Takes a file's hash and what it held."""


class Contents:
    """What is kept of one run. `take` each, then `events`."""

    def __init__(self, most: int) -> None:
        """`most`: bytes in all, before they are compressed."""
        self._left = min(most, MAX_ALL)
        self._taken: set[bytes] = set()
        self._packer: Packer | None = None

    def take(self, digest: bytes, data: bytes) -> None:
        """Keep what a file held, if it has room and is not there yet."""
        size = len(data) + _OVERHEAD
        if digest in self._taken or size > self._left:
            return
        self._left -= size
        self._taken.add(digest)
        if self._packer is None:
            self._packer = Packer()
        self._packer.add(Entry(FILE, digest.hex().encode(), data=data))

    def events(self) -> Iterator[Snapshot]:
        """Yield what goes on the record; nothing where nothing was taken."""
        if self._packer is not None:
            yield from parts_of(self._packer.finish(), NAME)
