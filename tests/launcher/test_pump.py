"""Standard input carried through us: recorded first, taken from its source only as far as it was read."""

import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from launcher import pump
from launcher.pump import Pump, open_source
from tests.launcher.rig import apart

PAGE = os.sysconf("SC_PAGESIZE")


@dataclass
class Bench:
    """A pump between a source that is descriptor 0 and a reader that stands for the agent."""

    reader: int
    pump: Pump
    events: list[tuple[str, bytes, bool]] = field(default_factory=list)
    willing: bool = True
    now: float = 0.0

    def record(self, source: str, data: bytes, end: bool) -> bool:
        self.events.append((source, data, end))
        return self.willing

    def turn(self, times: int = 1) -> int | None:
        """Some turns of the supervisor's loop that wait for nothing."""
        timeout = None
        for _ in range(times):
            poll = select.poll()
            timeout = self.pump.register(poll)
            self.pump.serve(dict(poll.poll(0)))
        return timeout

    def waiting(self) -> bytes | None:
        """What the agent would read now; None where it would wait."""
        os.set_blocking(self.reader, False)
        try:
            return os.read(self.reader, 1 << 20)
        except BlockingIOError:
            return None


def bench(source: int) -> Bench:
    """Only in a process of its own: it takes descriptor 0."""
    os.dup2(source, 0)
    os.close(source)
    read, write = os.pipe()
    os.set_blocking(write, False)
    import fcntl

    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, PAGE)
    made = Bench(read, None)  # type: ignore[arg-type]
    made.pump = Pump(write, lambda *event: made.record(*event), now=lambda: made.now)  # noqa: PLW0108  (changed later)
    return made


@contextmanager
def pair(kind: str) -> Iterator[tuple[int, int]]:
    """Two ends: what is written to the second comes out of the first."""
    if kind == "pipe":
        yield os.pipe()
        return
    ours, theirs = socket.socketpair()
    yield ours.detach(), theirs.detach()


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_the_agent_has_not_read_stays_in_the_source(kind: str) -> None:
    def work() -> tuple[bytes, bytes]:
        with pair(kind) as (source, writer):
            os.write(writer, b"one\ntwo\n")
            one = bench(source)
            one.turn(3)
            got = os.read(one.reader, 4)
            one.turn(3)
            one.pump.stop()
            return got, os.read(0, 99)

    assert apart(work) == (b"one\n", b"two\n")


def test_a_device_has_no_way_back() -> None:
    """The control: with reading in the place of looking, what was read ahead is lost."""

    def work() -> bytes:
        pump.open_source = pump._Device  # type: ignore[assignment]
        source, writer = os.pipe()
        os.write(writer, b"one\ntwo\n")
        one = bench(source)
        one.turn(3)
        os.read(one.reader, 4)
        one.pump.stop()
        os.close(writer)
        return os.read(0, 99)

    assert apart(work) == b""


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_piece_is_recorded_before_the_agent_can_read_it_and_pieces_wait_for_their_reader(kind: str) -> None:
    def work() -> list[object]:
        seen: list[object] = []
        with pair(kind) as (source, writer):
            os.write(writer, bytes(3 * PAGE))
            one = bench(source)
            record = one.record
            one.record = lambda *event: (seen.append(one.waiting()), record(*event))[1]  # type: ignore[method-assign]
            one.turn(9)
            assert len(one.events) == 1  # nobody has read it
            got = b""
            for _ in range(9):
                got += one.waiting() or b""
                one.turn(3)
            assert got == bytes(3 * PAGE)
            assert b"".join(data for _, data, _ in one.events) == got
        return seen

    assert set(apart(work)) == {None}


def test_what_could_not_be_recorded_is_not_passed_on() -> None:
    def work() -> bytes | None:
        source, writer = os.pipe()
        os.write(writer, b"secret")
        one = bench(source)
        one.willing = False
        one.turn(5)
        assert len(one.events) == 1
        return one.waiting()

    assert apart(work) == b""


def test_the_end_is_recorded_and_passed_on() -> None:
    def work() -> tuple[list[tuple[str, bytes, bool]], bytes | None]:
        source, writer = os.pipe()
        os.close(writer)
        one = bench(source)
        one.turn(3)
        return one.events, one.waiting()

    assert apart(work) == ([("stdin", b"", True)], b"")


def test_the_end_waits_for_a_signal_that_came_with_it() -> None:
    def work() -> list[object]:
        source, writer = os.pipe()
        os.close(writer)
        one = bench(source)
        one.turn()
        one.pump.hold_end()
        timeout = one.turn(5)
        seen: list[object] = [one.waiting(), timeout]
        one.now += pump.SIGNAL_FIRST_S
        one.turn()
        return [*seen, one.waiting()]

    first, timeout, last = apart(work)
    assert (first, last) == (None, b"")
    assert 0 < timeout <= 1000 * pump.SIGNAL_FIRST_S + 1


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_writer_is_told_that_the_agent_listens_no_more(kind: str) -> None:
    def work() -> str:
        with pair(kind) as (source, writer):
            one = bench(source)
            os.write(writer, b"x")
            one.turn(2)
            os.close(one.reader)
            one.turn(2)
        try:
            os.write(writer, b"y")
        except BrokenPipeError:
            return os.readlink("/proc/self/fd/0")
        return "nobody said so"

    assert apart(work) == "/dev/null"


def test_an_agent_that_never_reads_makes_the_writer_wait_and_costs_one_piece() -> None:
    def work() -> tuple[int, int]:
        source, writer = os.pipe()
        os.set_blocking(writer, False)
        one = bench(source)
        sent = 0
        try:
            while True:
                sent += os.write(writer, bytes(PAGE))
                one.turn(2)
        except BlockingIOError:
            return sent, sum(len(data) for _, data, _ in one.events)

    sent, recorded = apart(work)
    assert recorded == PAGE
    assert sent <= 1 << 20


def test_a_reader_beside_us_who_was_faster_is_not_waited_for() -> None:
    def work() -> bytes | None:
        source, writer = os.pipe()
        os.write(writer, b"abcd")
        one = bench(source)
        one.turn(2)
        os.read(0, 4)
        got = one.waiting()
        one.turn(3)
        return got

    assert apart(work) == b"abcd"


def test_each_kind_of_source_says_nothing_yet_and_end() -> None:
    read, write = os.pipe()
    os.set_blocking(read, False)
    source = open_source(read)
    assert source.look(5) is None
    os.close(write)
    assert source.look(5) == b""
    source.close()
    ours, theirs = socket.socketpair()
    with ours:
        source = open_source(ours.fileno())
        assert source.look(5) is None
        theirs.close()
        assert source.look(5) == b""
        source.close()
