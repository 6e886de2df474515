"""Output that the agent must not hold itself, passed on through a pipe: to a file, a socket, a terminal.

Whoever holds an open file description can seek in it, cut what was written before, take `O_APPEND` off, set
`O_DIRECT` or shut a socket down, and all of that would hold for whatever hark says next. So of a file or
socket of the caller's the agent never holds the description. Nor of a terminal, where output that was none
when it was recorded goes to one now: a program that is run again would see another kind of stream, and hold
the reviewer's terminal. Outputs that lead to one place share one pipe, in their order. A pipe of the caller's
stays: its flags alone can be changed, and they are put back at the end.

What cannot be written ends the pipe, so that the agent is told by SIGPIPE or EPIPE; `problem` says why. An
agent that was told nothing when it was recorded is told nothing in its replay: every pipe is read to its end.
"""

import contextlib
import fcntl
import os
import select
import stat
import threading
from collections.abc import Collection
from typing import Final, Self

from launcher.sobering import Sober

_CHUNK: Final = 1 << 16
_JOIN_S: Final = 5.0  # a terminal that is held (Ctrl-S) must not keep a run from its end


class Outlet:
    """All pipes out, from before the fork to the end of the run."""

    def __init__(self, ways: list["_Way"]) -> None:
        self._ways = ways
        self._flags = {number: fcntl.fcntl(number, fcntl.F_GETFL) for number in _kept(ways)}

    @classmethod
    def settle(
        cls,
        terminals: Collection[int] | None,
        owner: tuple[int, int] | None,
        ceiling: int | None = None,
        *,
        to_the_end: bool = False,
    ) -> Self:
        """Make a pipe for each place that outputs lead to and the agent must not hold. Raises OSError.

        The streams among `terminals` are the agent's own terminal (None: all that are terminals); `owner`
        (uid, gid) may open the pipes anew; no file is written to beyond `ceiling` bytes. With `to_the_end`
        the agent is not told of readers that leave.
        """
        own = [number for number in (1, 2) if os.isatty(number)] if terminals is None else terminals
        places: dict[object, list[int]] = {}
        for number in (1, 2):
            if number not in own and (place := _place(number, pipes=to_the_end)) is not None:
                places.setdefault(place, []).append(number)
        ways = [_Way(tuple(streams), owner, ceiling, to_the_end) for streams in places.values()]
        return cls(ways)

    def enter(self) -> None:
        """In the forked child: take the agent's side."""
        for way in self._ways:
            way.enter()

    def leave(self) -> None:
        """In the supervisor, once the child has its side: let go of it."""
        for way in self._ways:
            way.leave()

    def begin(self) -> None:
        """Start to pass on. Threads, so not before whatever needs a process of one thread."""
        for way in self._ways:
            way.begin()

    def finish(self) -> None:
        """Wait for what was written last; every process inside is gone. Idempotent."""
        for way in self._ways:
            way.finish()
        for number, flags in self._flags.items():
            fcntl.fcntl(number, fcntl.F_SETFL, flags)

    def close(self) -> None:
        """Let go of the pipes where there is no child."""
        for way in self._ways:
            way.close()

    @property
    def problem(self) -> str | None:
        """Why something that the agent wrote is not where it should be."""
        return next((way.problem for way in self._ways if way.problem is not None), None)

    @property
    def full(self) -> bool:
        """Whether a file reached the ceiling."""
        return any(way.full for way in self._ways)


class _Way:
    """One pipe and the thread that empties it."""

    def __init__(
        self,
        streams: tuple[int, ...],
        owner: tuple[int, int] | None,
        ceiling: int | None,
        to_the_end: bool,  # noqa: FBT001
    ) -> None:
        self.streams = streams
        self._to_the_end = to_the_end
        self._target = streams[0]
        self._patient = not os.isatty(self._target)
        regular = stat.S_ISREG(os.fstat(self._target).st_mode)
        self._ceiling = ceiling if regular else None
        self._watched = not regular
        self._read, self._write = os.pipe2(os.O_CLOEXEC)
        if owner is not None:
            os.fchown(self._write, *owner)
        self._sober = None if self._patient else Sober()
        self._thread = threading.Thread(target=self._copy, name="output", daemon=True)
        self.problem: str | None = None
        self.full = False

    def enter(self) -> None:
        for number in self.streams:
            os.dup2(self._write, number, inheritable=True)
        self.close()

    def leave(self) -> None:
        os.close(self._write)

    def begin(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        if self._thread.ident is None:
            self._thread.start()  # nothing began: what is in the pipe is still passed on
        self._thread.join(None if self._patient else _JOIN_S)

    def close(self) -> None:
        os.close(self._write)
        os.close(self._read)

    def _copy(self) -> None:
        try:
            while self._is_heard() and (data := os.read(self._read, _CHUNK)):
                if self._sober is not None:
                    self._sober.see(data)
                room = self._room()
                self.full = len(data) > room
                self._put(data[:room] if self.full else data)
                if self.full:
                    break
            if self._sober is not None:
                self._put(self._sober.ending())
        except ConnectionError:
            pass  # the reader left, as it may; the agent is told
        except OSError as error:
            if not self._patient:
                return  # a terminal that hung up
            name = "standard output" if self._target == 1 else "standard error"
            self.problem = f"{name} cannot be written: {(error.strerror or str(error)).lower()}"
        finally:
            self._drain()
            os.close(self._read)

    def _drain(self) -> None:
        """Take what nobody reads, where the agent is not to be told."""
        with contextlib.suppress(OSError):
            while self._to_the_end and not self.full and os.read(self._read, _CHUNK):
                pass

    def _is_heard(self) -> bool:
        """Wait for something to read; False if the reader leaves meanwhile."""
        if not self._watched:
            return True
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        poll.register(self._target, 0)
        ready = dict(poll.poll())
        return self._read in ready or not ready[self._target]

    def _put(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._target, data) :]
            except BlockingIOError:
                poll = select.poll()
                poll.register(self._target, select.POLLOUT)
                poll.poll()

    def _room(self) -> int:
        """Bytes that still fit below the ceiling."""
        if self._ceiling is None:
            return _CHUNK
        appends = fcntl.fcntl(self._target, fcntl.F_GETFL) & os.O_APPEND
        end = os.fstat(self._target).st_size if appends else os.lseek(self._target, 0, os.SEEK_CUR)
        return max(0, self._ceiling - end)


def _place(number: int, *, pipes: bool) -> object:
    """What an output leads to that the agent must not hold: a terminal, a file, a socket; None otherwise."""
    if os.isatty(number):
        return "terminal"
    status = os.fstat(number)
    held = stat.S_ISREG(status.st_mode) or stat.S_ISSOCK(status.st_mode) or stat.S_ISBLK(status.st_mode)
    held = held or (pipes and stat.S_ISFIFO(status.st_mode))
    return (status.st_dev, status.st_ino) if held else None


def _kept(ways: list[_Way]) -> list[int]:
    """The outputs whose description the agent has as well."""
    passed = {number for way in ways for number in way.streams}
    return [number for number in (1, 2) if number not in passed and not os.isatty(number)]
