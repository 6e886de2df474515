"""The tables of docs/fidelity.md. What another module writes into the page is kept as it is.

A run of some shapes alone can keep the rows of others: each row says when it was tried, and none is ever changed.
"""

import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fidelity import badge
from fidelity.controls import Control
from fidelity.shape import ROOT, Folder, folders

PAGE: Final = ROOT / "docs" / "fidelity.md"
HEAD: Final = "| shape | what it is | recorded | N | equal | first divergence | tried (UTC) |\n|---|---|---|---|---|---|---|"
HEAD_CONTROLS: Final = "| control | must come out | came out | seen |\n|---|---|---|---|"
SOURCES: Final = re.compile(r"<!-- sources -->\n.*<!-- /sources -->\n", re.DOTALL)
NO_SOURCES: Final = """<!-- sources -->
A row for each source of time, chance and order, by runtime, has not been made yet.
<!-- /sources -->
"""
CONTROLS_THERE: Final = re.compile(r"## Controls\n.*?(?=\n## )", re.DOTALL)
ROW: Final = re.compile(r"^\| (\w+) \| .* \|$", re.MULTILINE)
CELLS: Final = 7
LONGEST: Final = 400
INTRODUCTION: Final = """# Fidelity

How well runs are replayed. Each row is an agent of its own kind in `fidelity/shapes/`: it is recorded once,
with the servers that it talks to on this machine, and what it printed and what the servers saw is looked at.
Then the servers are stopped, its project is removed, and the bundle is replayed N times. Each replay is a fresh
process of another user in another directory, with another host name, home, zone and language, at another time of
day, beside one or two processes that keep the processors busy, in a network namespace where nothing is. A replay
counts as equal only if `hark replay` says so, the agent printed the same again, and not one packet was sent in that
namespace, toward the addresses of the servers or any other. The time of day is moved by some hours more at each
replay, ahead and behind by turns, for whatever asks libc: hark itself does. What asks the kernel itself finds
recording and replay minutes apart, unless process 1 answers for it, as for static programs.

This page is what runs of

    {command}

wrote; that was the last of them, and each row has the time at which it was tried ("-": before rows had that). A run
with `--keep` leaves the rows of other shapes as they are. A run fails if a row that is promised is not equal N times,
or if a control is not seen. The quick rows run with N = 2 in `make test`. A row that decides by the monotonic clock
or by time limits of its own (`ttl`, SDKs with 5 s for a connection) may differ where the machine is much slower than
when it was recorded: how busy it was stands below.
"""
SHAPES: Final = "## Shapes\n"
NOT_COVERED: Final = """## Not covered

What is decided inside the boundary, by the kernel's scheduler alone, crosses no border that could be recorded.
These rows show that the verdict is no guess: where a replay goes another way, it says so and says where.
"""
CONTROLS: Final = """## Controls

Tried on every run: the recording of `repeat`, to which something was done. What is signed again was signed by a
stranger's key, so only what it does to the replay can be noticed.
"""
SOURCE_TABLE: Final = "## Sources, by runtime\n"


@dataclass(frozen=True, slots=True)
class Row:
    """One shape's result."""

    folder: Folder
    recorded: str
    """Empty if the recording was as meant, else what was wrong with it."""
    faults: tuple[str, ...] = ()
    """One for each replay, empty if it was equal."""
    missing: str = ""
    """What is not on this machine."""
    tried: str = "-"
    """When, in UTC."""

    @property
    def equal(self) -> int:
        """How many replays were."""
        return self.faults.count("")

    @property
    def promised(self) -> bool:
        """Whether the row is to hold each time."""
        return self.folder.shape.not_covered is None

    @property
    def holds(self) -> bool:
        """Whether the row is as promised. What is not covered may diverge, but not come out falsely equal."""
        if self.missing:
            return True
        if self.recorded:
            return False
        if not self.promised:
            return not any(fault.startswith("EQUAL") for fault in self.faults)
        return self.equal == len(self.faults)

    def cells(self) -> str:
        """The row of the table."""
        first = next((fault for fault in self.faults if fault), self.recorded or "-")
        recorded = self.missing or ("NO" if self.recorded else "yes")
        counts = (str(len(self.faults)), str(self.equal)) if self.faults else ("-", "-")
        return table_row(self.folder.name, self.folder.shape.about, recorded, *counts, first, self.tried)


def table_row(*cells: str) -> str:
    """One row; what would end a cell is taken out, and a long one is cut."""
    clean = (re.sub(r"\s+", " ", cell).replace("|", "\\|").strip()[:LONGEST] for cell in cells)
    return f"| {' | '.join(clean)} |"


def control_row(control: Control) -> str:
    """One control."""
    return table_row(control.name, control.must, control.came, "yes" if control.seen else "NO")


def machine() -> str:
    """Where it was run."""
    release = platform.release().partition("-")[0]
    who = "root, who becomes two ordinary users" if os.geteuid() == 0 else "one ordinary user"
    busy = f"{os.getloadavg()[2]:.0f} programs ran or waited in its last quarter of an hour"
    what = f"{os.cpu_count()} cores, Linux {release}, Python {platform.python_version()}, started by {who}"
    return f"This run: {what}; {busy}."


def write(
    rows: Sequence[Row], found: Iterable[Control], command: str, page: Path = PAGE, *, keep: bool = False
) -> None:
    """Write the page anew, but keep the section on sources; with `keep` also rows of other shapes.

    Without controls those that are there stay: they come last, and a run may be cut off before them.
    """
    there = page.read_text() if page.exists() else ""
    sources, controls = SOURCES.search(there), list(found)
    lines = (kept_rows(there) if keep else {}) | {row.folder.name: row.cells() for row in rows}
    known = [folder for folder in (*folders(), *folders("heavy")) if folder.name in lines]
    promised = [lines[folder.name] for folder in known if folder.shape.not_covered is None]
    others = [folder for folder in known if folder.shape.not_covered is not None]
    tried, equal = counted(promised)
    table = [CONTROLS, HEAD_CONTROLS, *map(control_row, controls), ""]
    before = CONTROLS_THERE.search(there)
    parts = [
        INTRODUCTION.format(command=command),
        f"{machine()} {equal} of {tried} replays of the shapes were equal.",
        *("", SHAPES, HEAD, *promised, "", NOT_COVERED, HEAD, *(lines[folder.name] for folder in others), ""),
        *(f"- `{folder.name}`: {folder.shape.not_covered}." for folder in others),
        *("", before[0] if before and not controls and keep else "\n".join(table)),
        *(SOURCE_TABLE, sources[0] if sources else NO_SOURCES),
    ]
    page.write_text("\n".join(parts))
    badge.write(page)


def kept_rows(text: str) -> dict[str, str]:
    """The rows of shapes that a page has, by name."""
    found = {match[1]: match[0] for match in ROW.finditer(text)}
    return {name: line if len(cells_of(line)) == CELLS else f"{line} - |" for name, line in found.items()}


def cells_of(line: str) -> list[str]:
    """The cells of a row."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def counted(lines: Iterable[str]) -> tuple[int, int]:
    """How many replays were tried and how many were equal, over rows."""
    pairs = [cells_of(line)[3:5] for line in lines]
    numbers = [(int(tried), int(equal)) for tried, equal in pairs if tried != "-"]
    return sum(tried for tried, _ in numbers), sum(equal for _, equal in numbers)
