"""The caller's terminal after a supervisor that could not give it back itself."""

import contextlib
import os
import pty
import signal
import termios
import tty
from collections.abc import Iterator

import pytest

from launcher import guard
from launcher.launch import launch
from tests.launcher.rig import become_ordinary, plan, project
from tests.support.seat import Seat
from tests.support.waiting import until

pytestmark = pytest.mark.attack


@contextlib.contextmanager
def killed(*, guarded: bool) -> Iterator[tuple[Seat, list[object]]]:
    """A terminal whose supervisor was killed in raw mode, under a parent that only waits for it."""
    with project() as folder:
        process, master = pty.fork()
        if process == 0:
            try:
                job = os.fork()
                if job == 0:
                    become_ordinary()
                    if not guarded:
                        guard.post = lambda _terminal: None  # type: ignore[assignment]
                    with launch(
                        plan(folder, ("/bin/sh", "-c", "echo ready; sleep 60"), terminal=True)
                    ) as boundary:
                        boundary.start()
                        os.write(1, b"%d.\n" % os.getpid())
                        boundary.wait()
                os.waitpid(job, 0)
                os.write(1, b"over")
                signal.pause()
            finally:
                os._exit(0)
        seat = Seat(master, process)
        before = seat.modes()
        try:
            number = int(seat.until(".").strip(".").split()[-1])
            seat.until("ready")
            until(seat.raw)
            os.kill(number, signal.SIGKILL)
            seat.until("over")
            yield seat, before
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(master)


def test_a_killed_supervisors_terminal_is_given_back() -> None:
    with killed(guarded=True) as (seat, before):
        until(lambda: seat.modes() == before)


def test_without_the_guard_it_stays_raw() -> None:
    with killed(guarded=False) as (seat, _):
        assert seat.raw()


def test_modes_that_somebody_else_has_set_are_left_alone() -> None:
    master, slave = pty.openpty()
    post = guard.post(slave)
    assert post is not None
    tty.setraw(slave)
    changed = termios.tcgetattr(slave)
    changed[3] = int(changed[3]) | termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, changed)
    os.close(post._pipe)
    os.waitpid(post._process, 0)
    assert termios.tcgetattr(slave) == changed
    os.close(master)
    os.close(slave)


def test_a_guard_that_is_dismissed_changes_nothing_and_is_gone() -> None:
    master, slave = pty.openpty()
    post = guard.post(slave)
    assert post is not None
    tty.setraw(slave)
    raw = termios.tcgetattr(slave)
    post.dismiss()
    assert termios.tcgetattr(slave) == raw
    with pytest.raises(ChildProcessError):
        os.waitpid(post._process, 0)
    os.close(master)
    os.close(slave)


def test_what_is_no_terminal_needs_no_guard() -> None:
    read, write = os.pipe()
    assert guard.post(read) is None
    os.close(read)
    os.close(write)
