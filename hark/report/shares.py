"""The list of a run's events, made in shares: by processes on the other cores, and by this one when it is free.

What always holds: the list is byte for byte what one process makes, since a share begins with a group of events
and depends on nothing before it. Whoever lists a share reads it for itself and checks that it is what was verified
(`hark.unchanged`). That each share goes on where the one before ended, and that its bytes are those that `chunks`
gave, by their digest, is seen before any of the list is given; a difference ends all. A process that dies takes
nothing with it: what it did not list is listed here, and so is everything where the system gives no process more.

Tasks go through one pipe that all take from, in order; answers come back through a pipe for each process.
"""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from struct import Struct
from tempfile import TemporaryFile
from typing import BinaryIO, Final, NamedTuple, Self

from blake3 import blake3

from hark.bundle.frame import FRAME_OVERHEAD, Frame
from hark.bundle.hashing import ZERO_HASH
from hark.bundle.walk import BundleFile, Chunk
from hark.report.listing import GROUP, write
from hark.unchanged import Unchanged
from hark.verify.parallel import forked

EVENTS: Final = 20 * GROUP  # of a share: a twentieth of a second
MAX_SHARES: Final = 500  # their tasks fit into the smallest pipe, 4096 bytes
_TASK: Final = Struct(">Q")
_ANSWER: Final = Struct(">QQQ32s32s32s")
_PIECE: Final = 1 << 18


class Share(NamedTuple):
    """The markup of one share, as bytes of a file, and which frames it was made from."""

    file: BinaryIO
    at: int
    size: int
    digest: bytes
    begins: bytes
    """The chain value before the first of them, and behind the last."""
    ends: bytes


class Marks:
    """Notes the byte where each share begins and the digest of its frames, while a bundle is read."""

    def __init__(self, size: int) -> None:
        self.places: list[int] = []
        self.digests: list[bytes] = []
        self._size = size
        self._room = 0
        self._hasher = blake3()

    def add(self, chunk: Chunk) -> None:
        """Take the next frames."""
        begin, count = 0, len(chunk.starts)
        while begin < count:
            if not self._room:
                self.finish()
                self.places.append(chunk.at + chunk.starts[begin])
                self._room = self._size
            end = min(count, begin + self._room)
            until = chunk.starts[end - 1] + FRAME_OVERHEAD + chunk.heads[end - 1][0]
            self._hasher.update(chunk.data[chunk.starts[begin] : until])
            self._room -= end - begin
            begin = end

    def finish(self) -> None:
        """End the share that was begun last."""
        if len(self.digests) < len(self.places):
            self.digests.append(self._hasher.digest())
            self._hasher = blake3()


class _Reading:
    """Checks the frames of a share, which begins with that event, while they are read."""

    def __init__(self, bundle: Unchanged, first: int) -> None:
        self._bundle, self._first = bundle, first
        self._hasher, self._begins, self._ends = blake3(), b"", b""

    def frames(self, walk: Iterable[Chunk]) -> Iterator[Frame]:
        """Yield the frames. Raises ReplayError at a chunk with one that is none of the verified ones."""
        span = None
        for chunk in walk:
            if span is None:
                self._begins = chunk.heads[0][-1]
                span = self._bundle.span(self._first, self._begins)
            span.add(chunk)
            self._hasher.update(chunk.data[: chunk.size])
            yield from chunk.frames()
        self._ends = b"" if span is None else span.end()

    def end(self) -> tuple[bytes, bytes, bytes]:
        """Return the digest of what was read, and the chain values before and behind it."""
        return self._hasher.digest(), self._begins, self._ends


