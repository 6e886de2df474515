"""What is handed down from the caller, and streams that would lead around the boundary."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from hark.errors import ConfinementError
from launcher.caller import Inherited, inherited, settle_streams
from launcher.launch import launch
from tests.launcher.rig import apart, plan, project, shell


def refusal(prepare: Callable[[], None]) -> str:
    """What settling the streams says after `prepare`, in a process of its own."""

    def work() -> str:
        prepare()
        try:
            settle_streams()
        except ConfinementError as error:
            return str(error)
        return ""

    return str(apart(work, who="root"))


def test_a_directory_as_a_stream_is_refused() -> None:
    assert "standard input is a directory" in refusal(lambda: _put(os.open("/", os.O_RDONLY), 0))


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_network_socket_as_a_stream_is_refused(family: socket.AddressFamily) -> None:
    assert "standard output is a network socket" in refusal(lambda: _put(socket.socket(family).detach(), 1))


def test_pipes_files_and_unix_sockets_are_taken() -> None:
    assert refusal(lambda: _put(os.pipe()[0], 0)) == ""
    assert refusal(lambda: _put(socket.socketpair()[0].detach(), 0)) == ""
    assert refusal(lambda: None) == ""


def _put(descriptor: int, place: int) -> None:
    os.dup2(descriptor, place)


def test_a_closed_stream_becomes_dev_null() -> None:
    def work() -> list[int]:
        for descriptor in range(3):
            os.close(descriptor)
        settle_streams()
        return [os.fstat(descriptor).st_rdev for descriptor in range(3)]

    assert apart(work, who="root") == [os.stat("/dev/null").st_rdev] * 3


def test_umask_and_ignored_signals_are_read_and_left_alone() -> None:
    def work() -> tuple[int, bool, int]:
        os.umask(0o027)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        found = inherited()
        return found.umask, signal.SIGHUP in found.ignored, os.umask(0)

    assert apart(work) == (0o027, True, 0o027)


def test_what_is_inherited_is_told_in_words_and_read_again() -> None:
    found = Inherited(0o027, (int(signal.SIGHUP), int(signal.SIGINT)))
    assert found.told() == ("0027", ("SIGHUP", "SIGINT"))
    assert Inherited.read(*found.told()) == found
    for umask, ignored in (("27", ()), ("1000", ()), ("0022", ("SIGKILL",)), ("0022", ("HUP",))):
        assert Inherited.read(umask, ignored) is None


@pytest.mark.attack
@pytest.mark.parametrize("closed", [(0,), (2,), (0, 2)])
def test_a_stream_that_the_caller_closed_is_dev_null_for_the_agent(closed: tuple[int, ...]) -> None:
    def work() -> str:
        read, write = os.pipe()
        with project("root") as folder:
            os.dup2(write, 1)
            os.close(write)
            for descriptor in closed:
                os.close(descriptor)
            paths = " ".join(f"/proc/self/fd/{descriptor}" for descriptor in closed)
            with launch(plan(folder, ("/usr/bin/readlink", *paths.split()))) as boundary:
                boundary.start()
                boundary.wait()
        os.close(1)
        with open(read) as out:
            return out.read()

    assert apart(work) == "/dev/null\n" * len(closed)


@pytest.mark.attack
def test_umask_reaches_the_agent() -> None:
    assert shell("umask", change=lambda: os.umask(0o027)).out == "0027\n"


@pytest.mark.attack
def test_pythons_own_ignored_signals_do_not_reach_the_agent() -> None:
    pythons = sum(1 << (number - 1) for number in (signal.SIGPIPE, signal.SIGXFSZ))
    result = shell("grep SigIgn /proc/self/status")
    assert int(result.out.split()[1], 16) & pythons == 0
    ours = Path("/proc/self/status").read_text().partition("SigIgn:")[2].split()[0]
    assert int(ours, 16) & pythons == pythons  # the control: this process does ignore them
