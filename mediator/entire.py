"""Packed answers of servers that know a credential: nothing of one leaves before all of it has come. No IO.

How short a text packs tells what stands in it: where the agent's guess stands beside the real value, the
packed text is shorter by what they share (BREACH, 2013). Turned back piece by piece, an answer would tell
that by where each piece ends. So such servers are asked for plain answers (`mediator.forwarding`), and where
one packs all the same its answer waits for its end, and neither a length nor a border of the packed text
reaches the agent.
"""

from typing import Final

from mediator.codings import PackedError, codings_of
from mediator.echo import AnswerBody, Watched
from mediator.held import Held, Room
from mediator.transcript import Headers

MAX_ENTIRE: Final = (
    4 << 20
)  # packed bytes; to unpack and search more at once would keep everybody else waiting
_ASKED_NOT_TO: Final = "its server packed it though asked not to, and knows a credential"


class Entire:
    """One packed body as one piece. `mediator.bodies.Stage` says how it is used; raises PackedError too."""

    resizes = True
    waiting = False

    def __init__(self, way: AnswerBody | Watched, room: Room) -> None:
        self._way = way
        self._held = Held(room)

    def feed(self, data: bytes) -> bytes:
        """Take a piece and hold it."""
        if len(self._held) + len(data) > MAX_ENTIRE:
            raise PackedError(f"{_ASKED_NOT_TO}: such an answer passes up to {MAX_ENTIRE >> 20} MiB, packed")
        if not self._held.take(data):
            raise PackedError(f"{_ASKED_NOT_TO}: too many such answers are under way at once")
        return b""

    def release(self) -> bytes:
        """Return nothing: none waits for a moment only."""
        return b""

    def finish(self) -> bytes:
        """Return all that may pass."""
        body = self._held.out()
        return (self._way.feed(body) if body else b"") + self._way.finish()


def unmeasured(headers: Headers) -> Headers:
    """Return the head of an answer without a body (to HEAD, or 304) without the length of one that is packed.

    Raises PackedError.
    """
    if not codings_of(headers):
        return headers
    return tuple(
        field for field in headers if field[0].lower() != b"content-length" or field[1].strip() == b"0"
    )
