"""Room for bodies that are held in memory, over all connections of a run. No IO.

A small request is held until it is whole, so that it stands in its event, and so are some answers
(`mediator.collected`). Streams are many and an agent may leave them all unfinished: what of a request finds
no room is recorded and passed on in pieces instead.

Always: a body takes room before it is held, for all that it announced or may become, and gives it back when
taken out, or when nobody has it any more.
"""

from typing import Final

MAX_HELD: Final = 32 << 20  # thirty-two bodies of the largest size that is held

MAX_FILE: Final = 16 << 20  # of a packed file that passes whole (`mediator.made`)
FILES: Final = 32  # at once: as many downloads as an installer has under way, and half a GiB at the worst


class Room:
    """Bytes that may be held. Only used in the mediator's thread."""

    def __init__(self, size: int = MAX_HELD) -> None:
        self.left = size


def for_files() -> Room:
    """Return the room for the packed files of one run."""
    return Room(FILES * MAX_FILE)


class Held:
    """One body. Empty again after `out`."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._taken = 0
        self._body = bytearray()

    def expect(self, size: int) -> bool:
        """Take room for a body, if there is."""
        if size > self._room.left:
            return False
        self._room.left -= size
        self._taken += size
        return True

    def fits(self, size: int) -> bool:
        """Tell whether `size` bytes more are within what was announced."""
        return len(self._body) + size <= self._taken

    def add(self, data: bytes) -> None:
        """Hold `data` too."""
        if len(self._body) + len(data) > self._taken:
            raise RuntimeError("a body is longer than its announced length")
        self._body += data

    def __del__(self) -> None:
        """Give the room back."""
        self._room.left += self._taken

    def out(self) -> bytes:
        """Return what is held and hold it no longer."""
        body, self._body = bytes(self._body), bytearray()
        self._room.left += self._taken
        self._taken = 0
        return body
