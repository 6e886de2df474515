"""Packed answers of servers that know a credential: nothing of one leaves before all of it has come. No IO.

How short a text packs tells what stands in it: where the agent's guess stands beside the real value, the
packed text is shorter by what they share (BREACH, 2013). Turned back piece by piece, an answer would tell
that by where each piece ends. So such servers are asked for plain answers (`mediator.forwarding`), and where
one packs all the same its answer waits for its end, and neither a length nor a border of the packed text
reaches the agent.
"""

from mediator.codings import PackedError
from mediator.collected import ASKED_NOT_TO, MAX_TEXT, TOO_MANY
from mediator.echo import AnswerBody, Watched
from mediator.held import Held, Room


class Entire:
    """One packed body as one piece. `mediator.bodies.Stage` says how it is used; raises PackedError too.

    What is vouched for is held here, as it came; of all else the text is (`mediator.collected`).
    """

    resizes = True
    waiting = False

    def __init__(self, way: AnswerBody | Watched, room: Room) -> None:
        """Takes its room at once. Raises PackedError where there is none."""
        self._way = way
        self._held = Held(room)
        if isinstance(way, Watched) and not self._held.expect(MAX_TEXT):
            raise PackedError(f"{ASKED_NOT_TO}: {TOO_MANY}")

    def unpacks(self, _data: bytes) -> bool:
        """Tell whether more than what came may be looked at."""
        return True

    def feed(self, data: bytes) -> bytes:
        """Take a piece and hold what comes of it."""
        passed = self._way.feed(data)
        if passed and not self._held.fits(
            len(passed)
        ):  # a value in it has stopped it already, if there is one
            raise PackedError(f"{ASKED_NOT_TO}: such an answer passes up to {MAX_TEXT >> 20} MiB")
        self._held.add(passed)
        return b""

    def release(self) -> bytes:
        """Return nothing: none waits for a moment only."""
        return b""

    def finish(self) -> bytes:
        """Return all that may pass."""
        return self._held.out() + self._way.finish()
