"""Signals that reach the supervisor while an agent runs: noted, to be passed on, and survived.

The interpreter writes each signal's number to a pipe as it comes, whichever thread the kernel gives it to and
whatever the main thread is about to do, so that a wait begun in the same moment sees it. A signal that the
caller ignores (nohup) stays ignored.
"""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

TERMINATING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
FOR_GROUP: Final = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP)
"""What a terminal sends goes to the agent's group, as without us; what `kill` sends, to the agent."""
_PASSED_ON: Final = (*TERMINATING, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGTSTP)
_WATCHED: Final = (*_PASSED_ON, signal.SIGWINCH)

type Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None


class Inbox:
    """Collects signals from `open` to `close`. Both must be called from the main thread."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._before: dict[signal.Signals, Handler] = {}
        self._woken_before: int | None = None

    def open(self) -> None:
        """Take over the handlers."""
        # A full pipe holds signals that nobody has read: one more says nothing.
        self._woken_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in _WATCHED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, _survive)

    def fileno(self) -> int:
        """What to poll."""
        return self._read

    def read(self) -> list[signal.Signals]:
        """The signals that came since the last call, in order."""
        try:
            return [signal.Signals(number) for number in os.read(self._read, 4096) if number in self._before]
        except BlockingIOError:
            return []

    def close(self) -> None:
        """Give the handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        if self._woken_before is not None:
            signal.set_wakeup_fd(self._woken_before)
            self._woken_before = None
        if self._read >= 0:
            os.close(self._read)
            os.close(self._write)
            self._read = self._write = -1


def _survive(_number: int, _frame: FrameType | None) -> None:
    """Let the signal do nothing: that it came is in the pipe."""


def can_be_continued() -> bool:
    """Whether a shell with job control started us: the session has a terminal, and its group is not ours.

    Elsewhere (a service, a CI runner, a terminal's only program) nobody would see that we stopped, and
    continue us: the agent could end the recording in silence by stopping itself.
    """
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
        return os.getpgrp() != os.getpgid(os.getsid(0))
    except OSError:
        return False


def stop_as(number: int, *, whole_group: bool) -> None:
    """Stop this process as the agent was stopped, and return when it is continued.

    A SIGTSTP that nobody could continue (an orphaned group) is ignored by the kernel: this returns at once.
    """
    if number == signal.SIGSTOP:
        os.kill(os.getpid(), signal.SIGSTOP)
        return
    handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        os.kill(0 if whole_group else os.getpid(), signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, handler)
