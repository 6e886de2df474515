"""Packed files that a server may have made for the request: one passes whole and searched, or not. No IO.

How long a file is that holds the agent's guess beside the real value tells how much of the two is alike
(BREACH, 2013), and so do its first bytes alone: a block of deflate begins with a tree that is made from the
whole block. So where the server knows a credential, neither length nor byte of such a file reaches the agent
before all of what it holds was searched, and one that does not pass looks the same whatever is wrong with it:
it is read to its end, or to `MAX_FILE`, and refused in the same words.

What was there before the run holds no guess (`mediator.stored`) and passes as it comes (`mediator.archives`).
"""

from typing import Final

from mediator.archives import Files
from mediator.codings import PackedError
from mediator.credentials import Broker
from mediator.held import FILES, MAX_FILE, Held, Room
from mediator.scan import FoundError

MIXED: Final = "it says that it is a text and is a packed file, and its server knows a credential"
REFUSED: Final = (
    "it is a packed file (gzip, zstd or zip) of a server that knows a credential, perhaps made for it: "
    "hark passes none that gives a credential back, cannot be searched, is longer than "
    f"{MAX_FILE >> 20} MiB or comes beside {FILES} others (one that was stored before the run, by its "
    "Last-Modified, may be of any length)"
)


class Made:
    """One body that may be such a file; `mediator.bodies.Stage` says how it is used."""

    resizes = False
    waiting = False

    def __init__(self, broker: Broker, room: Room, astray: frozenset[str], *, late: bool) -> None:
        """`late`: its head waits, too, until something of the body may pass."""
        self._files = Files(broker)
        self._astray = astray
        self._late = late
        self._came = bytearray()
        """What has come while it was not known what it is."""
        self._held = Held(room)
        self._size = 0
        self._wrong = False

    def unpacks(self, data: bytes) -> bool:
        """Tell whether more than what came may be looked at."""
        return self._files.unpacks(data)

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what may pass. Raises FoundError and PackedError."""
        if self._files.is_file is False:
            return data
        if begins := self._files.is_file is None:
            self._came += data
        if not self._wrong:
            self._look(data)
        if self._files.is_file is None:
            return b""
        if begins:
            data, self._came = bytes(self._came), bytearray()
        return self._hold(data, begins=begins) if self._files.is_file else data

    def release(self) -> bytes:
        """Return nothing: none waits for a moment only."""
        return b""

    def finish(self) -> bytes:
        """Return all of it, or the rest of what is no such file. Raises PackedError."""
        if self._wrong:
            raise PackedError(REFUSED)
        return bytes(self._came) + self._held.out()

    def _look(self, data: bytes) -> None:
        try:
            self._files.feed(data)
        except FoundError as error:
            if error.name in self._astray:  # that ends the run, so nobody learns more of it
                raise
            self._wrong = True
        except PackedError:
            self._wrong = True

    def _hold(self, data: bytes, *, begins: bool) -> bytes:
        if begins and not self._late:
            raise PackedError(MIXED)
        if begins and not self._held.expect(MAX_FILE):
            self._wrong = True
        self._size += len(data)
        if self._size > MAX_FILE:
            raise PackedError(REFUSED)
        if not self._wrong:
            self._held.add(data)
        return b""
