"""What programs without a shim are shown of the clock, in a recording and in its replay."""

import os
import time
from dataclasses import dataclass, field

import pytest

from hark.replay import clocklog
from launcher import pages
from launcher.rows import Recorded, Rows
from launcher.runclock import STANDS_NS, RunClock

WHO = b"w" * 16
BEGAN = 1_700_000_000_000_000_000


@dataclass
class Bench:
    """A clock, its page, and the time of the machine."""

    monkeypatch: pytest.MonkeyPatch
    recorded: bytes | None = None
    now: int = BEGAN + 5_000_000_000
    own: int = field(default_factory=lambda: os.memfd_create("own"))

    def __post_init__(self) -> None:
        page, log = os.memfd_create("page"), os.memfd_create("log")
        os.ftruncate(page, pages.PAGE_BYTES)
        os.ftruncate(log, pages.LOG_BYTES)
        self.page = pages.Page(page)
        flags = pages.CLOCKED | (0 if self.recorded is None else pages.REPLAYED)
        self.page.begin(BEGAN, bytes(32), flags)
        self.clock = RunClock(page, Rows(log, self.own), Recorded(clocklog.replayed(self.recorded or b"")))
        self.monkeypatch.setattr(time, "time_ns", lambda: self.now)
        self.monkeypatch.setattr(time, "monotonic_ns", lambda: self.now)
        self.clock.start(1, WHO)

    def passes(self, ns: int) -> None:
        self.now += ns

    def kept(self) -> bytes:
        return clocklog.settle(os.pread(self.own, 1 << 20, 0))


def test_a_program_sees_its_start_then_what_came_in(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    assert bench.clock.in_force
    start = bench.now
    assert [bench.clock.read(1), bench.clock.read(1)] == [start, start]
    bench.passes(700_000_000)
    assert bench.clock.read(1) == start  # the clock stands still between what comes in
    bench.page.set_wall(start + 5)
    assert bench.clock.read(1) == start + 5
    assert bench.clock.read(99) == start + 5  # of a program that nobody knows: the page


def test_a_replay_shows_the_same_at_another_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(bench: Bench) -> list[int]:
        found = [bench.clock.read(1)]
        bench.passes(STANDS_NS + 1)
        found.append(bench.clock.read(1))
        bench.page.set_wall(found[-1] + 1000)
        return [*found, bench.clock.read(1)]

    recorded = Bench(monkeypatch)
    first = told(recorded)
    assert first[1] - first[0] > STANDS_NS
    replayed = Bench(monkeypatch, recorded=recorded.kept(), now=BEGAN + 10**18)
    assert told(replayed) == first
    assert replayed.kept() == recorded.kept()  # a replay's bundle replays equal
    assert told(Bench(monkeypatch, now=BEGAN + 10**18)) != first


def test_one_of_the_first_reads_shows_what_it_showed_though_the_page_moves_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded = Bench(monkeypatch)
    start = recorded.clock.read(1)
    recorded.page.set_wall(start + 100)
    assert recorded.clock.read(1) == start + 100
    early = Bench(monkeypatch, recorded=recorded.kept())
    early.page.set_wall(start + 100)
    assert [early.clock.read(1), early.clock.read(1)] == [start, start + 100]
    late = Bench(monkeypatch, recorded=recorded.kept())
    assert [late.clock.read(1), late.clock.read(1)] == [start, start + 100]


def test_who_waits_for_a_time_in_a_replay_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Bench(monkeypatch)
    start = recorded.clock.read(1)
    bench = Bench(monkeypatch, recorded=recorded.kept())
    for _ in range(30_000):
        bench.passes(10_000_000)
        if bench.clock.read(1) > start:
            return
    raise AssertionError("the clock stood still for five minutes")


def test_a_fork_that_goes_live_sees_the_real_time_again(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Bench(monkeypatch)
    recorded.clock.read(1)
    bench = Bench(monkeypatch, recorded=recorded.kept(), now=BEGAN + 10**16)
    shown = bench.clock.read(1)
    bench.page.go_live(3)
    bench.passes(STANDS_NS + 1)
    assert bench.clock.read(1) == bench.now + 3 > shown


def test_hostile_records_are_shown_and_overflow_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    most = (1 << 64) - 1
    recorded = clocklog.settle(
        b"".join(
            clocklog.RECORD.pack(WHO, kind << 56 | number, most) for kind, number in ((1, 0), (4, 1), (6, 1))
        )
    )
    bench = Bench(monkeypatch, recorded=recorded)
    assert 0 < bench.clock.read(1) < 1 << 63


def test_the_oldest_program_is_forgotten_where_there_are_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launcher.runclock.MOST_PROGRAMS", 3)
    bench = Bench(monkeypatch)
    for key in range(2, 9):
        bench.clock.start(key, bytes([key]) * 16)
    assert len(bench.clock._programs) == 3
    assert bench.clock.read(8) == bench.now
