"""Newline-delimited messages out of a stream that comes in pieces. No IO.

Always: a line is returned once and whole, without its end and never empty; what is held is at most a line of
`ceiling` bytes. A line that grows longer ends the stream (`LineError`).
"""

from typing import Final

MAX_FROM_AGENT: Final = 4 << 20
"""A message of the agent's: larger than any call that a model writes; held while it is judged."""
MAX_FROM_SERVER: Final = 16 << 20
"""A server's: a result may hold pictures."""


class LineError(ValueError):
    """A line is longer than its ceiling."""


class Lines:
    """One direction of one connection."""

    def __init__(self, ceiling: int) -> None:
        self._ceiling = ceiling
        self._open: list[bytes] = []
        self._size = 0

    @property
    def unfinished(self) -> bool:
        """Tell whether the stream stands within a line."""
        return self._size > 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Take a piece and return the lines that it ends. Raises LineError."""
        *ended, rest = piece.split(b"\n")
        lines = []
        for part in ended:
            self._keep(part)
            line = b"".join(self._open).rstrip(b"\r")
            self._open, self._size = [], 0
            if line.strip():
                lines.append(line)
        self._keep(rest)
        return lines

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._ceiling:
            raise LineError(f"a message is longer than {self._ceiling} bytes")
        if part:
            self._open.append(part)
