"""Output that was no terminal when it was recorded, and goes to one now: through a pipe, so that it is none.

Otherwise a program that is run again in front of a reviewer would see another kind of stream, and the agent
would hold the reviewer's terminal. Both outputs share one pipe where both lead to terminals, in their
order.
"""

import contextlib
import os
import threading
from collections.abc import Collection
from typing import Final, Self

_CHUNK: Final = 1 << 16
_JOIN_S: Final = 5.0


class Outlet:
    """One pipe out, from before the fork to the end of the run."""

    def __init__(self, streams: tuple[int, ...], read: int, write: int) -> None:
        self._streams = streams
        self._read = read
        self._write = write
        self._thread = threading.Thread(target=self._copy, name="output", daemon=True)

    @classmethod
    def settle(cls, terminals: Collection[int], owner: tuple[int, int] | None) -> Self | None:
        """Make one for each output that is a terminal and not among `terminals`; None: it is not needed."""
        streams = tuple(number for number in (1, 2) if number not in terminals and os.isatty(number))
        if not streams:
            return None
        read, write = os.pipe2(os.O_CLOEXEC)
        if owner is not None:
            os.fchown(write, *owner)
        return cls(streams, read, write)

    def enter(self) -> None:
        """In the forked child: take the agent's side."""
        for number in self._streams:
            os.dup2(self._write, number, inheritable=True)
        os.close(self._write)
        os.close(self._read)

    def begin(self) -> None:
        """In the supervisor, once the child has its side."""
        os.close(self._write)
        self._thread.start()

    def finish(self) -> None:
        """Wait for what was written last; every process inside is gone. Idempotent."""
        self._thread.join(_JOIN_S)

    def _copy(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._read, _CHUNK):
                while data:
                    data = data[os.write(self._streams[0], data) :]
        os.close(self._read)
