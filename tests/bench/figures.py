"""A measured figure beside its baseline, and how a page shows it."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was measured, the baseline of the same run, hark's value, and one over the other."""

    what: str
    baseline: str
    hark: str
    ratio: float | None = None
    bar: str = ""
    """What it should be, where the project says so."""

    def row(self) -> str:
        """As a row of a table."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return f"| {self.what} | {self.baseline} | {self.hark} | {ratio} | {self.bar} |"


HEAD = "| what | baseline, same run | hark | hark / baseline | bar |\n|---|---|---|---|---|"


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which `part` (0 to 1) of them lie."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def median(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)
