"""Scanning a large file with every core: forked workers take segments, the result is that of one scan.

What always holds: every segment is checked by somebody. Segments begin at a multiple of the block size, so
their nodes merge exactly; that one continues the chain of the one before is checked where they are joined.
A worker that dies takes nothing with it: what it did not answer is scanned here. So is everything where the
system gives no process or no descriptor more. Nothing is forked where another thread runs.

Tasks go through one pipe that all read from (a record is far below PIPE_BUF, so it is read whole); what
does not fit into it is left for the caller. Answers come back through a pipe for each worker, so none waits
for another.
"""

import marshal
import os
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from struct import Struct
from typing import Any, BinaryIO, Final, NamedTuple

from hark.bundle.walk import BundleFile
from hark.verify.scan import Fault, Scan, scan_segment

MAX_WORKERS: Final = 15
_TASK: Final = Struct(">QQQ32s")


class Task(NamedTuple):
    """One segment: whole blocks, but for the last segment of a file."""

    offset: int
    seq: int
    frames: int
    chain: bytes
    """Chain value before, as the first frame states it."""


def spare_workers() -> int:
    """How many processes beside this one could work: one for each other core, none if there are threads."""
    try:
        if len(os.listdir("/proc/self/task")) > 1:
            return 0
    except OSError:  # no descriptor is left for it
        return 0
    return min(len(os.sched_getaffinity(0)) - 1, MAX_WORKERS)


def forked(work: Callable[[int], None]) -> tuple[int, int]:
    """Have a new process do this work; return its id, and the descriptor that its answers come from.

    `work` is given the descriptor that they go to. The process leaves without running anybody's clean-up,
    whatever it ends with. Raises OSError where there is none to be had.
    """
    answers, out = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(answers)
        os.close(out)
        raise
    if pid == 0:
        try:
            work(out)
        finally:
            os._exit(0)
    os.close(out)
    return pid, answers


class Pool:
    """Workers over one file. `submit` tasks in order, then take `results` once.

    Raises OSError where there is no pipe to be had; there may be fewer workers than are asked for.
    """

    def __init__(self, file: BundleFile, workers: int) -> None:
        self._file = file
        self._tasks: list[Task] = []
        self._left: list[Task] = []
        self._take, self._give = os.pipe()
        os.set_blocking(self._give, False)
        self._workers: list[tuple[int, int]] = []
        with suppress(OSError):
            for _ in range(workers):
                self._workers.append(forked(self._work))

    def submit(self, offset: int, seq: int, frames: int, chain: bytes) -> None:
        """Have a segment checked by whoever is free; the arguments are those of a `Task`."""
        task = Task(offset, seq, frames, chain)
        self._tasks.append(task)
        try:
            os.write(self._give, _TASK.pack(*task))
        except BlockingIOError:
            self._left.append(task)

    def results(self) -> Iterator[tuple[Task, Scan]]:
        """The segments in order, each checked."""
        os.close(self._give)
        done = {task.seq: self._scan(task) for task in (*self._left, *self._queued())}
        os.close(self._take)
        for pid, answers in self._workers:
            with os.fdopen(answers, "rb") as pipe:
                done.update(_read_answers(pipe))
            os.waitpid(pid, 0)
        for task in self._tasks:
            yield task, done.get(task.seq) or self._scan(task)

    def _queued(self) -> Iterator[Task]:
        while len(record := os.read(self._take, _TASK.size)) == _TASK.size:
            yield Task(*_TASK.unpack(record))

    def _scan(self, task: Task) -> Scan:
        return scan_segment(self._file, task.offset, task.seq, task.frames, task.chain)

    def _work(self, out: int) -> None:
        """What a worker does, until there are no tasks left."""
        os.close(self._give)
        with os.fdopen(out, "wb") as pipe:
            for task in self._queued():
                marshal.dump(_answer(task, self._scan(task)), pipe)


def _answer(task: Task, scan: Scan) -> tuple[Any, ...]:
    fault = None if scan.fault is None else tuple(scan.fault)
    return task.seq, scan.seq, scan.chain, scan.tops, scan.sums, scan.leaves, scan.withheld.tobytes(), fault


def _read_answers(pipe: BinaryIO) -> Iterator[tuple[int, Scan]]:
    """What a worker wrote; a record that breaks off ends it."""
    while True:
        try:
            answer = marshal.load(pipe)  # noqa: S302 - from our own fork, not from a file
        except (EOFError, ValueError, TypeError):
            return
        task, seq, chain, tops, sums, leaves, withheld, fault = answer
        scan = Scan(seq, chain)
        scan.tops, scan.sums, scan.leaves, scan.withheld = tops, sums, leaves, array("Q", withheld)
        scan.fault = None if fault is None else Fault(*fault)
        yield task, scan
