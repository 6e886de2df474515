"""Find byte strings in a stream that comes in pieces. No IO; memory is bounded by the longest needle.

Always: a needle that stands anywhere in the stream is found, however the pieces divide it, before its last
byte is passed on; and of one whose beginning was `HOLD_FROM` bytes or longer, nothing beyond that beginning
was passed on. A piece whose end could not be such a beginning is passed on whole and at once.
"""

from collections.abc import Mapping
from typing import Final

HOLD_FROM: Final = 4
"""Shorter coincidences at a piece's end are common (`a` begins many needles) and give nothing away; holding
them would make an answer that pauses there wait for its next byte."""


class Needles:
    """A fixed set of byte strings, each with the name under which a hit is reported."""

    def __init__(self, needles: Mapping[bytes, str]) -> None:
        self.names = {needle: name for needle, name in needles.items() if needle}
        self.longest = max(map(len, self.names), default=0)
        self._prefixes: dict[bytes, list[bytes]] = {}
        for needle in self.names:
            self._prefixes.setdefault(needle[:HOLD_FROM], []).append(needle)

    def find(self, data: bytes) -> str | None:
        """Return the name of a needle that stands in `data`, or None."""
        for needle, name in self.names.items():
            if needle in data:
                return name
        return None

    def tail(self, data: bytes) -> int:
        """Return how many bytes at the end of `data` begin a needle: `HOLD_FROM` or more, else 0."""
        end = data[-(self.longest - 1) :] if self.longest > 1 else b""
        longest = 0
        for prefix, needles in self._prefixes.items():
            at = end.find(prefix)
            while at >= 0:
                rest = end[at:]
                if any(len(needle) > len(rest) and needle.startswith(rest) for needle in needles):
                    longest = max(longest, len(rest))
                    break
                at = end.find(prefix, at + 1)
        return longest


class FoundError(Exception):
    """A needle stands in the stream; `name` says which."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class StreamScan:
    """One stream's scan. `feed` returns what may pass; `finish` what was still held."""

    def __init__(self, needles: Needles) -> None:
        self._needles = needles
        self._seen = b""  # the last bytes already passed on: a needle may have begun in them
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Take a piece and return the bytes that may be passed on now. Raises FoundError."""
        if not self._needles.longest:
            return piece
        data = self._held + piece
        window = self._seen + data
        name = self._needles.find(window)
        if name is not None:
            raise FoundError(name)
        hold = min(self._needles.tail(window), len(data))
        passed, self._held = data[: len(data) - hold], data[len(data) - hold :]
        self._seen = (self._seen + passed)[-self._needles.longest :]
        return passed

    def finish(self) -> bytes:
        """Return the held bytes: the stream ended, so they were no needle."""
        held, self._held = self._held, b""
        return held
