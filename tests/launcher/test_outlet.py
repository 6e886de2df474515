"""Output that was no terminal stays none in front of a terminal, and arrives whole."""

import os
import pty

from launcher.outlet import Outlet
from tests.launcher.rig import apart


def test_without_a_terminal_none_is_needed() -> None:
    def work() -> bool:
        for number in (1, 2):
            os.dup2(os.open("/dev/null", os.O_WRONLY), number)
        return Outlet.settle((), None) is None

    assert apart(work)


def test_a_stream_that_was_a_terminal_is_left_alone() -> None:
    def work() -> bool:
        _master, slave = pty.openpty()
        os.dup2(slave, 1)
        os.dup2(slave, 2)
        return Outlet.settle((1, 2), None) is None

    assert apart(work)


def test_what_is_written_comes_out_in_order_and_is_written_to_no_terminal() -> None:
    def work() -> tuple[bytes, str]:
        master, slave = pty.openpty()
        os.dup2(slave, 1)
        os.dup2(slave, 2)
        outlet = Outlet.settle((), None)
        assert outlet is not None
        child = os.fork()
        if child == 0:
            outlet.enter()
            for number in (1, 2, 1):
                os.write(number, f"{number}{os.isatty(number)} ".encode())
            os._exit(0)
        outlet.begin()
        os.waitpid(child, 0)
        outlet.finish()
        return os.read(master, 99), os.ttyname(1)

    said, name = apart(work)
    assert said == b"1False 2False 1False "
    assert name.startswith("/dev/pts")
