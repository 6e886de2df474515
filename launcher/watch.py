"""Process 1's view of the processes inside: who has ended, who is still there, and when that is the end.

The run's end is the first process's, or with `wait_for_all` the last one's. What is still there at the first
one's end is counted, so that nobody's background work is ended in silence. This process reaps every orphan.
"""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from launcher import wire

_GRACE_S: Final = 0.25  # a pool's or a runtime's helper needs some milliseconds to notice
_GRACE_STEP_S: Final = 0.005
_GONE: Final = (b"Z", b"X", b"")
_STOPPED: Final = (b"T", b"t")
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@dataclass(slots=True, kw_only=True)
class Watch:
    """The agent's process, and how it ended once it has."""

    channel: socket.socket
    agent: int
    wait_for_all: bool
    end: tuple[str, str] | None = None
    interrupted: bool = False
    """A signal that asks for the end came after the agent's."""
    held: tuple[int, ...] = ()
    """Processes that were stopped because the supervisor is."""

    def over(self) -> bool:
        """Tell the supervisor if this is the end: the agent's, or with `wait_for_all` everybody's."""
        if self.end is None:
            return False
        left = _others()
        if left and self.wait_for_all and not self.interrupted:
            return False
        wire.send(self.channel, "ended", *self.end, str(left and _after_grace()))
        return True

    def reap(self) -> None:
        """Collect every child that changed."""
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return
            if child == 0:
                return
            if child != self.agent or self.end is not None:
                continue
            if os.WIFSTOPPED(status):
                wire.send(self.channel, "stopped", str(os.WSTOPSIG(status)))
            elif os.WIFSIGNALED(status):
                self.end = "signal", str(os.WTERMSIG(status))
            else:
                self.end = "code", str(os.WEXITSTATUS(status))

    def obey(self, message: wire.Message) -> bool:
        """Do what the supervisor says; False when it is gone."""
        with contextlib.suppress(ProcessLookupError):
            if message.word == "signal":
                self._signal(int(message.fields[0]), group=message.fields[1] == "group")
            elif message.word == "hold":
                self._hold()
            elif message.word == "continue":
                self._release()
        return bool(message.word)

    def _hold(self) -> None:
        """Stop all that runs: a supervisor that is stopped records nothing and ends nothing at a limit."""
        self.held = tuple(int(name) for name in _names() if _state(name) not in (*_GONE, *_STOPPED))
        os.kill(-1, signal.SIGSTOP)

    def _release(self) -> None:
        held, self.held = self.held, ()
        for process in held:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
        os.killpg(self.agent, signal.SIGCONT)

    def _signal(self, number: int, *, group: bool) -> None:
        if self.end is not None:
            # Its number may be another's by now. Who waits for the rest may stop waiting.
            self.interrupted = self.interrupted or number in _ENDING
            os.kill(-1, number)
        elif group:
            os.killpg(self.agent, number)
        else:
            os.kill(self.agent, number)


def _others() -> int:
    """How many processes there are inside beside this one, without those that only wait to be collected."""
    return sum(_state(name) not in _GONE for name in _names())


def _names() -> Iterator[str]:
    return (name for name in os.listdir("/proc") if name.isdecimal() and name != "1")


def _state(process: str) -> bytes:
    """Return the letter of proc_pid_stat(5) for what a process does, none where it is not there any more."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1]
    except OSError:
        return b""


def _after_grace() -> int:
    """How many are still there after a moment: helpers of the agent's runtime end with it, by themselves."""
    deadline = time.monotonic() + _GRACE_S
    while (left := _others()) and time.monotonic() < deadline:
        time.sleep(_GRACE_STEP_S)
    return left
