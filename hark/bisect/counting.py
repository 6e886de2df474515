"""How often an outcome was seen in how many runs, and what may be said of that.

What always holds: a run that shows nothing (the fork diverged, the agent broke) never counts for a removal;
an interval is Wilson's, which also holds for few runs and for none or all of them.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Final, NamedTuple

Z: Final = 1.959964
"""Of the normal distribution: 95 in 100."""


class Shown(StrEnum):
    """What one run showed."""

    SEEN = "seen"
    GONE = "gone"
    NOTHING = "nothing"
    """The run says nothing of the removal."""
    LATE = "no answer"
    """The run took longer than it may, and was ended."""


class Interval(NamedTuple):
    """Where a rate lies, with 95 % confidence."""

    low: float
    high: float

    def words(self) -> str:
        """Say so."""
        return f"{self.low:.0%} to {self.high:.0%}"


def wilson(count: int, runs: int) -> Interval:
    """Return where the rate lies of which `count` in `runs` were seen."""
    if not runs:
        return Interval(0.0, 1.0)
    rate, square = count / runs, Z * Z
    middle = (rate + square / (2 * runs)) / (1 + square / runs)
    reach = Z / (1 + square / runs) * sqrt(rate * (1 - rate) / runs + square / (4 * runs * runs))
    return Interval(max(0.0, middle - reach), min(1.0, middle + reach))


@dataclass(slots=True)
class Tally:
    """What the runs of one question showed."""

    seen: int = 0
    gone: int = 0
    nothing: int = 0
    late: int = 0

    def add(self, shown: Shown) -> None:
        """Count one run."""
        match shown:
            case Shown.SEEN:
                self.seen += 1
            case Shown.GONE:
                self.gone += 1
            case Shown.NOTHING:
                self.nothing += 1
            case Shown.LATE:
                self.late += 1

    @property
    def runs(self) -> int:
        """Return how many runs there were."""
        return self.seen + self.gone + self.silent

    @property
    def silent(self) -> int:
        """Return how many of them say neither."""
        return self.nothing + self.late

    def words(self) -> str:
        """Say how often it was seen."""
        shown = self.seen + self.gone
        silent = f", and {self.nothing} showed nothing" if self.nothing else ""
        silent += f", and {self.late} gave no answer in time" if self.late else ""
        if shown < 2:
            return f"{'seen' if self.seen else 'gone'}{silent}" if shown else "nothing was shown"
        return f"seen {self.seen} of {shown} times (95 %: {wilson(self.seen, shown).words()}){silent}"

    def record(self) -> dict[str, object]:
        """All of it, for programs."""
        shown = self.seen + self.gone
        return {
            "seen": self.seen,
            "runs": shown,
            "unresolved": self.nothing,
            "no_answer": self.late,
            "interval": list(wilson(self.seen, shown)) if shown else None,
        }


class Rule(NamedTuple):
    """When an outcome counts as gone: seen at most `tolerated` times in `trials` runs."""

    trials: int = 1
    tolerated: int = 0

    def is_gone(self, tally: Tally) -> bool | None:
        """Judge; None while it takes more runs. What showed nothing, or ended late, counts as seen."""
        if tally.seen + tally.silent > self.tolerated:
            return False
        return True if tally.runs >= self.trials else None

    def by_chance(self, rate: float) -> float:
        """Return how likely it counts as gone where it is seen at this rate."""
        total, ways = 0.0, 1.0
        for count in range(self.tolerated + 1):
            total += ways * rate**count * (1 - rate) ** (self.trials - count)
            ways *= (self.trials - count) / (count + 1)
        return total
