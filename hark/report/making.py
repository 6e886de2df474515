"""One reading of a bundle's frames makes all that a page needs; what is long goes to a file beside it at once.

What always holds: memory does not grow with the number of events but by a few values for each exchange and mark.
"""

from collections.abc import Iterable, Iterator
from typing import IO, Final

from hark.bundle import events as ev
from hark.bundle.bounds import kind_name
from hark.bundle.frame import Frame
from hark.conversation.exchanges import Exchanges, Heard
from hark.conversation.model import model_call
from hark.errors import BundleError
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
            event = decoded(frame)
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


def decoded(frame: Frame) -> ev.Event | ev.Unknown | None:
    """Return a frame's event; None where its payload was taken out. Raises BundleError."""
    if not frame.payload:
        return None
    try:
        return ev.decode(frame.kind, frame.payload)
    except BundleError as error:
        raise BundleError(f"event {frame.seq} ({kind_name(frame.kind)}) cannot be read: {error}") from None


def pieces(file: IO[str]) -> Iterator[str]:
    """Yield what was written to a file, from its beginning."""
    file.seek(0)
    while piece := file.read(_PIECE):
        yield piece
