"""Passes recorded input on while an agent runs again: each piece when its turn has come, recorded first.

A piece of standard input is not asked for before the agent has read the one before it, as when it was
recorded. An agent that listens no more gets no more. This runs in a thread of its own, because a turn may be
long in coming while the terminal's output goes on.
"""

import fcntl
import os
import select
import threading
from typing import Final

from launcher.intake import Record
from launcher.played import Piece, Played, resize

TIOCGPTPEER: Final = 0x5441  # asm-generic/ioctls.h
END_OF_TYPING: Final = b"\x04"  # VEOF of a new terminal; programs that read it raw take it likewise
_JOIN_S: Final = 1.0  # a turn that does not come back must not keep a run from its end


class Feeder:
    """One run's input."""

    def __init__(self, played: Played, record: Record, *, feed: int | None, master: int | None) -> None:
        """`feed` and `master`, our ends of the agent's pipe and of its terminal, are closed here."""
        self._played = played
        self._record = record
        self._feed = feed
        self._master = master
        self._stop = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread = threading.Thread(target=self._run, name="input", daemon=True)

    def start(self) -> None:
        """Begin to ask for turns."""
        self._thread.start()

    def stop(self) -> None:
        """The agent reads no more."""
        os.eventfd_write(self._stop, 1)
        if self._thread.ident is not None:
            self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            self._close()
            os.close(self._stop)

    def _run(self) -> None:
        for piece in self._played.later:
            if not self._is_wanted(piece):
                continue
            if self._stopped() or not self._played.turn(piece.seq) or self._stopped():
                self._end_typing()
                break
            if not self._record(piece.source, piece.data, piece.end):
                break
            self._pass(piece)
        else:
            return
        self._close_feed()

    def _end_typing(self) -> None:
        """Say at the agent's terminal that nothing more is typed, where that is asked for."""
        if not self._played.ends or self._master is None or self._stopped():
            return
        if self._record("terminal", END_OF_TYPING, False):  # noqa: FBT003
            self._pass(Piece(-1, "terminal", END_OF_TYPING, end=False))

    def _is_wanted(self, piece: Piece) -> bool:
        """Wait until the agent can take a piece; False if it cannot, ever."""
        if piece.source != "stdin":
            return self._master is not None
        return self._feed is not None and self._writable(self._feed)

    def _pass(self, piece: Piece) -> None:
        try:
            if piece.source == "terminal-size" and self._master is not None:
                resize(self._master, piece.data)
            elif piece.source == "stdin" and piece.end:
                self._close_feed()
            else:
                self._write(self._feed if piece.source == "stdin" else self._master, piece.data)
                self._arrive(piece)
        except OSError:
            return  # the other end is gone

    def _write(self, target: int | None, data: bytes) -> None:
        while target is not None and data and self._writable(target):
            try:
                data = data[os.write(target, data) :]
            except BlockingIOError:
                continue

    def _arrive(self, piece: Piece) -> None:
        """Wait until what was typed has woken whoever reads it.

        The kernel passes it on in a thread of its own, later on a busy machine. Until then the agent looks as
        if it had nothing to do, and would get the next piece before it has asked for it. To poll the
        terminal's other side has that thread's work done, unless there is what was not read yet.
        """
        if piece.source != "terminal" or self._master is None:
            return
        side = fcntl.ioctl(self._master, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            select.select([side], [], [], 0)
        finally:
            os.close(side)

    def _writable(self, target: int) -> bool:
        """Wait for room; False where nobody listens any more or the run is over."""
        poll = select.poll()
        poll.register(target, select.POLLOUT)
        poll.register(self._stop, select.POLLIN)
        ready = dict(poll.poll())
        return self._stop not in ready and not ready[target] & (select.POLLERR | select.POLLHUP)

    def _stopped(self) -> bool:
        return bool(select.select([self._stop], [], [], 0)[0])

    def _close_feed(self) -> None:
        feed, self._feed = self._feed, None
        if feed is not None:
            os.close(feed)

    def _close(self) -> None:
        self._close_feed()
        master, self._master = self._master, None
        if master is not None:
            os.close(master)
