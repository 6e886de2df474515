"""Walking through a bundle file: preamble, chunks of whole frames, and what the frames end with.

What always holds: lengths are checked before anything is read for them; no more than `CHUNK` bytes, or the
one frame that is larger, are held at a time; a file that grows or shrinks meanwhile is read as far as it
reached when it was opened. Hashes and sequence numbers are not looked at here: `hark.verify` does that.
"""

import os
from collections.abc import Iterator
from typing import Final, NamedTuple, Self

from hark.bundle.frame import (
    FOOTER_SENTINEL,
    FRAME_HEAD,
    FRAME_OVERHEAD,
    LENGTH,
    MAGIC,
    MAX_PAYLOAD,
    Frame,
    check_length,
)
from hark.bundle.hashing import HASH_SIZE
from hark.bundle.header import Header, decode_header
from hark.bundle.regular import open_regular
from hark.errors import BundleError, TruncatedError

CHUNK: Final = 1 << 18  # reading in larger pieces gains nothing beside hashing, and leaves the cache
_BODY: Final = FRAME_HEAD.size

type Head = tuple[int, int, int, int, bytes]
"""A frame's head as `FRAME_HEAD` unpacks it: length, kind, seq, time, chain value before."""

AT_FOOTER: Final = "footer"
AT_END: Final = "end"
IN_FRAME: Final = "cut"
AT_CLAIM: Final = "claim"
"""Why a walk ended: at the footer sentinel, with the file, inside a frame, at a forbidden length."""


class Chunk(NamedTuple):
    """Whole frames: `heads[i]` starts at `data[starts[i]]`, which is byte `at + starts[i]` of the file."""

    at: int
    data: bytes
    starts: list[int]
    heads: list[Head]

    @property
    def size(self) -> int:
        """How many bytes of `data` they take."""
        return self.starts[-1] + FRAME_OVERHEAD + self.heads[-1][0]

    def frames(self) -> Iterator[Frame]:
        """Yield the frames. Nothing about them is verified."""
        for start, head in zip(self.starts, self.heads, strict=True):
            yield _frame(self.data, start, head)

    def frame(self, index: int) -> Frame:
        """Return one of them."""
        return _frame(self.data, self.starts[index], self.heads[index])


class Placed(NamedTuple):
    """A frame and the byte of the file where it starts."""

    offset: int
    frame: Frame


