"""One reading of a bundle's frames makes all that a page needs; what is long goes to a file beside it at once.

What always holds: memory does not grow with the number of events but by a few values for each exchange and mark.
"""

from collections.abc import Iterable, Iterator
from typing import IO, Final

from hark.bundle import events as ev
from hark.bundle.frame import Frame
from hark.conversation.exchanges import Exchanges, Heard
from hark.conversation.model import model_call
from hark.replay import recorded
from hark.report.facts import Facts
from hark.report.links import Links
from hark.report.listing import Listing
from hark.report.talk import Conversation

_PIECE: Final = 1 << 16


class Made:
    """A run read through. `talk` and `listed` get the markup of the conversation and of the events."""

    def __init__(self, talk: IO[str] | None = None, listed: IO[str] | None = None) -> None:
        self.facts = Facts()
        self.links = Links()
        self._talk = talk
        self._listed = listed
        self._exchanges = Exchanges()
        self._conversation = Conversation()

    def read(self, frames: Iterable[Frame], name: str = "", events: int = 0) -> None:
        """Read a run's frames."""
        listing = Listing(name, events)
        for frame in frames:
            event = ev.decode_frame(frame) if frame.payload else None  # None: it was taken out
            placed = recorded.Frame(frame.seq, frame.time, event)
            self.facts.take(frame.kind, placed)
            if event is not None:
                self.links.event(placed)
                for heard in self._exchanges.add(placed):
                    self._hear(heard)
            if self._listed is not None:
                self._listed.write(listing.add(frame, event))
        for heard in self._exchanges.rest():
            self._hear(heard)
        if self._listed is not None:
            self._listed.write(listing.end())

    def _hear(self, heard: Heard) -> None:
        call = model_call(heard)
        self.facts.hear(heard, call)
        self.links.hear(heard, call)
        if call is not None and self._talk is not None:
            self._talk.write(self._conversation.add(call))


def pieces(file: IO[str]) -> Iterator[str]:
    """Yield what was written to a file, from its beginning."""
    file.seek(0)
    while piece := file.read(_PIECE):
        yield piece
