"""The clock's log goes into the record while the run goes on, before each act of the agent's."""

import os
import struct

from hark.bundle import events as ev
from hark.repeatable.piecemeal import MOST, Piecemeal
from hark.replay import clocklog
from launcher import pages

A = b"a" * 16


class Kept:
    """A writer that keeps what it is given."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def append(self, event: object, *, durable: bool = False) -> int:
        self.events.append(event)
        return len(self.events)

    def sync(self, seq: int) -> None:
        self.events.append(("sync", seq))


class Shared:
    """A log that threads write, and a clock."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("log")
        os.ftruncate(self.descriptor, pages.LOG_BYTES)
        self.own = os.memfd_create("own")
        self.log = pages.Log(self.descriptor, self.own)
        self.writer = Kept()
        self.piecemeal = Piecemeal(self.writer, self.log)  # type: ignore[arg-type]

    def write(self, at: int, value: int, taken: int | None = None) -> None:
        record = struct.pack("<16sQQ", A, at, value)
        os.pwrite(self.descriptor, record, pages._RECORDS_AT + 32 * at)
        os.pwrite(self.descriptor, struct.pack("=Q", at + 1 if taken is None else taken), 8)

    def does(self, name: str) -> None:
        self.piecemeal.append(ev.DnsQuery(name))

    def clocks(self) -> list[ev.ClockLog]:
        return [event for event in self.writer.events if isinstance(event, ev.ClockLog)]


def test_what_was_read_before_an_event_stands_before_it():
    shared = Shared()
    shared.write(0, 5)
    shared.does("a")
    shared.write(1, 6)
    shared.does("b")
    kinds = [type(event).__name__ for event in shared.writer.events]
    assert kinds == ["ClockLog", "DnsQuery", "ClockLog", "DnsQuery"]
    assert shared.piecemeal.kept == 2
    assert clocklog.unpack(shared.clocks()) == clocklog.settle(shared.log.records()[0])


def test_what_process_1_keeps_stands_there_too_and_once():
    shared = Shared()
    os.pwrite(shared.own, struct.pack("<16sQQ", A, 1 << 56, 5), 0)
    shared.does("a")
    shared.does("b")
    os.pwrite(shared.own, struct.pack("<16sQQ", A, 2 << 56, 6) + bytes(7), 32)  # the next is being written
    shared.does("c")
    assert len(shared.clocks()) == 2
    assert shared.piecemeal.kept_of_process_1 == 2
    assert clocklog.unpack(shared.clocks()) == shared.log.kernel_records()[0]


def test_what_a_fork_read_of_the_recorded_clock_stands_before_it_goes_live():
    shared = Shared()
    shared.write(0, 5)
    shared.piecemeal.append(ev.Branch(wall_ns=7))
    assert [type(event).__name__ for event in shared.writer.events] == ["ClockLog", "Branch"]


def test_nothing_new_makes_no_event():
    shared = Shared()
    shared.write(0, 5)
    for name in ("a", "b", "c"):
        shared.does(name)
    assert len(shared.clocks()) == 1


def test_what_the_agent_does_not_do_waits_for_nothing():
    shared = Shared()
    shared.write(0, 5)
    shared.piecemeal.append(ev.LlmResponseChunk(0, b"x"))
    shared.piecemeal.append(ev.TunnelData(from_agent=False))
    assert shared.clocks() == []
    shared.piecemeal.append(ev.TunnelData(from_agent=True))
    assert len(shared.clocks()) == 1


def test_what_a_thread_has_not_written_yet_waits_with_all_behind_it():
    shared = Shared()
    shared.write(0, 5)
    shared.write(2, 7)
    shared.does("a")
    assert shared.piecemeal.kept == 1
    shared.write(1, 6, taken=3)
    shared.does("b")
    assert shared.piecemeal.kept == 3
    assert len(clocklog.unpack(shared.clocks())) == 3 * 32


def test_a_log_that_claims_to_be_full_costs_no_more_than_a_piece():
    shared = Shared()
    for number in range(MOST + 10):
        os.pwrite(shared.descriptor, struct.pack("<16sQQ", A, number, 1), pages._RECORDS_AT + 32 * number)
    os.pwrite(shared.descriptor, struct.pack("=Q", (1 << 64) - 1), 8)
    shared.does("a")
    assert shared.piecemeal.kept == MOST


def test_syncing_is_the_writers():
    shared = Shared()
    shared.piecemeal.sync(3)
    assert shared.writer.events == [("sync", 3)]
