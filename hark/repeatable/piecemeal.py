"""The clock's log, on the record while the run goes on: what a killed run has of it, and a replay needs.

Before the agent's next act is recorded, what its threads have read of the real clock until then is, if there
is anything new: a replay can come to that act then, whenever the run was killed. When a piece is written
depends on what the agent does alone, so that the numbers of events do not depend on how fast a machine is.
"""

import threading
from typing import TYPE_CHECKING, Final

from hark.bundle.events import Branch, DnsQuery, EgressAttempt, LlmRequest
from hark.replay import clocklog

if TYPE_CHECKING:
    from hark.bundle.events import Event
    from hark.bundle.writer import Writer
    from launcher.pages import Log

MOST: Final = 4096  # refreshes at a time: looking through them takes a millisecond or two
_ACTS: Final = (DnsQuery, EgressAttempt, LlmRequest, Branch)
"""A branch is none of the agent's, but of a fork nothing was kept before it: what is played ends with it."""


class Piecemeal:
    """Records by a writer, and the log before it. A `mediator.config.Recorder`; from any thread."""

    def __init__(self, writer: "Writer", log: "Log") -> None:
        self._writer = writer
        self._log = log
        self._lock = threading.Lock()
        self.kept = 0
        """How many refreshes are on the record: all that the log begins with."""
        self.kept_of_process_1 = 0
        """And how many of those that process 1 keeps."""

    def append(self, event: "Event", *, durable: bool = False) -> int:
        """As of a Recorder."""
        if isinstance(event, _ACTS) or getattr(event, "from_agent", False):
            with self._lock:
                self._keep()
        return self._writer.append(event, durable=durable)

    def _keep(self) -> None:
        records = clocklog.written(self._log.records(self.kept, MOST)[0])
        more, _full = self._log.kernel_records(self.kept_of_process_1, MOST)
        for piece in clocklog.events(clocklog.settle(records + more)):
            self._writer.append(piece)
        self.kept += len(records) // clocklog.RECORD.size
        self.kept_of_process_1 += len(more) // clocklog.RECORD.size

    def sync(self, seq: int) -> None:
        """As of a Recorder."""
        self._writer.sync(seq)
