"""What stands in large events of a bundle, read again when it is needed: a replay holds none of it in memory.

Always: what is given back has the leaf that the event had when the bundle was read first; a file that has
become another one meanwhile is an error, and never an answer.
"""

from typing import Final

from hark.bundle.events import LlmResponseChunk, decode
from hark.bundle.hashing import leaf_hash
from hark.bundle.walk import BundleFile, Placed
from hark.errors import BundleError

LARGE: Final = 1 << 12
"""Bytes of an answer's piece from which on it is read again. What is smaller costs less than its place."""


class Contents:
    """The pieces of answers in one bundle. MUST be closed; any thread may ask."""

    def __init__(self, path: str) -> None:
        self._file = BundleFile(path)
        self._places: dict[int, tuple[int, bytes]] = {}

    def aside(self, placed: Placed, event: object) -> object:
        """Return an event as it is kept in memory: without its bytes where there are many."""
        if not isinstance(event, LlmResponseChunk) or len(event.data) < LARGE:
            return event
        self._places[placed.frame.seq] = (placed.offset, placed.frame.leaf)
        return event._replace(data=b"")

    def of(self, seq: int) -> bytes | None:
        """Return the bytes of an event; None where it was not set aside. Raises BundleError."""
        place = self._places.get(seq)
        if place is None:
            return None
        offset, leaf = place
        frame = self._file.frame_at(offset)
        if frame.seq != seq or leaf_hash(frame.seq, frame.kind, frame.payload) != leaf:
            raise BundleError(f"{self._file.path} has changed since it was verified: event {seq} is another")
        event = decode(frame.kind, frame.payload)
        return event.data if isinstance(event, LlmResponseChunk) else None

    def close(self) -> None:
        """Let the file go; again is harmless."""
        self._file.close()
