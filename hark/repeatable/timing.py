"""The clocks of a replay: what the agent reads, and by what its own record counts.

Always: at each release the agent's wall clock is what it was in the recording (the time of the last event
that moved it there), its monotonic clock has moved by what the agent waited there since it last did
something, and the event that is recorded for it has the recorded time to the nanosecond. So a replay's bundle
holds the times that its agent saw, and can be replayed like any other. Between two releases its record counts
as time passes here, and never beyond the next thing that came in. From any thread.

A fork goes live: from then on the record counts as time passes, without a jump, the wall clock is the real
one and moves with what comes in, and draws come from a seed of their own. The wall clock of a recorded fork
is in pieces therefore, and its replay changes wall clock and seed where it did.
"""

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from hark.bundle import events as ev
from hark.repeatable.determinism import INBOUND
from hark.replay.score import Score

if TYPE_CHECKING:
    from hark.bundle.writer import Writer
    from launcher.pages import Page
    from mediator.config import Recorder

_DECIDED: Final = (ev.DnsDecision, ev.EgressDecision)
_UNCERTAIN: Final = (*_DECIDED, ev.Input)
_PLAYED: Final = (ev.Branch, ev.PolicyLoaded)
"""What a replay does again of the operator's side: it is recorded at the time of its release."""


class Moment(NamedTuple):
    """Something came in: when, since the run began, and what the wall clock was moved to."""

    time_ns: int
    wall_ns: int
    awaited: bool = True
    """Whether a release says that it came in: not so of all that is decided of names and connections, and of
    input that there was at the start."""


@dataclass(slots=True)
class Walls:
    """Which wall clock a recording had: that of its beginning, and others from its branches on."""

    wall_ns: int
    """At `time_ns`."""
    time_ns: int = 0

    def at(self, time_ns: int) -> int:
        """Return what the wall clock was at a time since the run began."""
        return self.wall_ns + time_ns - self.time_ns

    def take(self, event: ev.Event | ev.Unknown, time_ns: int) -> Moment | None:
        """Take the next event; return when the wall clock was moved, if it was."""
        if isinstance(event, ev.Branch):
            self.wall_ns, self.time_ns = event.wall_ns, time_ns
        awaited = not isinstance(event, _UNCERTAIN)
        return Moment(time_ns, self.at(time_ns), awaited) if moves(event) else None


def moves(event: ev.Event | ev.Unknown) -> bool:
    """Tell whether an event moved the agent's wall clock: it came in, or the run went live."""
    if type(event) is ev.Branch:
        return True
    return type(event) in INBOUND and not getattr(event, "from_agent", False)


def moments(events: Iterable[tuple[int, ev.Event | ev.Unknown]], started_at: int) -> list[Moment]:
    """Return when something came in, of events with their times."""
    walls = Walls(started_at)
    taken = (walls.take(event, time_ns) for time_ns, event in events)
    return [moment for moment in taken if moment is not None]


