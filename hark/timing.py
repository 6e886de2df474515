"""The clocks of a replay: what the agent reads, and by what its own record counts.

Always: at each release the agent's wall clock is what it was in the recording (the time of the last event
that moved it there), its monotonic clock has moved by the recorded gap, and the event that is recorded for it
has the recorded time to the nanosecond. So a replay's bundle holds the times that its agent saw, and can be
replayed like any other. Between two releases its record counts as time passes here, and never beyond the next
thing that came in. From any thread.
"""

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hark.bundle import events as ev
from hark.determinism import INBOUND
from hark.replay.score import Score

if TYPE_CHECKING:
    from hark.bundle.writer import Writer
    from launcher.pages import Page


class Timing:
    """One replay's. A `mediator.playback.clock.Clock`, and the clock of the bundle's writer."""

    def __init__(
        self, started_at: int, inbound: Sequence[int], clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        """`inbound`: when the recording had something come in, ascending, nanoseconds since it began."""
        self._started_at = started_at
        self._inbound = inbound
        self._clock = clock
        self._lock = threading.Lock()
        self._page: Page | None = None
        self._time_ns = 0
        """Of the last release."""
        self._real_ns: int | None = None
        """Our clock at the last release; None before `begin`."""
        self._exact: int | None = None

    def show_on(self, page: "Page") -> None:
        """Move this page's clocks from now on."""
        self._page = page

    def begin(self) -> None:
        """Count from now, and not from the moment at which the writer was made."""
        with self._lock:
            self._real_ns = self._clock()

    def release(self, time_ns: int, gap_ns: int) -> None:
        """Be at `time_ns` of the recording; the monotonic clock has gone on by `gap_ns` then."""
        with self._lock:
            now = self._clock()
            real, self._real_ns = now - (self._real_ns or now), now
            self._time_ns = max(self._time_ns, time_ns)
            if self._page is not None:
                self._page.move_monotonic(gap_ns - real)
                at = bisect_right(self._inbound, time_ns)
                if at:
                    self._page.set_wall(self._started_at + self._inbound[at - 1])

    def read(self) -> int:
        """The time of what is recorded now."""
        with self._lock:
            if self._exact is not None:
                return self._exact
            if self._real_ns is None:
                return 0
            at = bisect_right(self._inbound, self._time_ns)
            passed = self._time_ns + self._clock() - self._real_ns
            return min(passed, self._inbound[at]) if at < len(self._inbound) else passed

    def at(self, time_ns: int | None) -> None:
        """Have what is recorded next be at `time_ns`, or at the last release."""
        with self._lock:
            self._exact = self._time_ns if time_ns is None else max(time_ns, self._time_ns)

    def freely(self) -> None:
        """Undo `at`."""
        with self._lock:
            self._exact = None


class Stamping:
    """Records by a writer whose clock is a Timing: what comes in at the recorded time. A Recorder."""

    def __init__(self, writer: "Writer", timing: Timing, score: Score) -> None:
        self._writer = writer
        self._timing = timing
        self._score = score
        self._lock = threading.Lock()

    def append(self, event: ev.Event, *, durable: bool = False) -> int:
        """As of a Recorder."""
        if type(event) not in INBOUND or getattr(event, "from_agent", False):
            return self._writer.append(event, durable=durable)
        with self._lock:
            self._timing.at(self._decided(event))
            try:
                return self._writer.append(event, durable=durable)
            finally:
                self._timing.freely()

    def _decided(self, event: ev.Event) -> int | None:
        """When the recording let the agent go on after such a decision, which is recorded before."""
        if not isinstance(event, (ev.DnsDecision, ev.EgressDecision)):
            return None
        part = self._score.to_decide(event)
        return None if part is None else part.time_ns

    def sync(self, seq: int) -> None:
        """As of a Recorder."""
        self._writer.sync(seq)
