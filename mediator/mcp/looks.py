"""Messages in the body of an answer: one JSON document, or server-sent events. No IO.

Only looks. What is larger than `sse.MAX_EVENT`, or more than the run has room for, is not read any further.
"""

from typing import Protocol

from mediator.codings import PackedError, Unpacking, codings_of
from mediator.held import Room
from mediator.mcp import sse
from mediator.mcp.sse import Event, Reader
from mediator.transcript import Headers


class Look(Protocol):
    """What is told a body, unpacked."""

    @property
    def held(self) -> int:
        """Return how many bytes it holds."""
        ...

    def feed(self, piece: bytes) -> list[Event]:
        """Take a piece; return what is complete. MUST raise OverflowError rather than hold too much."""
        ...

    def finish(self) -> list[Event]:
        """Return what the end completes."""
        ...


class Document:
    """A body that is one JSON document."""

    def __init__(self) -> None:
        self._data = bytearray()

    @property
    def held(self) -> int:
        return len(self._data)

    def feed(self, piece: bytes) -> list[Event]:
        if len(self._data) + len(piece) > sse.MAX_EVENT:
            raise OverflowError
        self._data += piece
        return []

    def finish(self) -> list[Event]:
        return [Event("message", bytes(self._data))]


class Body:
    """The messages of one answer, as they come. `end` MUST be called."""

    def __init__(self, look: Look, codings: tuple[bytes, ...], room: Room) -> None:
        self._look: Look | None = look
        self._room = room
        self._taken = 0
        self._found: list[Event] = []
        self._unpacking = Unpacking(codings, lambda: self._read) if codings else None

    def feed(self, piece: bytes) -> list[Event]:
        """Take a piece as it came and return the messages that it completes."""
        if self._look is None:
            return []
        try:
            if self._unpacking is None:
                self._read(piece)
            else:
                self._unpacking.feed(piece)
        except (OverflowError, PackedError):
            self.end()
        found, self._found = self._found, []
        return found

    def finish(self) -> list[Event]:
        """Return what the end of the body completes."""
        found = [] if self._look is None else self._look.finish()
        self.end()
        return found

    def end(self) -> None:
        """Hold nothing more. Idempotent."""
        self._look = None
        self._room.left += self._taken
        self._taken = 0

    def _read(self, piece: bytes) -> None:
        if self._look is None:
            return
        self._found += self._look.feed(piece)
        grown = self._look.held - self._taken
        self._room.left -= grown
        self._taken += grown
        if self._room.left < 0:
            raise OverflowError


def body_of(headers: Headers, room: Room) -> Body | None:
    """Return what reads an answer with these headers, or None where it has no messages."""
    kinds = [value for name, value in headers if name.lower() == b"content-type"]
    kind = kinds[0].partition(b";")[0].strip().lower() if len(kinds) == 1 else b""
    look: Look
    if kind == b"text/event-stream":
        look = Reader()
    elif kind == b"application/json":
        look = Document()
    else:
        return None
    try:
        codings = codings_of(headers)
    except PackedError:
        return None
    if any(coding == b"deflate" for coding in codings):
        return None  # it has two readings, and nobody sends it
    return Body(look, codings, room)