class Timing:
    """One replay's. A `mediator.playback.clock.Clock`, and the clock of the bundle's writer."""

    def __init__(
        self, started_at: int, inbound: Sequence[Moment], clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        """`inbound`: when the recording had something come in, ascending by time."""
        self._walls = Walls(started_at)
        self._inbound = inbound
        self._awaited = [moment for moment in inbound if moment.awaited]
        self._clock = clock
        self._lock = threading.Lock()
        self._page: Page | None = None
        self._time_ns = 0
        """Of the last release."""
        self._real_ns: int | None = None
        """Our clock at the last release; None before `begin`."""
        self._exact: int | None = None
        self._live = False

    @property
    def live(self) -> bool:
        """Tell whether nothing is played any more."""
        return self._live

    def show_on(self, page: "Page") -> None:
        """Move this page's clocks from now on."""
        self._page = page
        self._say_next(-1)

    def begin(self) -> None:
        """Count from now, and not from the moment at which the writer was made."""
        with self._lock:
            self._real_ns = self._clock()

    def release(self, time_ns: int, gap_ns: int, most_ns: int | None = None) -> None:
        """Be at `time_ns` of the recording; the monotonic clock has gone on by `gap_ns` then.

        It is not moved by more than `most_ns`: that the agent worked for longer then is not made up for.
        """
        with self._lock:
            if self._live:
                return  # what is still played was begun before, and comes as it comes
            now = self._clock()
            real, self._real_ns = now - (self._real_ns or now), now
            self._time_ns = max(self._time_ns, time_ns)
            if self._page is not None:
                behind = gap_ns - real
                self._page.move_monotonic(behind if most_ns is None else min(behind, most_ns))
                at = bisect_right(self._inbound, time_ns, key=_time_of)
                if at:
                    self._page.set_wall(self._inbound[at - 1].wall_ns)
                self._say_next(time_ns)

    def _say_next(self, time_ns: int) -> None:
        """Say when the recording had something come in after `time_ns`."""
        if self._page is not None:
            at = bisect_right(self._awaited, time_ns, key=_time_of)
            self._page.set_next(self._awaited[at].wall_ns if at < len(self._awaited) else None)

    def branched(self, branch: ev.Branch, time_ns: int) -> None:
        """Do at `time_ns`, after its release, what was done where the recorded run went live."""
        with self._lock:
            if self._live:
                return
            self._walls.take(branch, time_ns)
            if self._page is not None:
                self._page.set_wall(branch.wall_ns)
                if branch.seed:
                    self._page.draw_from(branch.seed)

    def go_live(self, wall_ns: int, seed: bytes) -> int:
        """Play no more: the real time is `wall_ns`, and draws come from `seed` unless that is empty.

        Return what the wall clock is now: later than `wall_ns` where the agent has been shown a later time.
        The Branch that is recorded next MUST say so.
        """
        now_ns = self.read()
        with self._lock:
            shown = self._walls.at(now_ns)
            if self._page is not None:
                shown = max(shown, self._page.wall_ns)
            wall = max(wall_ns, shown)
            self._live, self._exact = True, None
            self._time_ns, self._real_ns = now_ns, self._clock()
            self._walls.wall_ns, self._walls.time_ns = wall, now_ns
            if self._page is not None:
                if seed:
                    self._page.draw_from(seed)
                self._page.set_wall(wall)
                self._page.go_live(wall - wall_ns)
            return wall

    def on_frame(self, event: ev.Event | ev.Unknown, time_ns: int) -> None:
        """Move the wall clock with what comes in live. As the `on_frame` of a Writer."""
        if not self._live:
            return
        moment = self._walls.take(event, time_ns)
        if moment is not None and self._page is not None:
            self._page.set_wall(moment.wall_ns)

    def read(self) -> int:
        """The time of what is recorded now."""
        with self._lock:
            if self._exact is not None:
                return self._exact
            if self._real_ns is None:
                return 0
            passed = self._time_ns + self._clock() - self._real_ns
            if self._live:
                return passed
            at = bisect_right(self._inbound, self._time_ns, key=_time_of)
            return min(passed, self._inbound[at].time_ns) if at < len(self._inbound) else passed

    def at(self, time_ns: int | None) -> None:
        """Have what is recorded next be at `time_ns`, or at the last release."""
        with self._lock:
            if not self._live:
                self._exact = self._time_ns if time_ns is None else max(time_ns, self._time_ns)

    def freely(self) -> None:
        """Undo `at`."""
        with self._lock:
            self._exact = None


def _time_of(moment: Moment) -> int:
    return moment.time_ns


class Stamping:
    """Records by a writer whose clock is a Timing: what comes in at the recorded time. A Recorder.

    What comes in once that is live has its own time, and is recorded by `live`.
    """

    def __init__(
        self, writer: "Writer", timing: Timing, score: Score, live: "Recorder | None" = None
    ) -> None:
        self._writer = writer
        self._timing = timing
        self._score = score
        self._live: Recorder = writer if live is None else live
        self._lock = threading.Lock()

    def append(self, event: ev.Event, *, durable: bool = False) -> int:
        """As of a Recorder."""
        if self._timing.live:
            return self._live.append(event, durable=durable)
        if not moves(event) and not isinstance(event, _PLAYED):
            return self._writer.append(event, durable=durable)
        with self._lock:
            self._timing.at(self._decided(event))
            try:
                return self._writer.append(event, durable=durable)
            finally:
                self._timing.freely()

    def _decided(self, event: ev.Event) -> int | None:
        """When the recording let the agent go on after such a decision, which is recorded before."""
        if not isinstance(event, _DECIDED):
            return None
        part = self._score.to_decide(event)
        return None if part is None else part.time_ns

    def sync(self, seq: int) -> None:
        """As of a Recorder."""
        self._writer.sync(seq)
