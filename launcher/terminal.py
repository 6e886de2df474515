"""The caller's terminal on one side, the agent's private one on the other, and the bytes between them.

Always holds: whatever happens in between, `leave` puts the caller's terminal back as it was. While the
caller's shell has us in the background, nothing is read and no mode is changed: both would stop us. The
agent never holds the caller's terminal itself, on whichever stream it is: from a session that the terminal
does not belong to it could read what is typed at the caller's shell.

Where standard output is not the terminal, another program of a pipeline may write to it and wants to be
interrupted too: its signals and its output processing then stay the caller's.
"""

import contextlib
import fcntl
import os
import select
import struct
import termios
import tty
from typing import Any, Final

from launcher.intake import Record, unrecorded
from launcher.played import Played, resize
from launcher.sobering import Sober

_CHUNK: Final = 1 << 16
_MAX_PENDING: Final = 1 << 16  # typed input the agent has not read yet; beyond it the caller's terminal waits
_BACKGROUND_CHECK_MS: Final = 500  # a shell's fg does not always send SIGCONT to a running job


def alone() -> bool:
    """Whether the terminal is the agent's alone while it runs: input and output, no pipeline."""
    return os.isatty(0) and os.isatty(1)


def relayed(modes: list[Any], *, alone: bool) -> list[Any]:
    """The modes of the caller's terminal while it is relayed, made of those that it had."""
    raw = [*modes[:6], list(modes[6])]
    tty.cfmakeraw(raw)
    if not alone:
        raw[1] |= modes[1] & termios.OPOST
        raw[3] |= modes[3] & termios.ISIG
    return raw


class Relay:
    """Relays one terminal. Used from one thread, the one that waits for the agent."""

    def __init__(self, master: int, record: Record = unrecorded, played: Played | None = None) -> None:
        os.set_blocking(master, False)
        self._record = record
        self._size = b""
        self._master = master
        self._input = 0 if os.isatty(0) else None
        self._output = next((descriptor for descriptor in (1, 2, 0) if os.isatty(descriptor)), 1)
        self._alone = alone()
        self._size_from = next((descriptor for descriptor in range(3) if os.isatty(descriptor)), None)
        if played is not None:
            # Nothing is typed here, and how large the terminal is the recording says.
            self._input, self._size_from = None, None
            self._output = next((number for number in (1, 2) if number in played.terminals), 1)
            if self._sized(played.size):
                resize(master, played.size)
        self._saved: list[Any] | None = None
        self._pending = b""
        self._sober = Sober()
        self._copy_modes()

    def _copy_modes(self) -> None:
        if self._size_from is None:
            return
        modes = termios.tcgetattr(self._size_from)
        if self._input is None or not self._alone:
            modes[1] &= ~termios.OPOST  # the caller's terminal adds its own returns
        termios.tcsetattr(self._master, termios.TCSANOW, modes)
        self.resize()

    def resize(self) -> None:
        """Give the agent's terminal the size of the caller's; the kernel tells the agent."""
        if self._size_from is not None:
            with contextlib.suppress(OSError):
                size = fcntl.ioctl(self._size_from, termios.TIOCGWINSZ, bytes(8))
                if self._sized(b"%dx%d" % struct.unpack("HHHH", size)[:2]):
                    fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)

    def _sized(self, size: bytes) -> bool:
        """Record rows and columns where they changed; False if they may not be passed on."""
        before, self._size = self._size, size
        return size == before or self._record("terminal-size", size, False)  # noqa: FBT003

    def _foreground(self) -> bool:
        if self._input is None:
            return False
        try:
            return os.tcgetpgrp(self._input) == os.getpgrp()
        except OSError:
            return False

    def enter(self) -> None:
        """Make the caller's terminal raw, if it is ours at the moment."""
        if self._saved is None and self._input is not None and self._foreground():
            saved = termios.tcgetattr(self._input)
            termios.tcsetattr(self._input, termios.TCSADRAIN, relayed(saved, alone=self._alone))
            self._saved = saved
            self.resize()

    def leave(self) -> None:
        """Put the caller's terminal back as it was."""
        if self._saved is not None and self._input is not None:
            saved, self._saved = self._saved, None
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._input, termios.TCSADRAIN, saved)

    def register(self, poll: select.poll) -> int | None:
        """Say what to wait for now; the answer is a time-out in milliseconds."""
        poll.register(self._master, select.POLLIN | (select.POLLOUT if self._pending else 0))
        if self._input is None:
            return None
        if self._saved is None:
            self.enter()
        if self._saved is not None and len(self._pending) < _MAX_PENDING:
            poll.register(self._input, select.POLLIN)
        return None if self._saved is not None else _BACKGROUND_CHECK_MS

    def serve(self, ready: dict[int, int]) -> None:
        """Move what can be moved."""
        if self._input is not None and self._input in ready and self._saved is not None:
            self._read_input(self._input)
        if self._pending:
            self._write_pending()
        if ready.get(self._master, 0) & (select.POLLIN | select.POLLHUP):
            self._read_output()

    def _read_input(self, source: int) -> None:
        try:
            data = os.read(source, _CHUNK)
        except BlockingIOError:
            return  # somebody else who reads this terminal was faster
        except OSError:
            data = b""
        if data and self._record("terminal", data, False):  # noqa: FBT003
            self._pending += data
        else:
            if not data:
                self._record("terminal", b"", True)  # noqa: FBT003
            self.leave()
            self._input = None  # hung up: nobody types any more

    def _write_pending(self) -> None:
        try:
            written = os.write(self._master, self._pending)
        except BlockingIOError:
            return
        except OSError:
            written = len(self._pending)
        self._pending = self._pending[written:]

    def _read_output(self) -> bool:
        try:
            data = os.read(self._master, _CHUNK)
        except OSError:
            return False  # nothing there, or every process inside has closed it
        self._sober.see(data)
        return self._write_output(data)

    def _write_output(self, data: bytes) -> bool:
        while data:
            try:
                data = data[os.write(self._output, data) :]
            except BlockingIOError:
                _await_room(self._output)
            except OSError:
                return False
        return True

    def drain(self) -> None:
        """Pass on what the agent wrote last; every process inside is gone. What is said next is seen."""
        while self._read_output():
            pass
        self._write_output(self._sober.ending())

    def close(self) -> None:
        """Give the terminal back and let go of the agent's."""
        self.leave()
        os.close(self._master)


def _await_room(output: int) -> None:
    """Wait as a blocking write would: the caller, or a program beside us, may have made its terminal
    non-blocking, and that holds for everybody who has it open."""
    poll = select.poll()
    poll.register(output, select.POLLOUT)
    poll.poll()
