"""One reading of a bundle's frames makes all that a page needs; what is long goes to a file beside it at once.

What always holds: memory does not grow with the number of events but by a few values for each exchange and mark.
The list of events, which needs nothing of the rest, is made in shares where that pays (`hark.report.shares`).
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final, NamedTuple

from hark.bundle.alike import Alike
from hark.bundle.frame import Frame
from hark.bundle.walk import Chunk
from hark.conversation.exchanges import Exchanges, Heard
from hark.conversation.gathered import KINDS
from hark.conversation.model import model_call
from hark.replay import recorded
from hark.report.facts import DECISIONS, TAKEN, Facts
from hark.report.links import Links
from hark.report.listing import Listing
from hark.report.shares import Shares
from hark.report.talk import Conversation
from hark.unchanged import Unchanged
from hark.verify.parallel import spare_workers

PAYS: Final = 5_000  # events from which on a second process is worth its start
_PIECE: Final = 1 << 18
_SAYS: Final = TAKEN | KINDS


class Made:
    """A run read through. `talk` and `listed` get the markup of the conversation and of the events."""

    def __init__(
        self, talk: BinaryIO | None = None, listed: BinaryIO | None = None, *, steps: bool = True
    ) -> None:
        self.facts = Facts(stepwise=steps)
        self.links = Links()
        self._talk = talk
        self._listed = listed
        self._exchanges = Exchanges()
        self._conversation = Conversation()
        self._alike = Alike()

    def read(self, chunks: Iterable[Chunk], name: str = "", events: int = 0) -> None:
        """Read a run's frames. What nothing is made of is not even taken apart, but where all are listed."""
        listing = None if self._listed is None else Listing(name, events)
        for chunk in chunks:
            self.facts.count(chunk.heads)
            if listing is None:
                self._skim(chunk)
            else:
                self._list(chunk, listing)
        for heard in self._exchanges.rest():
            self._hear(heard)
        if listing is not None and self._listed is not None:
            self._listed.write(listing.end().encode())

    def _skim(self, chunk: Chunk) -> None:
        for index, (size, kind, *_) in enumerate(chunk.heads):
            if size and kind in _SAYS:  # without a payload it was taken out
                self._take(chunk.frame(index))

    def _list(self, chunk: Chunk, listing: Listing) -> None:
        written = [
            listing.add(frame, self._take(frame) if frame.payload else None) for frame in chunk.frames()
        ]
        if self._listed is not None:
            self._listed.write("".join(written).encode())

    def _take(self, frame: Frame) -> Any:
        """Return the event, once what it says is taken."""
        kind = frame.kind
        event: Any = self._alike.decode(frame)
        placed = recorded.Frame(frame.seq, frame.time, event)
        if kind in TAKEN and not (kind in DECISIONS and event.allowed):
            self.facts.take(placed)
            self.links.event(placed)
        if kind in KINDS:
            for heard in self._exchanges.add(placed):
                self._hear(heard)
        return event

    def _hear(self, heard: Heard) -> None:
        call = model_call(heard)
        self.facts.hear(heard, call)
        self.links.hear(heard, call)
        if call is not None and self._talk is not None:
            self._talk.write(self._conversation.add(call).encode())


class Whole(NamedTuple):
    """A run read through, and the markup of its conversation and of its events."""

    made: Made
    talk: Iterator[bytes]
    listed: Iterator[bytes]


def make(bundle: Unchanged, name: str, events: int, files: ExitStack, *, steps: bool = True) -> Whole:
    """Read a bundle of so many events, with its steps if they are asked for. `files` keeps the markup.

    Raises ReplayError where it is another one by now.
    """
    talk = files.enter_context(TemporaryFile())  # noqa: SIM115 (the stack closes it)
    if events >= PAYS and (workers := spare_workers()):
        with Shares(bundle, name, events, files) as shares:
            shares.start(workers)
            made = Made(talk, steps=steps)
            made.read(shares.chunks())
            return Whole(made, pieces(talk), shares.listed())
    listed = files.enter_context(TemporaryFile())  # noqa: SIM115
    made = Made(talk, listed, steps=steps)
    made.read(bundle.chunks(), name, events)
    return Whole(made, pieces(talk), pieces(listed))


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield what was written to a file, from its beginning."""
    file.seek(0)
    while piece := file.read(_PIECE):
        yield piece
