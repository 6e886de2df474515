"""What the agent gets as standard input, settled before the fork, so that all of it can be recorded first.

A pipe, socket or device is pumped (`launcher.pump`): the agent has a pipe of ours. A file is read by the
agent itself, in a sealed copy that can be sought in and opened anew, and that is recorded whole before the
agent starts; when the agent has ended, the caller's file is as far read as its copy. /dev/null and terminals
stay (`launcher.terminal`). What can be had in neither way stays too, unrecorded, and `Kind.OTHER` says so: a
block device, and what can only be written to. A file is never the caller's own, opened for writing as well or
for nothing else: the agent could change what stands in it.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

MAX_COPY: Final = 64 << 20  # bytes of memory; a larger file is pumped
PIECE: Final = 1 << 16  # bytes that one event of a file holds
_SEALS: Final = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_STEP: Final = 1 << 20
_NULL: Final = os.makedev(1, 3)

type Record = Callable[[str, bytes, bool], bool]
"""Record what is about to reach the agent: source, bytes, and whether its end was reached.

MUST return True only once it is recorded. False: it may not be passed on, and the run is being ended.
"""


class Kind(Enum):
    """What a standard stream is to the agent."""

    TERMINAL = "terminal"
    NULL = "null"
    PIPE = "pipe"
    FILE = "file"
    OTHER = "other"


def unrecorded(_source: str, _data: bytes, _end: bool) -> bool:  # noqa: FBT001  (a Record)
    """The Record of a run that keeps none."""
    return True


@dataclass(slots=True)
class Intake:
    """Standard input of one run. The supervisor keeps the caller's as its own descriptor 0."""

    kind: Kind
    inner: int | None = None
    """What the agent's process gets in its place; None: the caller's own."""
    feed: int | None = None
    """Our end of the agent's pipe."""
    said: bytes | None = None
    """The streams in words where they are those of a recorded run; None: as they are here."""

    def enter(self) -> None:
        """In the forked child: take the agent's side."""
        if self.inner is not None:
            os.dup2(self.inner, 0, inheritable=True)
            os.close(self.inner)
        if self.feed is not None:
            os.close(self.feed)

    def leave(self) -> None:
        """In the supervisor, once the child has its side: keep ours alone."""
        if self.kind is Kind.PIPE and self.inner is not None:
            os.close(self.inner)
            self.inner = None

    def give_feed(self) -> int | None:
        """Our end of the agent's pipe, for whoever will close it."""
        feed, self.feed = self.feed, None
        return feed

    def describe(self) -> bytes:
        """The three standard streams in words, as the agent meets them."""
        if self.said is not None:
            return self.said
        out = (Kind.TERMINAL if os.isatty(descriptor) else Kind.OTHER for descriptor in (1, 2))
        return " ".join(kind.value for kind in (self.kind, *out)).encode()

    def record_copy(self, record: Record) -> bool:
        """Record a file whole, and where in it the agent begins."""
        if self.kind is not Kind.FILE or self.inner is None:
            return True
        position = os.lseek(self.inner, 0, os.SEEK_CUR)
        if position and not record("stdin-offset", b"%d" % position, False):  # noqa: FBT003
            return False
        offset = 0
        while piece := os.pread(self.inner, PIECE, offset):
            offset += len(piece)
            if not record("stdin-file", piece, False):  # noqa: FBT003
                return False
        return record("stdin-file", b"", True)  # noqa: FBT003

    def close(self) -> None:
        """Leave the caller's file as far read as its copy was, and let go of all. Idempotent."""
        if self.kind is Kind.FILE and self.inner is not None and self.said is None:
            with contextlib.suppress(OSError):
                os.lseek(0, os.lseek(self.inner, 0, os.SEEK_CUR), os.SEEK_SET)
        for descriptor in (self.inner, self.feed):
            if descriptor is not None:
                os.close(descriptor)
        self.inner = self.feed = None


def settle(owner: tuple[int, int] | None, *, recorded: bool = True) -> Intake:
    """Settle what the agent's standard input is; `owner` (uid, gid) may open a pipe of ours anew.

    What is not `recorded` stays the caller's own, but for a file: the agent could change its mode.
    """
    status = os.fstat(0)
    if not recorded and not stat.S_ISREG(status.st_mode):
        return Intake(Kind.OTHER)
    kind = _kind(status)
    if kind is Kind.FILE:
        copy = _copied()
        if copy is not None:
            return Intake(Kind.FILE, copy)
        kind = Kind.PIPE
    return open_pipe(owner) if kind is Kind.PIPE else Intake(kind)


def _kind(status: os.stat_result) -> Kind:
    mode = status.st_mode
    access = fcntl.fcntl(0, fcntl.F_GETFL) & os.O_ACCMODE
    if os.isatty(0):
        return Kind.TERMINAL
    if stat.S_ISCHR(mode) and status.st_rdev == _NULL:
        return Kind.NULL
    if access != os.O_WRONLY and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)):
        return Kind.PIPE
    return Kind.FILE if stat.S_ISREG(mode) else Kind.OTHER


def open_pipe(owner: tuple[int, int] | None) -> Intake:
    """A pipe that holds one page: it can be written to when all in it was read, and only then."""
    read, write = os.pipe2(os.O_CLOEXEC)
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, os.sysconf("SC_PAGESIZE"))
    os.set_blocking(write, False)
    if owner is not None:
        os.fchown(read, *owner)
    return Intake(Kind.PIPE, read, write)


def _copied() -> int | None:
    """A sealed copy of the file that is standard input, at the same offset; None if it is too large."""
    try:
        return sealed(_chunks(), os.lseek(0, 0, os.SEEK_CUR))
    except OSError:
        return None  # a file of /proc that cannot be sought in, or no memory: as a pipe


def _chunks() -> Iterator[bytes]:
    offset = 0
    while chunk := os.pread(0, _STEP, offset):
        offset += len(chunk)
        if offset > MAX_COPY:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        yield chunk


def sealed(content: Iterable[bytes], position: int) -> int:
    """A file in memory that can be read alone, at `position`, and that nobody can change. Raises OSError."""
    copy = os.memfd_create("hark-input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        for chunk in content:
            left = memoryview(chunk)
            while left:
                left = left[os.write(copy, left) :]
        fcntl.fcntl(copy, fcntl.F_ADD_SEALS, _SEALS)
        reader = os.open(f"/proc/self/fd/{copy}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(copy)
    os.lseek(reader, position, os.SEEK_SET)
    return reader


def is_copy(descriptor: int) -> bool:
    """Whether it is a file in memory that nobody can write to any more."""
    try:
        return bool(fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_WRITE)
    except OSError:
        return False


def let_go() -> None:
    """In a process that only stands by: give up standard input, so that its last reader is the agent."""
    try:
        empty = os.open("/dev/null", os.O_RDONLY)
    except OSError:
        os.close(0)
        return
    os.dup2(empty, 0)
    os.close(empty)
