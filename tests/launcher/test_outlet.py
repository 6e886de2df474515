"""Output that the agent must not hold itself arrives whole and in order; what cannot be written is told."""

import fcntl
import os
import pty
import signal
import socket
import tempfile
from collections.abc import Callable
from typing import Any

import pytest

from launcher.outlet import Outlet
from launcher.sobering import STRING_ENDS
from tests.launcher.rig import WHO, apart, plan, project, run_here

EARLIER = b"an earlier run's log\n"


def passed(outlet: Outlet, write: Callable[[], object]) -> None:
    """Have a child write on the agent's side, and wait for all of it."""
    child = os.fork()
    if child == 0:
        outlet.enter()
        write()
        os._exit(0)
    outlet.leave()
    outlet.begin()
    os.waitpid(child, 0)
    outlet.finish()


def log(*streams: int, flags: int = os.O_APPEND) -> int:
    """A file of the caller's that these streams lead to."""
    made, path = tempfile.mkstemp()
    os.write(made, EARLIER)
    opened = os.open(path, os.O_RDWR | flags)
    os.lseek(opened, 0, os.SEEK_END)
    os.unlink(path)
    for number in streams:
        os.dup2(opened, number)
    return opened


def content(descriptor: int) -> bytes:
    return os.pread(descriptor, 1 << 26, 0)


def test_a_terminal_of_the_agents_own_and_devices_are_left_alone() -> None:
    def work() -> list[bool]:
        _master, slave = pty.openpty()
        said = []
        for places, terminals in (((slave, slave), (1, 2)), ((slave, slave), None)):
            for number, place in zip((1, 2), places, strict=True):
                os.dup2(place, number)
            same = [os.fstat(1), os.fstat(2)]
            outlet = Outlet.settle(terminals, None)
            passed(outlet, lambda same=same: os.write(1, b"%d" % ([os.fstat(1), os.fstat(2)] == same)))
            said.append(os.read(_master, 9) == b"1")
        return said

    assert apart(work) == [True, True]


def test_what_is_written_comes_out_in_order_and_is_written_to_no_terminal() -> None:
    def work() -> tuple[bytes, str]:
        master, slave = pty.openpty()
        os.dup2(slave, 1)
        os.dup2(slave, 2)
        passed(
            Outlet.settle((), None),
            lambda: [os.write(number, f"{number}{os.isatty(number)} ".encode()) for number in (1, 2, 1)],
        )
        said = b""
        while len(said) < 21:
            said += os.read(master, 99)
        return said, os.ttyname(1)

    said, name = apart(work)
    assert said == b"1False 2False 1False "
    assert name.startswith("/dev/pts")


def test_a_terminal_is_put_right_behind_what_was_written_to_it() -> None:
    def work() -> bytes:
        master, slave = pty.openpty()
        os.dup2(slave, 1)
        passed(Outlet.settle((), None), lambda: os.write(1, b"\x1b]0;"))
        os.write(1, b"END")
        said = b""
        while not said.endswith(b"END"):
            said += os.read(master, 99)
        return said

    assert apart(work).startswith(b"\x1b]0;" + STRING_ENDS)


@pytest.mark.parametrize("flags", [os.O_APPEND, 0])
def test_two_streams_to_one_file_keep_their_order_and_what_stood_in_it(flags: int) -> None:
    def work() -> bytes:
        file = log(1, 2, flags=flags)
        passed(
            Outlet.settle(None, None),
            lambda: [os.write(number, b"%d" % number) for number in (1, 2, 2, 1, 2)],
        )
        os.write(2, b" report")
        return content(file)

    assert apart(work) == EARLIER + b"12212 report"


def test_much_output_arrives_whole_in_each_file() -> None:
    def work() -> tuple[int, int, bool]:
        out, err = log(1), log(2)
        passed(
            Outlet.settle(None, None),
            lambda: [os.write(number, bytes([number]) * 65536) for _ in range(300) for number in (1, 2)],
        )
        first, second = (content(file)[len(EARLIER) :] for file in (out, err))
        return len(first), len(second), set(first) == {1} and set(second) == {2}

    assert apart(work) == (300 * 65536, 300 * 65536, True)


