"""What the clock on the wall said at an event's time: Unix nanoseconds, and as text.

Always: times of a run begin at RunStart's StartedAt. A fork's go on from there to its Branch, and from each
Branch on they are that event's own clock and the time since it.
"""

from typing import Final

from hark.bundle import events as ev
from hark.bundle.frame import Frame

_RUN_START: Final = 1
_BRANCH: Final = 49
_SECOND: Final = 1_000_000_000
_LAST: Final = 253_402_300_800 * _SECOND  # year 10000: no text has a place for it


class Wall:
    """The clock of one run, moved on by the frames that `see` is shown, in their order."""

    def __init__(self) -> None:
        self._since: list[tuple[int, int]] = [(0, 0)]
        """From which time of an event on, and the Unix time there."""

    def see(self, frame: Frame) -> None:
        """Take note of an event that says what time it is."""
        if frame.kind not in {_RUN_START, _BRANCH} or not frame.payload:
            return
        match ev.decode_frame(frame):
            case ev.RunStart() as start:
                self._since = [(0, start.started_at)]
            case ev.Branch() as branch:
                self._since.append((frame.time, branch.wall_ns))
            case _:
                pass

    def at(self, time_ns: int) -> int:
        """Return the Unix nanoseconds of an event's time."""
        since, wall = next((one for one in reversed(self._since) if one[0] <= time_ns), self._since[0])
        return max(0, wall + time_ns - since)

    def text(self, time_ns: int) -> str:
        """Return the same as ISO 8601 in UTC, to the microsecond."""
        return iso(self.at(time_ns))


def iso(unix_ns: int) -> str:
    """Return Unix nanoseconds as ISO 8601 in UTC; a time that no calendar has is the last that one has."""
    import datetime

    seconds, rest = divmod(min(unix_ns, _LAST - 1), _SECOND)
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"
