"""One reading of a bundle's frames makes all that a page needs; what is long goes to a file beside it at once.

What always holds: memory does not grow with the number of events but by a few values for each exchange and mark.
The list of events, which needs nothing of the rest, is made by a process of its own where that pays.
"""

import os
import signal
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

from hark.bundle import events as ev
from hark.bundle.frame import Frame
from hark.conversation.exchanges import Exchanges, Heard
from hark.conversation.model import model_call
from hark.replay import recorded
from hark.report.facts import Facts
from hark.report.links import Links
from hark.report.listing import Listing, write
from hark.report.talk import Conversation
from hark.unchanged import Unchanged
from hark.verify.parallel import spare_workers

PAYS: Final = 5_000  # events from which on a second process is worth its start
_PIECE: Final = 1 << 18


class Made:
    """A run read through. `talk` and `listed` get the markup of the conversation and of the events."""

    def __init__(self, talk: BinaryIO | None = None, listed: BinaryIO | None = None) -> None:
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
                self._listed.write(listing.add(frame, event).encode())
        for heard in self._exchanges.rest():
            self._hear(heard)
        if self._listed is not None:
            self._listed.write(listing.end().encode())

    def _hear(self, heard: Heard) -> None:
        call = model_call(heard)
        self.facts.hear(heard, call)
        self.links.hear(heard, call)
        if call is not None and self._talk is not None:
            self._talk.write(self._conversation.add(call).encode())


def make(bundle: Unchanged, name: str, events: int, talk: BinaryIO, listed: BinaryIO) -> Made:
    """Read a bundle of so many events. Raises ReplayError where it is another one by now."""
    pid = _forked() if events >= PAYS and spare_workers() else None
    if pid is None:
        made = Made(talk, listed)
        made.read(bundle.frames(), name, events)
        return made
    if pid == 0:
        _list_and_leave(bundle, name, events, listed)
    try:
        made = Made(talk)
        made.read(bundle.frames())
        status = os.waitpid(pid, 0)[1]
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    if status:  # whatever stopped it, it is met again here
        listed.seek(0)
        listed.truncate()
        write(listed, bundle.frames(), name, events)
    return made


def _forked() -> int | None:
    try:
        return os.fork()
    except OSError:  # the system gives no more processes: it is done by this one
        return None


def _list_and_leave(bundle: Unchanged, name: str, events: int, listed: BinaryIO) -> None:
    status = 1
    try:
        write(listed, bundle.frames(), name, events)
        listed.flush()
        status = 0
    finally:
        os._exit(status)


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield what was written to a file, from its beginning."""
    file.seek(0)
    while piece := file.read(_PIECE):
        yield piece
