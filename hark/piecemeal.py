"""The clock's log, on the record while the run goes on: what a killed run has of it, and a replay needs.

Before an event is recorded, what threads have read of the real clock until then is, if there is anything new
and the last time was long enough ago. So a run that is killed has lost refreshes of its last moment at the
most, and an agent that refreshes all the time makes no more than so many events a second.
"""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hark.replay import clocklog

if TYPE_CHECKING:
    from hark.bundle.events import Event
    from hark.bundle.writer import Writer
    from launcher.pages import Log

EVERY_S: Final = 0.1
MOST: Final = 4096  # refreshes at a time: looking through them takes a millisecond or two


class Piecemeal:
    """Records by a writer, and the log before it. A `mediator.config.Recorder`; from any thread."""

    def __init__(self, writer: "Writer", log: "Log", clock: Callable[[], float] = time.monotonic) -> None:
        self._writer = writer
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._next = clock()
        self.kept = 0
        """How many refreshes are on the record: all that the log begins with."""

    def append(self, event: "Event", *, durable: bool = False) -> int:
        """As of a Recorder."""
        if self._clock() >= self._next:
            with self._lock:
                self._keep()
        return self._writer.append(event, durable=durable)

    def _keep(self) -> None:
        if self._clock() < self._next:
            return  # another thread did
        self._next = self._clock() + EVERY_S
        records = clocklog.written(self._log.records(self.kept, MOST)[0])
        for piece in clocklog.events(clocklog.settle(records)):
            self._writer.append(piece)
        self.kept += len(records) // clocklog.RECORD.size

    def sync(self, seq: int) -> None:
        """As of a Recorder."""
        self._writer.sync(seq)
