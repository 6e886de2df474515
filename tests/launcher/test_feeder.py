"""Turns: asked for in order, one at a time, not before the agent can take the piece, never after the end."""

import fcntl
import os
import pty
import struct
import termios
import threading
import tty
from collections.abc import Callable

import pytest

from launcher.feeder import Feeder
from launcher.intake import open_pipe
from launcher.played import Piece, Played
from tests.support.waiting import until


class Bench:
    """A feeder, the agent's end of its pipe, and turns that are given one by one."""

    def __init__(self, *events: tuple[str, bytes, bool], record: Callable[..., bool] | None = None) -> None:
        taken = open_pipe(None)
        assert taken.inner is not None
        self.reader = taken.inner
        os.set_blocking(self.reader, False)
        self.asked: list[int] = []
        self.recorded: list[tuple[str, bytes, bool]] = []
        self.given = threading.Semaphore(0)
        self.over = False
        pieces = tuple(Piece(number, *event) for number, event in enumerate(events))
        keep = record or (lambda *event: self.recorded.append(event) or True)
        self.feeder = Feeder(Played(pieces, self.turn), keep, feed=taken.feed, master=None)
        self.feeder.start()

    def turn(self, seq: int) -> bool:
        self.asked.append(seq)
        self.given.acquire()
        return not self.over

    def read(self) -> bytes | None:
        try:
            return os.read(self.reader, 99)
        except BlockingIOError:
            return None

    def stop(self) -> None:
        self.over = True
        self.given.release()
        self.feeder.stop()
        os.close(self.reader)


ONE, TWO, END = ("stdin", b"one", False), ("stdin", b"two", False), ("stdin", b"", True)


def test_nothing_comes_before_its_turn_and_no_turn_is_asked_before_the_piece_before_was_read() -> None:
    bench = Bench(ONE, TWO, END)
    until(lambda: bench.asked == [0])
    assert bench.read() is None
    bench.given.release()
    until(lambda: bench.recorded == [ONE])
    bench.feeder._thread.join(0.1)
    assert bench.asked == [0]
    until(lambda: bench.read() == b"one")
    until(lambda: bench.asked == [0, 1])
    bench.given.release(2)
    until(lambda: bench.read() == b"two")
    until(lambda: bench.read() == b"")
    assert bench.recorded == [ONE, TWO, END]
    bench.stop()


def test_what_could_not_be_recorded_is_not_passed_on() -> None:
    bench = Bench(ONE, TWO, record=lambda *_event: False)
    bench.given.release(2)
    until(lambda: bench.read() == b"")  # the pipe is closed
    assert bench.asked == [0]
    bench.stop()


def test_a_turn_that_says_no_is_the_last() -> None:
    bench = Bench(ONE, TWO)
    until(lambda: bench.asked == [0])
    bench.stop()
    assert bench.asked == [0]
    assert bench.recorded == []


def test_an_agent_that_listens_no_more_is_asked_for_nothing() -> None:
    bench = Bench(ONE, TWO)
    until(lambda: bench.asked == [0])
    os.close(bench.reader)
    bench.given.release()
    bench.feeder._thread.join(60)
    assert bench.asked == [0]
    bench.reader = os.open("/dev/null", os.O_RDONLY)
    bench.stop()


@pytest.mark.parametrize("event", [("terminal", b"x", False), ("terminal-size", b"1x1", False)])
def test_what_was_typed_is_passed_over_where_there_is_no_terminal(event: tuple[str, bytes, bool]) -> None:
    first = ("terminal-size", b"24x80", False)
    bench = Bench(first, event, ONE)
    until(lambda: bench.asked == [2])
    bench.stop()


def test_a_turn_that_never_comes_back_does_not_keep_the_run_from_its_end() -> None:
    bench = Bench(ONE)
    until(lambda: bench.asked == [0])
    bench.feeder.stop()
    assert bench.feeder._thread.is_alive()
    bench.stop()


@pytest.mark.parametrize("ends", [True, False])
def test_a_terminal_at_which_nothing_more_is_typed_says_so_where_that_is_asked_for(ends: bool) -> None:
    master, slave = os.openpty()
    recorded: list[tuple[str, bytes, bool]] = []
    played = Played((Piece(0, "terminal", b"never\n", end=False),), lambda _seq: False, ends)
    feeder = Feeder(played, lambda *event: recorded.append(event) or True, feed=None, master=master)
    feeder.start()
    feeder._thread.join(60)
    assert recorded == ([("terminal", b"\x04", False)] if ends else [])
    if ends:
        assert os.read(slave, 10) == b""  # the end of the input, as the kernel makes it of Ctrl-D
    feeder.stop()
    os.close(slave)


def test_what_is_typed_has_come_through_the_terminal_when_the_next_turn_is_asked_for() -> None:
    """Whoever waits for it is woken by then, and seen to run."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    there: list[int] = []

    def turn(seq: int) -> bool:
        if seq:
            (count,) = struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, bytes(4)))
            there.append(count)
            os.read(slave, 9)
        return True

    keys = tuple(Piece(seq, "terminal", b"k", end=False) for seq in range(100))
    feeder = Feeder(Played(keys, turn), lambda *_: True, feed=None, master=master)
    feeder.start()
    until(lambda: len(there) == 99)
    assert there == [1] * 99
    feeder.stop()
    os.close(slave)
