"""Carries standard input into the agent's pipe, piece by piece, each recorded before the agent can read it.

Always: from the caller's pipe or socket is taken only what the agent has read, so whoever shares it with us
(the loop of a shell that reads the next line) finds the rest, as without hark. For that a piece is looked at
where it lies, put into a pipe that holds one page, and taken when that pipe is empty again. A device gives no
way to look: what is read ahead of it is lost at the end.

A writer that the agent no longer listens to is told as by the agent: once the last reader inside is gone, our
descriptor of its pipe is too. The end of the input waits a moment for a signal that came with it, because
Ctrl-C ends the writer of a pipeline as well as its reader.
"""

import contextlib
import fcntl
import os
import select
import socket
import stat
import struct
import termios
import time
from collections.abc import Callable
from typing import Final, Protocol

from launcher.intake import Record

SIGNAL_FIRST_S: Final = 0.2
"""How long after a signal the end of the input is held back: process 1 has to pass the signal on."""


class Source(Protocol):
    """Where input is read from."""

    def look(self, size: int) -> bytes | None:
        """What comes next, at most `size` bytes; nothing at the end, None if there is nothing yet."""
        ...

    def take(self, size: int) -> None:
        """Remove the first `size` bytes of what was looked at."""
        ...

    def close(self) -> None:
        """Give back everything but the descriptor itself."""
        ...


class Pump:
    """Standard input of one run. Used from one thread, the one that waits for the agent."""

    def __init__(
        self,
        feed: int,
        record: Record,
        source: Source | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._feed: int | None = feed
        self._record = record
        self._source = source or open_source(0)
        self._now = now
        self._page = min(fcntl.fcntl(feed, fcntl.F_GETPIPE_SZ), 1 << 16)
        self._offered = 0
        """Bytes in the agent's pipe that are still in the source."""
        self._ending = False
        self._hold_until = 0.0

    def hold_end(self) -> None:
        """A signal was passed on: it should be there before an end that came with it."""
        self._hold_until = self._now() + SIGNAL_FIRST_S

    def register(self, poll: select.poll) -> int | None:
        """Say what to wait for now; the answer is a time-out in milliseconds."""
        if self._feed is None:
            return None
        poll.register(self._feed, select.POLLOUT if self._offered else 0)
        if self._ending:
            return max(0, int((self._hold_until - self._now()) * 1000) + 1)
        if not self._offered:
            poll.register(0, select.POLLIN)
        return None

    def serve(self, ready: dict[int, int]) -> None:
        """Move what can be moved."""
        if self._feed is None:
            return
        state = ready.get(self._feed, 0)
        if state & select.POLLERR:
            self.stop()
            abandon_input()
        elif self._ending:
            self._end()
        elif self._offered and state & select.POLLOUT:
            self._source.take(self._offered)
            self._offered = 0
        elif not self._offered and 0 in ready:
            self._offer()

    def _offer(self) -> None:
        piece = self._source.look(self._page)
        if piece is None:
            return
        if not piece:
            self._ending = True  # not at once: signals are heard first
            return
        if not self._record("stdin", piece, False):  # noqa: FBT003
            self._close()
            return
        if self._feed is not None:
            # Taken whole, since the pipe is empty; or the last reader went, and the next poll says so.
            with contextlib.suppress(OSError):
                self._offered = os.write(self._feed, piece)

    def _end(self) -> None:
        if self._now() >= self._hold_until:
            self._record("stdin", b"", True)  # noqa: FBT003
            self._close()

    def stop(self) -> None:
        """The agent reads no more: leave in the source what it has not read. Idempotent."""
        if self._feed is None:
            return
        unread = bytearray(4)
        fcntl.ioctl(self._feed, termios.FIONREAD, unread)
        consumed = self._offered - struct.unpack("i", unread)[0]
        if consumed > 0:
            self._source.take(consumed)
        self._close()

    def _close(self) -> None:
        if self._feed is not None:
            os.close(self._feed)
            self._feed = None
            self._source.close()


def abandon_input() -> None:
    """Let go of the caller's standard input, so that its writer learns that nobody reads it."""
    empty = os.open("/dev/null", os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)


def open_source(descriptor: int) -> Source:
    """The way to read from `descriptor` that takes away as little as possible."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        return _Socket(descriptor)
    return _Pipe(descriptor) if stat.S_ISFIFO(mode) else _Device(descriptor)


class _Device:
    """What can only be read."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def look(self, size: int) -> bytes | None:
        try:
            return os.read(self._descriptor, size)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def take(self, size: int) -> None:
        """It is taken already."""

    def close(self) -> None:
        """There is nothing."""


class _Socket:
    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)

    def look(self, size: int) -> bytes | None:
        try:
            return self._socket.recv(size, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def take(self, size: int) -> None:
        with contextlib.suppress(OSError):
            self._socket.recv(size, socket.MSG_DONTWAIT)

    def close(self) -> None:
        self._socket.detach()


class _Pipe(_Device):
    """Looked at by tee(2), which leaves what it copies."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        from launcher import kernel  # it brings ctypes, which a run without a pipe is spared

        self._tee = kernel.tee
        self._copy_read, self._copy_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def look(self, size: int) -> bytes | None:
        try:
            count = self._tee(self._descriptor, self._copy_write, size)
        except BlockingIOError:
            return None
        except OSError:
            return b""
        data = b""
        while len(data) < count:
            data += os.read(self._copy_read, count - len(data))
        return data

    def take(self, size: int) -> None:
        ready = select.poll()
        ready.register(self._descriptor, select.POLLIN)
        # Somebody who reads the same pipe may have been faster: this must not wait for what he took.
        while size > 0 and ready.poll(0):
            got = len(super().look(size) or b"")
            if not got:
                return
            size -= got

    def close(self) -> None:
        os.close(self._copy_read)
        os.close(self._copy_write)
