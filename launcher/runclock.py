"""The run's wall clock for programs in which no shim runs: what the preload shows its threads, one a program.

What is shown is the later of the page (the last inbound event) and the program's own last refresh, which is
its start, or a read after the clock has stood still for a second. A refresh takes the real time, in a replay
the recorded one, and is written down by lineage and number. The first reads of a program show in a replay
what they showed (ADR 0038). All threads of a program, and what it forks without another program, count their
reads together.
"""

import mmap
import time
from dataclasses import dataclass
from typing import Final

from launcher import pages
from launcher.rows import Recorded, Rows

_SECOND: Final = 1_000_000_000
STANDS_NS: Final = _SECOND
"""How long the clock stands still before a read refreshes it: what waits for it to pass a time goes on."""
_LEAST_MOVE: Final = 10_000_000  # ns; this and those below are of shims/preload/clock.h
_PATIENCE: Final = 8 * 256_000  # reads x milliseconds
_FIRST_READS: Final = 64
_STARTED, _READING, _SEEN = 1 << 56, 4 << 56, 6 << 56
_NUMBER: Final = (1 << 56) - 1
_NEVER: Final = 1 << 62
MOST_PROGRAMS: Final = 1 << 14
"""Of which more is known than the page; the oldest is forgotten."""


@dataclass(slots=True)
class _Program:
    """One program's clock: Unix nanoseconds, and where that is said monotonic ones."""

    lineage: bytes
    refreshed: int = 0
    beyond: int = -1
    """What the page said when a replay showed `refreshed` though that was less."""
    shown: int = 0
    since: int = 0
    """Monotonic: the first read of `shown`."""
    same: int = 0
    reads: int = 0
    last: int = 0
    """Of its first reads: what the one before it, or a refresh since, showed."""
    next_read: int = 0
    """In a replay: the read at which the recorded one was refreshed; 0 where not looked up."""
    followed: bool = False


class RunClock:
    """The clocks of programs, each known by a key."""

    def __init__(self, page: int, rows: Rows, recorded: Recorded) -> None:
        """`page` is a descriptor of the page, which stays the caller's."""
        self._page = pages.Shown(mmap.mmap(page, pages.PAGE_BYTES, prot=mmap.PROT_READ))
        self._rows = rows
        self._recorded = recorded
        self._programs: dict[int, _Program] = {}

    @property
    def in_force(self) -> bool:
        """Whether the run's programs are shown a clock of its own."""
        return bool(self._page.flags & pages.CLOCKED)

    def start(self, key: int, lineage: bytes) -> None:
        """Begin the clock of a program: its start is a refresh, always written down."""
        if len(self._programs) >= MOST_PROGRAMS:
            self._programs.pop(next(iter(self._programs)))
        program = self._programs[key] = _Program(lineage)
        found = self._recorded.find(lineage, _STARTED) if self._replayed else None
        program.followed = found is not None or not self._replayed
        now = self._page.wall_ns if self._replayed else max(self._real(), self._page.wall_ns)
        self._show(program, now if found is None else found[1])
        self._rows.write_down(lineage, _STARTED, program.refreshed)

    def read(self, key: int) -> int:
        """What a read of the clock by this program shows, Unix nanoseconds."""
        program = self._programs.get(key)
        if program is None:
            return self._page.wall_ns
        program.reads += 1
        value = self._value(program)
        if program.followed and program.reads <= _FIRST_READS:
            value = self._first_read(program, value)
        if self._replayed and program.reads >= self._next_read(program):
            found = self._recorded.find(program.lineage, _READING | program.next_read)
            self._refresh(program, found[1] if found else 0)
            program.next_read = 0
            value = self._value(program)
        if value != program.shown:
            program.shown, program.same, program.since = value, 0, time.monotonic_ns()
            return value
        program.same += 1
        return self._stands(program, value, time.monotonic_ns() - program.since)

    @property
    def _replayed(self) -> bool:
        return bool(self._page.flags & pages.REPLAYED)

    def _real(self) -> int:
        return time.time_ns() + self._page.wall_offset_ns

    def _value(self, program: _Program) -> int:
        wall = self._page.wall_ns
        return program.refreshed if wall < program.refreshed or wall == program.beyond else wall

    def _show(self, program: _Program, now: int) -> None:
        """Show `now` until the page moves, also where that is ahead of it."""
        program.refreshed = program.last = min(now, _NEVER)
        program.beyond = self._page.wall_ns

    def _first_read(self, program: _Program, value: int) -> int:
        index = _SEEN | program.reads
        if self._replayed:
            found = self._recorded.find(program.lineage, index)
            then = found[1] if found and found[0] == index else program.last
            if then != value:
                self._show(program, then)
                value = program.refreshed
        if value != program.last:
            self._rows.write_down(program.lineage, index, value)
        program.last = value
        return value

    def _next_read(self, program: _Program) -> int:
        if not program.next_read:
            found = self._recorded.find(program.lineage, _READING | program.reads)
            program.next_read = found[0] & _NUMBER if found else _NEVER
        return program.next_read

    def _refresh(self, program: _Program, now: int) -> None:
        if now > self._value(program):
            program.refreshed = program.last = min(now, _NEVER)
            self._rows.write_down(program.lineage, _READING | program.reads, program.refreshed)

    def _stands(self, program: _Program, value: int, elapsed: int) -> int:
        """Have time pass for a program that the clock has stood still for."""
        if elapsed < STANDS_NS:
            return value
        if not self._replayed:
            now = self._real()
            if now > value + _LEAST_MOVE:
                self._refresh(program, now)
        elif program.next_read == _NEVER and program.same * (elapsed // 1_000_000) >= _PATIENCE:
            self._refresh(program, value + elapsed)  # it should have ended by now: better than a hang
        value = self._value(program)
        if value != program.shown:
            program.shown, program.same, program.since = value, 0, time.monotonic_ns()
        return value
