"""Server-sent events out of a stream that comes in pieces (WHATWG HTML, 9.2.6). No IO.

Only looks: nothing is held back from whoever passes the stream on. An event larger than `MAX_EVENT` is
skipped, so memory is bounded whatever a server sends.
"""

from dataclasses import dataclass
from typing import Final

MAX_TYPE: Final = 64  # bytes of an event's type; the two that matter have eight at most
MAX_EVENT: Final = 8 << 20  # a tool's result with a picture in it has some megabytes


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event."""

    type: str
    data: bytes


class Reader:
    """One stream."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data = bytearray()
        self._type = "message"
        self._some = False
        self._lost = False
        self._after_cr = False
        self._begun = False

    @property
    def held(self) -> int:
        """Return how many bytes it holds."""
        return len(self._line) + len(self._data)

    def finish(self) -> list[Event]:
        """Return nothing: an event that was not ended is none (9.2.6)."""
        return []

    def feed(self, piece: bytes) -> list[Event]:
        """Take a piece and return the events that it completes."""
        if not piece:
            return []
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_cr = piece.endswith(b"\r")
        *whole, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events = []
        for line in whole:
            self._keep(line)
            event = self._end_of_line()
            if event is not None:
                events.append(event)
        self._keep(rest)
        return events

    def _keep(self, part: bytes) -> None:
        if len(self._line) + len(self._data) + len(part) > MAX_EVENT:
            self._lost = True
            self._data.clear()
            part = part[:1]  # enough to tell a blank line from another
            del self._line[1:]
        if not (self._lost and self._line):
            self._line += part

    def _end_of_line(self) -> Event | None:
        line = bytes(self._line)
        self._line.clear()
        if not self._begun:
            self._begun = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._dispatch()
        if self._lost:
            return None
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data += value + b"\n"
            self._some = True
        elif name == b"event":
            self._type = value[:MAX_TYPE].decode("utf-8", "replace")
        return None

    def _dispatch(self) -> Event | None:
        lost, some, kind, data = self._lost, self._some, self._type, bytes(self._data[:-1])
        self._data.clear()
        self._type, self._some, self._lost = "message", False, False
        return Event(kind or "message", data) if some and not lost else None
