"""The table of sources by runtime, and its place in docs/fidelity.md: between two markers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fidelity.page import NO_SOURCES, SOURCE_TABLE
from fidelity.page import SOURCES as PLACE
from fidelity.sources.cells import Column, State
from fidelity.sources.rows import SOURCES
from fidelity.sources.runtimes import FINDERS, Runtime

HEAD: Final = """<!-- sources -->
Written by `{command}`. A small program of each runtime prints what it finds in each source; it is
recorded, and replayed by another user in another directory, zone and language, on another file system,
under another host name and on one processor, and what it printed is compared. *equal*: the same, and not
the same in a control: twice without hark, or recorded and replayed with `clock = "real"` and
`randomness = "real"`. *equal (unproven)*: the same, but in the controls too, so this machine does not
show that hark made it so. *by rule*, *not covered*: it differs, and why stands below. *-*: this runtime's
program does not ask for it, or cannot.
"""
FOOT: Final = "<!-- /sources -->\n"


@dataclass(frozen=True, slots=True)
class Measured:
    """One column, or why there is none."""

    runtime: Runtime
    cells: Column | None = None
    reports: tuple[str, ...] = ()
    fault: str = ""
    notified: bool = False
    """Whether the record says that process 1 answers for the shim in programs that have none."""

    def faults(self) -> Iterator[str]:
        """What is not as promised."""
        if self.fault:
            yield f"{self.runtime.name}: {self.fault}"
        for source, cell in (self.cells or {}).items():
            if not cell.holds:
                yield f"{self.runtime.name}, {source}: {cell.why}"
        if self.cells and self.runtime.stray and not self.reports and not self.notified:
            yield f"{self.runtime.name}: no shim ran in it, and the record does not say so"


def summary(one: Measured) -> str:
    """A line for whoever waits."""
    if one.cells is None:
        return f"{one.runtime.name}: {one.runtime.missing or one.fault}"
    counts = {state: sum(cell.state is state for cell in one.cells.values()) for state in State}
    return f"{one.runtime.name}: " + ", ".join(
        f"{number} {state}" for state, number in counts.items() if number
    )


def lines(found: Sequence[Measured]) -> Iterator[str]:
    """The table, the reasons below it, and what the records say of programs that no shim reached."""
    tried = [one for one in found if one.cells is not None]
    yield f"| source | {' | '.join(one.runtime.name for one in tried)} |"
    yield f"|---|{'---|' * len(tried)}"
    for source, label in SOURCES.items():
        states = [one.cells[source].state for one in tried if one.cells is not None]
        if any(state is not State.ABSENT for state in states):
            yield f"| {label} | {' | '.join(states)} |"
    yield ""
    yield from reasons(tried)
    if left := FINDERS.keys() - {one.runtime.name for one in found}:
        yield f"- Not asked for in this run: {', '.join(name for name in FINDERS if name in left)}."
    for one in found:
        if one.cells is None:
            yield f"- {one.runtime.name} is not tried here: {one.runtime.missing or one.fault}."
        if one.runtime.stray and one.notified:
            yield f"- {one.runtime.name}: no shim runs in it; its record says `clock notify`."
        for report in one.reports:
            yield f'- {one.runtime.name}: its record says (kind 39) "{report}".'


def reasons(tried: Sequence[Measured]) -> Iterator[str]:
    """Why a cell is not equal, each reason once."""
    grouped: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in tried:
        for source, cell in (one.cells or {}).items():
            if cell.state in (State.RULE, State.UNCOVERED, State.WRONG):
                by_runtime = grouped.setdefault((cell.state, cell.why), {})
                by_runtime.setdefault(SOURCES[source].partition(":")[0], []).append(one.runtime.name)
    for (state, why), by_source in grouped.items():
        runtimes = list(dict.fromkeys(name for names in by_source.values() for name in names))
        yield clean(f"- {state}: {', '.join(by_source)} ({', '.join(runtimes)}): {why}.")


def clean(text: str) -> str:
    """One line, without what would be markup."""
    return re.sub(r"\s+", " ", text)


def write(found: Sequence[Measured], command: str, page: Path) -> None:
    """Put the table between the markers of the page; where there are none, at its end."""
    section = HEAD.format(command=command.strip()) + "\n" + "\n".join(lines(found)) + "\n" + FOOT
    text = page.read_text() if page.exists() else f"# Fidelity\n\n{SOURCE_TABLE}\n{NO_SOURCES}"
    if not PLACE.search(text):
        text += f"\n{SOURCE_TABLE}\n{NO_SOURCES}"
    page.write_text(PLACE.sub(lambda _: section, text))
