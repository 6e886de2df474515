"""Request bodies that are held in memory, over all connections of a run. No IO.

A small body is held until it is whole, so that it stands in its request's event. Streams are many and an
agent may leave them all unfinished; what finds no room is recorded and passed on in pieces instead.

Always: what a body takes of the room it gives back when it is taken out.
"""

from typing import Final

MAX_HELD: Final = 64 << 20  # sixty-four bodies of the largest size that is held


class Room:
    """Bytes that may be held. Only used in the mediator's thread."""

    def __init__(self, size: int = MAX_HELD) -> None:
        self.left = size


class Held:
    """One body. Empty again after `out`."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._body = bytearray()

    def __len__(self) -> int:
        return len(self._body)

    def add(self, data: bytes) -> bool:
        """Hold `data` too, if there is room for it."""
        if len(data) > self._room.left:
            return False
        self._room.left -= len(data)
        self._body += data
        return True

    def out(self) -> bytes:
        """Return what is held and hold it no longer."""
        body, self._body = bytes(self._body), bytearray()
        self._room.left += len(body)
        return body