class Shares:
    """The shares of a list. Processes that are still at work at the end of the `with` are stopped.

    `files` keeps what is written to.
    """

    def __init__(self, bundle: Unchanged, name: str, events: int, files: ExitStack) -> None:
        self._bundle, self._name, self._events, self._files = bundle, name, events, files
        self._size = max(EVENTS, -(-events // MAX_SHARES // GROUP) * GROUP)
        self._marks = Marks(self._size)
        self._own = files.enter_context(TemporaryFile())  # noqa: SIM115 (the stack closes it)
        self._workers: dict[int, tuple[BinaryIO, BinaryIO]] = {}
        self._take = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._take >= 0:
            os.close(self._take)
        for pid, (answers, _) in self._workers.items():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            answers.close()

    def start(self, workers: int) -> None:
        """Fork so many processes, or fewer where there are no more to be had."""
        with suppress(OSError):
            self._take = self._given()
            for _ in range(workers):
                self._fork()

    def _given(self) -> int:
        """Return the end of a pipe that all tasks are in."""
        take, give = os.pipe()
        os.set_blocking(give, False)
        with suppress(BlockingIOError):  # what has no room there is listed at the end
            for number in range(-(-self._events // self._size)):
                os.write(give, _TASK.pack(number))
        os.close(give)
        return take

    def chunks(self) -> Iterator[Chunk]:
        """Yield the bundle's frames, and note what shares they are: `listed` has the word on whether they are those
        that were verified. Raises ReplayError where that shows already.
        """
        for chunk in self._bundle.skimmed():
            self._marks.add(chunk)
            yield chunk
        self._marks.finish()

    def listed(self) -> Iterator[bytes]:
        """List what is left once `chunks` are read, and yield all of the list. Raises ReplayError likewise."""
        with self._bundle.opened() as file:
            shares = {number: self._list(file, number, self._own) for number in self._tasks()}
            for answers, out in self._workers.values():
                shares |= _answered(answers, out)
            for number in range(len(self._marks.places)):
                if number not in shares:
                    shares[number] = self._list(file, number, self._own)
        whole = [shares[number] for number in range(len(self._marks.digests))]
        self._join(whole)
        return _pieces(whole)

    def _join(self, shares: list[Share]) -> None:
        """Raise ReplayError unless these frames, one share behind the other, are the verified ones."""
        chain = ZERO_HASH
        for share, digest in zip(shares, self._marks.digests, strict=True):
            if share.begins != chain or share.digest != digest:
                raise self._bundle.changed()
            chain = share.ends
        self._bundle.ends(chain)

    def _tasks(self) -> Iterator[int]:
        while self._take >= 0 and len(task := os.read(self._take, _TASK.size)) == _TASK.size:
            yield _TASK.unpack(task)[0]

    def _list(self, file: BundleFile, number: int, out: BinaryIO, at: int | None = None) -> Share:
        first = number * self._size
        walk = file.walk(
            self._marks.places[number] if at is None else at, min(self._size, self._events - first)
        )
        reading, begin = _Reading(self._bundle, first), out.tell()
        write(out, reading.frames(walk), self._name, self._events, first)
        return Share(out, begin, out.tell() - begin, *reading.end())

    def _fork(self) -> None:
        out = self._files.enter_context(TemporaryFile())  # noqa: SIM115
        pid, answers = forked(partial(self._work, out))
        self._workers[pid] = os.fdopen(answers, "rb"), out

    def _work(self, out: BinaryIO, answer: int) -> None:
        """What another process does, until there are no tasks left."""
        with self._bundle.opened() as file:
            at, before = file.first, 0
            for number in self._tasks():
                walk = file.walk(at, number * self._size - before)
                for _ in walk:  # what others list
                    pass
                at, before = walk.at, number * self._size
                share = self._list(file, number, out, at)
                out.flush()
                os.write(answer, _ANSWER.pack(number, *share[1:]))


def _answered(answers: BinaryIO, out: BinaryIO) -> dict[int, Share]:
    """Return what a process listed; an answer that breaks off ends it."""
    shares = {}
    while len(answer := answers.read(_ANSWER.size)) == _ANSWER.size:
        number, *share = _ANSWER.unpack(answer)
        shares[number] = Share(out, *share)
    return shares


def _pieces(shares: list[Share]) -> Iterator[bytes]:
    for share in shares:
        share.file.seek(share.at)
        left = share.size
        while left and (piece := share.file.read(min(left, _PIECE))):
            yield piece
            left -= len(piece)