class BundleFile:
    """A bundle opened for reading, its header read. Closes itself at the end of a `with`."""

    def __init__(self, path: str) -> None:
        self.path: Final = path
        try:
            self.fd = open_regular(path)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise BundleError(f"cannot open the bundle {path}: {getattr(error, 'strerror', error)}") from None
        try:
            self.size = os.fstat(self.fd).st_size
            self.header_bytes: Final = self._preamble()
            self.first: Final = len(MAGIC) + LENGTH.size + len(self.header_bytes)
            """Where the first frame starts."""
            self.header: Final[Header] = decode_header(self.header_bytes)
        except BaseException:
            self.close()
            raise

    def _preamble(self) -> bytes:
        magic = self.read(0, len(MAGIC))
        if not magic:
            raise BundleError(f"{self.path} is not a bundle: it is empty")
        if not MAGIC.startswith(magic):
            if magic.startswith(MAGIC[:4]):
                raise BundleError(f"{self.path} is a bundle of version {magic[4]}; this hark reads version 1")
            raise BundleError(f"{self.path} is not a bundle: it does not begin with HARK")
        if len(magic) < len(MAGIC) or (data := self._block(len(MAGIC), "header")) is None:
            raise TruncatedError(f"{self.path} ends inside its header: nothing in it can be checked")
        return data

    def _block(self, at: int, what: str) -> bytes | None:
        """The length-prefixed block at `at`, None if the file ends inside it."""
        prefix = self.read(at, LENGTH.size)
        if len(prefix) < LENGTH.size:
            return None
        length: int = LENGTH.unpack(prefix)[0]
        check_length(length, f"{self.path}: the {what}")
        data = self.read(at + LENGTH.size, length)
        return data if len(data) == length else None

    def footer_block(self, at: int) -> bytes | None:
        """The CBOR of the footer whose sentinel is at `at`, None if the file ends inside it."""
        return self._block(at + LENGTH.size, "footer")

    def read(self, at: int, size: int) -> bytes:
        """`size` bytes from `at`, fewer only where the file (as it was when opened) ends."""
        size = max(0, min(size, self.size - at))
        try:
            data = os.pread(self.fd, size, at)
            while len(data) < size and (more := os.pread(self.fd, size - len(data), at + len(data))):
                data += more
        except OSError as error:  # a directory, a disk that fails
            raise BundleError(f"cannot read the bundle {self.path}: {error.strerror}") from None
        return data

    def walk(self, at: int | None = None, limit: int | None = None) -> "Walk":
        """Walk over the frames from byte `at` on (the first unless given), at most `limit` of them."""
        return Walk(self, self.first if at is None else at, limit)

    def frames(self, at: int | None = None) -> Iterator[Placed]:
        """Every whole frame from byte `at` on, one by one. Nothing about them is verified."""
        for chunk in self.walk(at):
            for start, frame in zip(chunk.starts, chunk.frames(), strict=True):
                yield Placed(chunk.at + start, frame)

    def frame_at(self, at: int) -> Frame:
        """The frame that starts at byte `at`, which a walk has found to be whole."""
        for placed in self.frames(at):
            return placed.frame
        raise BundleError(f"{self.path} has changed while it was read: no frame at byte {at} any more")

    def close(self) -> None:
        """Let the file go; again is harmless."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Walk:
    """Iterate over chunks; afterwards `at` and `end` say where and why the frames ended."""

    def __init__(self, file: BundleFile, at: int, limit: int | None) -> None:
        self._file = file
        self.at = at
        self.count = 0
        self.end: str | None = None
        """None while the walk goes on, and after `limit` frames."""
        self.claim = 0
        """The length that was refused, if `end` is AT_CLAIM."""
        self._limit = limit

    def __iter__(self) -> Iterator[Chunk]:
        want = CHUNK
        while self.end is None and self.count != self._limit:
            data = self._file.read(self.at, want)
            starts, heads, need = self._frames_in(data)
            if not starts:
                if self.end is None and len(data) < need:
                    if len(data) < want or self.at + len(data) >= self._file.size:
                        self.end = IN_FRAME if data else AT_END
                    want = max(need, CHUNK)
                continue
            want = CHUNK
            chunk = Chunk(self.at, data, starts, heads)
            self.at += chunk.size
            self.count += len(starts)
            yield chunk

    def _frames_in(self, data: bytes) -> tuple[list[int], list[Head], int]:
        """The whole frames at the beginning of `data`, and how many bytes the next one takes."""
        starts: list[int] = []
        heads: list[Head] = []
        size, position, need = len(data), 0, FRAME_OVERHEAD
        room = -1 if self._limit is None else self._limit - self.count
        unpack = FRAME_HEAD.unpack_from
        while len(starts) != room:
            if size - position < _BODY:
                self._look_at_length(data, position, last=not starts)
                break
            head: Head = unpack(data, position)
            if head[0] > MAX_PAYLOAD:
                self._look_at_length(data, position, last=not starts)
                break
            need = FRAME_OVERHEAD + head[0]
            if size - position < need:
                break
            starts.append(position)
            heads.append(head)
            position += need
        return starts, heads, need

    def _look_at_length(self, data: bytes, position: int, *, last: bool) -> None:
        """See whether a length that is no frame's ends the walk, once all before it is taken."""
        if not last or len(data) - position < LENGTH.size:
            return
        length: int = LENGTH.unpack_from(data, position)[0]
        if length == FOOTER_SENTINEL:
            self.end = AT_FOOTER
        elif length > MAX_PAYLOAD:
            self.end, self.claim = AT_CLAIM, length


def _frame(data: bytes, start: int, head: Head) -> Frame:
    length, kind, seq, time, chain = head
    body = start + _BODY
    end = body + length
    return Frame(kind, seq, time, chain, data[body:end], data[end : end + HASH_SIZE])
