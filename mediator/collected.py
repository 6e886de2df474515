"""The text of a packed answer, given on when all of it has come. No IO.

Always: what decides whether it passes is how long the *text* is, and what room there is as its head comes.
How long it was packed decides nothing: the agent would learn that length to a byte from whether an answer
passes, and from it what stands in the text (`mediator.entire`).
"""

from typing import Final

from mediator.codings import PackedError, Text
from mediator.held import Held, Room

MAX_TEXT: Final = 8 << 20  # bytes of one answer: four find room at once, and to pack them takes no second
TOO_MANY: Final = "too many such answers are under way at once"
ASKED_NOT_TO: Final = "its server packed it though asked not to, and knows a credential"


class Collected:
    """One text, as a `mediator.codings.Text`. Takes its room at once. Raises PackedError."""

    def __init__(self, text: Text, room: Room) -> None:
        self._text = text
        self._size = 0
        self._held = Held(room)
        if not self._held.expect(MAX_TEXT):
            raise PackedError(f"{ASKED_NOT_TO}: {TOO_MANY}")

    def feed(self, data: bytes) -> bytes:
        """Take a piece and give nothing on."""
        self._size += len(data)
        turned = self._text.feed(data)
        if self._size > MAX_TEXT or not self._held.fits(len(turned)):
            raise PackedError(f"{ASKED_NOT_TO}: such an answer passes up to {MAX_TEXT >> 20} MiB of text")
        self._held.add(turned)
        return b""

    def finish(self) -> bytes:
        """Return all of it."""
        return self._held.out() + self._text.finish()
