"""Gives the caller's terminal back when the supervisor could not: killed, or crashed below Python.

A process of its own waits for the supervisor's end of a pipe to close. It restores the modes only if they are
exactly those that the supervisor had set: a shell that restores them itself (bash, zsh and fish do) is never
overruled.
"""

import contextlib
import itertools
import os
import signal
import termios
from typing import Any

from launcher import kernel
from launcher.terminal import alone, relayed

_DONE = b"d"


class Guard:
    """The supervisor's end."""

    def __init__(self, process: int, pipe: int) -> None:
        self._process = process
        self._pipe = pipe

    def dismiss(self) -> None:
        """The terminal is as it was: nothing is left to do."""
        with contextlib.suppress(OSError):
            os.write(self._pipe, _DONE)
        os.close(self._pipe)
        os.waitpid(self._process, 0)


def post(terminal: int) -> Guard | None:
    """Fork the process, for a terminal whose modes are still the caller's; None if it is no terminal."""
    try:
        saved = termios.tcgetattr(terminal)
    except termios.error:
        return None
    read, write = os.pipe2(os.O_CLOEXEC)
    process = os.fork()
    if process == 0:
        try:
            _wait(terminal, saved, read)
        finally:
            os._exit(0)
    os.close(read)
    return Guard(process, write)


def _wait(terminal: int, saved: list[Any], pipe: int) -> None:
    ours = relayed(saved, alone=alone())
    os.setsid()  # what ends the caller's job does not end us, and a terminal that is not ours stops nobody
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    kernel.set_name("hark-terminal")
    kernel.set_dumpable(dumpable=False)
    for first, last in _gaps(terminal, pipe):
        kernel.close_range(first, last)
    if os.read(pipe, 1) == _DONE:
        return
    with contextlib.suppress(termios.error):
        if termios.tcgetattr(terminal)[:4] == ours[:4]:
            termios.tcsetattr(terminal, termios.TCSANOW, saved)


def _gaps(*kept: int) -> list[tuple[int, int]]:
    """Ranges of descriptors around those that are kept."""
    bounds = [-1, *sorted(set(kept)), (1 << 32) - 1]
    return [(low + 1, high - 1) for low, high in itertools.pairwise(bounds) if low + 1 <= high - 1]
