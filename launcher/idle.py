"""Whether an agent has nothing more to do: looked up from the host, in /proc, below the run's process 1.

Always: an agent is idle only where two looks, one right after the other, find the same threads, none of them
running or waiting for a disk, and none having run between the looks: one that wakes another and sleeps itself
is seen by the time that they ran. What cannot be read counts as busy, but an agent that has ended is idle.
A look costs some microseconds a thread; of more than `MAX_THREADS` none is taken, and the agent is busy.

How long its threads have waited for a processor is told too: on a busy machine the same work takes longer
than it did when it was recorded.

Not done here: telling who wakes by himself later (a sleep, a timer): whoever asks waits no longer than the
recording did.
"""

import os
from typing import Final

MAX_THREADS: Final = 2000
"""Of an agent that is looked at: a look at so many takes tens of milliseconds."""
_RUNNING: Final = frozenset(b"RD")  # proc(5): running or runnable, and waiting uninterruptibly


class _BusyError(Exception):
    """A thread runs, or there are too many to look at."""


class Idle:
    """Looks at one process and all that descend from it, but for `but`. `proc` is where /proc is."""

    def __init__(self, pid: int, proc: str = "/proc", *, but: int = 0) -> None:
        self._pid = pid
        self._proc = proc
        self._but = str(but)

    def __call__(self) -> bool:
        """Tell whether nothing runs."""
        try:
            first = self._look()
            return first == self._look()
        except _BusyError:
            return False

    def starved(self) -> float:
        """Seconds that the threads which live now have waited for a processor, added up; 0 if unknown."""
        try:
            return sum(int(times.split()[1]) for times in self._look(running=True).values()) / 1e9
        except (_BusyError, ValueError, IndexError):
            return 0.0

    def _look(self, *, running: bool = False) -> dict[str, bytes]:
        """Return what each thread's times are: on a processor, and waiting for one.

        Raises _BusyError where one runs, unless `running`.
        """
        seen: dict[str, bytes] = {}
        waiting = [str(self._pid)]
        while waiting:
            process = waiting.pop()
            if process == self._but:
                continue
            tasks = f"{self._proc}/{process}/task"
            try:
                threads = os.listdir(tasks)
            except OSError:
                continue  # it has ended
            if len(seen) + len(threads) > MAX_THREADS:
                raise _BusyError
            for thread in threads:
                waiting += self._thread(f"{tasks}/{thread}", thread, seen, running=running)
        return seen

    def _thread(self, folder: str, thread: str, seen: dict[str, bytes], *, running: bool) -> list[str]:
        """Look at one thread and return the processes that it made."""
        try:
            state = _read(f"{folder}/stat")
            if not running and state[state.rindex(b")") + 2] in _RUNNING:
                raise _BusyError
            seen[thread] = _read(f"{folder}/schedstat")
            return _read(f"{folder}/children").decode().split()
        except OSError:
            return []  # it has ended meanwhile: the second look finds another set
        except (ValueError, IndexError):
            raise _BusyError from None


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)
