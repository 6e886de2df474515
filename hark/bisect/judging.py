"""What a fork of a bisection shows: whether the outcome was seen where it was live, or why it shows nothing.

What always holds: a fork that is none, one of another bundle, and one whose agent broke off where the
recorded one did not, show nothing: that an outcome is gone with the agent says nothing of what was removed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hark.bisect import facts as facts_of
from hark.bisect.counting import Shown
from hark.bisect.expression import Expression, holds, speaks_of
from hark.bundle.bounds import RunEnd
from hark.bundle.events import Branch
from hark.errors import HarkError
from hark.replay.recorded import Frame
from hark.rerun.replaying import frames_of

FORKED = "FORKED"


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges the forks of one bundle."""

    expression: Expression
    parent: bytes
    exit_code: int | None
    """Of the recorded run; None where it had no end."""

    def fork(self, verdict: Mapping[str, Any]) -> tuple[Shown, str]:
        """Judge a fork by what `hark fork -json` said, and by its bundle."""
        if verdict.get("verdict") != FORKED:
            return Shown.NOTHING, f"{verdict.get('verdict')}: {verdict.get('why')}"
        if verdict.get("parent_root") != self.parent.hex():
            return Shown.NOTHING, "it is a fork of another bundle: the file was changed meanwhile"
        try:
            return self.frames(frames_of(str(verdict["bundle"])))
        except (OSError, HarkError) as error:
            return Shown.NOTHING, f"its bundle cannot be read: {error}"

    def frames(self, frames: Iterable[Frame]) -> tuple[Shown, str]:
        """Judge a fork's events."""
        course = _Course(self.parent)
        happened = list(facts_of.facts(course.through(frames)))
        if course.branch is None:
            return Shown.NOTHING, "it never went live"
        if holds(self.expression, happened, course.branch) is not None:
            return Shown.SEEN, ""
        broken = self._broken(course.end)
        return (Shown.NOTHING, broken) if broken else (Shown.GONE, "")

    def _broken(self, end: RunEnd | None) -> str:
        """Say how the agent broke off; empty where it did not, or where that is what is asked."""
        if speaks_of(self.expression, facts_of.EXIT):
            return ""
        if end is None:
            return "its record has no end"
        if end.exit_code in {0, self.exit_code}:
            return ""
        return f"the agent ended with exit code {end.exit_code}, where the recorded run had {self.exit_code}"


@dataclass(slots=True)
class _Course:
    """Where a fork went live, and how it ended, noted while its events are read."""

    parent: bytes
    branch: int | None = None
    end: RunEnd | None = None

    def through(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if isinstance(frame.event, Branch) and frame.event.parent == self.parent:
                self.branch = frame.seq
            elif isinstance(frame.event, RunEnd):
                self.end = frame.event
            yield frame
