"""Signals are noted in order, passed on by somebody else, and given back."""

import os
import pty
import select
import signal
import threading

from launcher.signals import Inbox, can_be_continued, stop_as
from tests.launcher.rig import apart


def test_signals_are_noted_in_order_and_end_nothing() -> None:
    def work() -> list[int]:
        inbox = Inbox()
        inbox.open()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            os.kill(os.getpid(), number)
        return [int(number) for number in inbox.read()]

    assert apart(work) == [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1]


def test_reading_without_signals_gives_none() -> None:
    inbox = Inbox()
    assert inbox.read() == []
    inbox.close()


def test_handlers_are_given_back_and_ignored_signals_left_alone() -> None:
    def work() -> tuple[bool, bool, bool]:
        before = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        inbox = Inbox()
        inbox.open()
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        taken = signal.getsignal(signal.SIGINT) is not before
        inbox.close()
        inbox.close()
        return ignored, taken, signal.getsignal(signal.SIGINT) is before

    assert apart(work) == (True, True, True)


def test_a_flood_of_signals_does_not_block() -> None:
    def work() -> bool:
        inbox = Inbox()
        inbox.open()
        for _ in range(70_000):  # more than a pipe holds
            os.kill(os.getpid(), signal.SIGUSR1)
        return len(inbox.read()) > 0

    assert apart(work) is True


def test_a_signal_that_another_thread_gets_wakes_a_wait_in_the_main_one() -> None:
    """The kernel may give a process's signal to any thread, and a wait in the main one is not interrupted."""

    def work() -> list[int]:
        inbox = Inbox()
        inbox.open()
        done = threading.Event()
        other = threading.Thread(target=done.wait, daemon=True)
        other.start()
        assert other.ident is not None
        sender = threading.Timer(0.1, signal.pthread_kill, (other.ident, signal.SIGINT))
        sender.start()
        poll = select.poll()
        poll.register(inbox.fileno(), select.POLLIN)
        woken = poll.poll(5000)
        done.set()
        return [int(number) for number in inbox.read()] if woken else []

    assert apart(work) == [signal.SIGINT]


def test_stopping_where_nobody_could_continue_returns_at_once() -> None:
    def work() -> str:
        os.setsid()  # an orphaned group: SIGTSTP is ignored by the kernel there
        stop_as(signal.SIGTSTP, whole_group=True)
        return "back"

    assert apart(work) == "back"


def test_stopping_by_sigstop_waits_for_sigcont() -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        stop_as(signal.SIGSTOP, whole_group=False)
        os.write(write, b"on")
        os._exit(0)
    _, status = os.waitpid(child, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    os.kill(child, signal.SIGCONT)
    assert os.read(read, 2) == b"on"
    os.waitpid(child, 0)
    os.close(read)
    os.close(write)


def test_only_a_job_of_a_session_with_a_terminal_can_be_continued() -> None:
    def sessions() -> list[bool]:
        child, master = pty.fork()
        if child == 0:
            leads = can_be_continued()
            job = os.fork()
            if job == 0:
                os.setpgid(0, 0)
                os._exit(10 * leads + can_be_continued())
            os._exit(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(master)
        os.setsid()
        return [code == 1, can_be_continued()]

    assert apart(sessions) == [True, False]