def test_a_file_is_written_to_up_to_the_ceiling_and_the_agent_is_told() -> None:
    def work() -> tuple[bytes, bool, str | None]:
        file = log(1)
        outlet = Outlet.settle(None, None, len(EARLIER) + 3)
        passed(outlet, lambda: os.write(1, b"12345"))
        return content(file), outlet.full, outlet.problem

    assert apart(work) == (EARLIER + b"123", True, None)


def test_output_that_cannot_be_written_is_told_with_its_reason() -> None:
    def work() -> tuple[str | None, bytes]:
        file = log(2)
        readable, path = tempfile.mkstemp()
        os.close(readable)
        os.dup2(os.open(path, os.O_RDONLY), 1)
        os.unlink(path)
        outlet = Outlet.settle(None, None)
        passed(outlet, lambda: os.write(1, b"lost") and os.write(2, b"kept"))
        return outlet.problem, content(file)

    assert apart(work) == ("standard output cannot be written: bad file descriptor", EARLIER + b"kept")


def test_a_socket_whose_reader_leaves_ends_the_agents_pipe_and_is_no_problem() -> None:
    def work() -> tuple[str | None, bool]:
        ours, theirs = socket.socketpair()
        os.dup2(theirs.fileno(), 1)
        theirs.close()
        outlet = Outlet.settle(None, None)
        child = os.fork()
        if child == 0:
            ours.close()
            outlet.enter()
            try:
                while True:
                    os.write(1, bytes(4096))
            except BrokenPipeError:
                os._exit(7)
        outlet.leave()
        outlet.begin()
        ours.recv(10)
        ours.close()
        _, status = os.waitpid(child, 0)
        outlet.finish()
        return outlet.problem, os.waitstatus_to_exitcode(status) == 7

    assert apart(work) == (None, True)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_an_agent_that_is_run_again_is_not_told_that_the_reader_has_left(kind: str) -> None:
    """The control is told, as in a run."""

    def ended(*, to_the_end: bool) -> int:
        if kind == "pipe":
            ours, its = os.pipe()
        else:
            one, other = socket.socketpair()
            ours, its = one.detach(), other.detach()
        os.dup2(its, 1)
        os.close(its)
        outlet = Outlet.settle(None, None, to_the_end=to_the_end)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.close(ours)
            outlet.enter()
            for _ in range(100):
                os.write(1, bytes(65536))
            os._exit(7)
        outlet.leave()
        outlet.begin()
        os.read(ours, 1)
        os.close(ours)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.dup2(2, 1)
        outlet.finish()
        assert outlet.problem is None
        return status

    assert apart(lambda: [ended(to_the_end=True), ended(to_the_end=False)]) == [7, -signal.SIGPIPE]


def test_flags_that_the_agent_left_on_the_callers_pipe_are_put_back() -> None:
    def work() -> tuple[int, int]:
        _read, write = os.pipe()
        os.dup2(write, 1)
        before = fcntl.fcntl(1, fcntl.F_GETFL)
        passed(Outlet.settle(None, None), lambda: fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK | os.O_DIRECT))
        return before, fcntl.fcntl(1, fcntl.F_GETFL)

    before, after = apart(work)
    assert after == before


@pytest.mark.parametrize("who", WHO)
def test_an_agent_has_pipes_where_the_caller_has_files_and_ends_when_all_is_written(who: str) -> None:
    def work() -> Any:
        with project(who) as folder:
            script = "stat -Lc %F /dev/fd/1 /dev/fd/2; head -c 300000 /dev/zero | tr '\\0' x; echo e >&2"
            return run_here(plan(folder, ("sh", "-c", script)))

    result = apart(work, who=who)
    assert (result.out, result.err) == ("fifo\nfifo\n" + "x" * 300000, "e\n")
