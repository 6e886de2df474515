"""Programs in which no library of ours runs (static ones, Go): process 1 answers for the shim there.

Each program sets the base of its thread-local storage once as it starts (arch_prctl), and waits in that call
while process 1 looks at it. One with an interpreter is dynamic: it is left alone, since the preload serves
it. In any other the vDSO is led to the system calls (`launcher.vdso`), which are answered with the run's
clock, and the 16 bytes of AT_RANDOM, of which Go makes its seeds and a libc its canary, follow from the run's
seed. Both libcs and Go read those bytes after that call.

Not covered: deadlines that are given to the kernel in wall time, which count by the machine's; arm64, where
no call tells of a start; a program that makes no such call, whose vDSO is the kernel's.

Nothing is believed of who asks. Who names other places in its own memory changes itself alone, and nothing
where this kernel's own vDSO does not stand there.
"""

import contextlib
import errno
import os
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from launcher import vdso
from launcher.draws import Draws, has_shim, open_page
from launcher.numbers import NUMBERS, X86_64
from launcher.pages import LOG, RECORDED
from launcher.rows import Recorded, Rows
from launcher.runclock import MOST_PROGRAMS, RunClock

_AT_BASE, _AT_RANDOM, _AT_VDSO = 7, 25, 33  # linux/auxvec.h
_AUXV_BYTES: Final = 1 << 10  # some twenty pairs of 16
_RANDOM_BYTES: Final = 16
_MAX_OFFSET: Final = (1 << 63) - 1
_CLOCK_TAI: Final = 11
_SECOND: Final = 1_000_000_000
_LOADERS: Final = ("ld-", "ld.so", "libc.so", "libc.musl")
START: Final = NUMBERS["arch_prctl"][X86_64]
_GETTIME: Final = NUMBERS["clock_gettime"][X86_64]
_GETTIMEOFDAY: Final = NUMBERS["gettimeofday"][X86_64]
CLOCKS: Final = (_GETTIME, _GETTIMEOFDAY, NUMBERS["time"][X86_64])

type Confirm = Callable[[], None]
"""MUST raise OSError where the call that was told of is over: its number may be another thread's by now."""


class NotOursError(Exception):
    """The kernel is to make the call itself."""


@dataclass(slots=True)
class Unshimmed:
    """What process 1 does for such programs."""

    image: vdso.Image | None
    """None where this kernel's vDSO is none that can be led elsewhere."""
    draws: Draws
    seeded: bool
    clock: RunClock | None
    """None where programs see the machine's."""
    rows: Rows | None
    _keys: int = 0
    _lineages: dict[int, bytes] = field(default_factory=dict)
    """By key, of the last so many programs."""

    def start(self, thread: int, confirm: Confirm) -> bool:
        """Look at a program that starts; False where it has no shim and could not be given another clock."""
        found = _auxiliary(thread)
        if found.get(_AT_BASE) or not found or _is_loader(thread):
            return True
        changes = self._changes()
        covered = changes is not None
        with contextlib.suppress(OSError), _memory(thread, confirm) as memory:
            covered = covered and self._lead(memory, found.get(_AT_VDSO, 0), changes or [])
            lineage = self.rows.become(thread, _parent(thread)) if self.rows else b""
            self._note(lineage)
            if self.clock is not None:
                self.clock.start(self._keys, lineage)
            self._set_random(memory, thread, lineage, found.get(_AT_RANDOM, 0))
            return covered
        return False

    def _note(self, lineage: bytes) -> None:
        if len(self._lineages) >= MOST_PROGRAMS:
            self._lineages.pop(next(iter(self._lineages)))
        self._lineages[self._keys] = lineage

    def _set_random(self, memory: int, thread: int, lineage: bytes, place: int) -> None:
        if not self.seeded or not 0 < place <= _MAX_OFFSET:
            return
        drawn = (
            self.draws.draw_of(lineage, _RANDOM_BYTES) if lineage else self.draws.draw(thread, _RANDOM_BYTES)
        )
        os.pwrite(memory, drawn, place)

    def lineage(self, thread: int) -> bytes:
        """Who the program of a thread is; empty where it is not one of these."""
        key = self._key(thread)
        return b"" if key is None else self._lineages.get(key, b"")

    def _changes(self) -> list[tuple[int, bytes]] | None:
        if self.image is None:
            return None
        self._keys = (self._keys + 1) & 0xFFFFFFFF
        with contextlib.suppress(vdso.NoImageError):
            return self.image.changes(self._keys, clock=self.clock is not None, draws=self.seeded)
        return None

    def _lead(self, memory: int, base: int, changes: list[tuple[int, bytes]]) -> bool:
        """Write the changes where this kernel's vDSO stands, or nothing."""
        if self.image is None or not 0 < base <= _MAX_OFFSET - len(self.image.data):
            return False
        if os.pread(memory, len(self.image.data), base) != self.image.data:
            return False
        return all(os.pwrite(memory, data, base + offset) == len(data) for offset, data in changes)

    def covers(self, thread: int) -> bool:
        """Whether the program of a thread has been led to the system calls."""
        return self._key(thread) is not None

    def _key(self, thread: int) -> int | None:
        """The key of the program of a thread; None where it has not been led to the system calls."""
        if self.image is None or self.clock is None:
            return None
        base, place = _auxiliary(thread).get(_AT_VDSO, 0), self.image.code_at
        if not 0 < base <= _MAX_OFFSET - vdso.IMAGE_BYTES:
            return None
        with contextlib.suppress(OSError), open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
            return vdso.key_in(os.pread(memory.fileno(), vdso.CALL_BYTES, base + place))
        return None

    def read(self, thread: int, number: int, arguments: tuple[int, ...], confirm: Confirm) -> tuple[int, int]:
        """Value and error of a call for the wall clock. Raises NotOursError where a shim gives the answer."""
        if self.clock is None:
            raise NotOursError
        marked = arguments[2] & 0xFFFFFFFF == vdso.MARK
        key = arguments[3] & 0xFFFFFFFF if marked else self._key(thread)
        if key is None:
            raise NotOursError
        now = self.clock.read(key)
        seconds, rest = divmod(now, _SECOND)
        places: list[tuple[int, bytes]] = []
        if number == _GETTIME:
            if arguments[0] & 0xFFFFFFFF == _CLOCK_TAI:
                seconds += round(time.clock_gettime(_CLOCK_TAI) - time.time())
            places = [(arguments[1], struct.pack("=qq", seconds, rest))]
        elif number == _GETTIMEOFDAY:
            places = [(arguments[0], struct.pack("=qq", seconds, rest // 1000)), (arguments[1], bytes(8))]
        else:
            places = [(arguments[0], struct.pack("=q", seconds))]
        wanted = [(place, data) for place, data in places if place or number == _GETTIME]
        if wanted and not _write(thread, wanted, confirm):
            return 0, -errno.EFAULT
        return (0 if number in (_GETTIME, _GETTIMEOFDAY) else seconds), 0


def prepare(seed: bytes, own: int) -> Unshimmed | None:
    """What this run has for such programs; None where there is nothing to do, or no call tells of a start.

    `own` is the descriptor of the file of this process's refreshes, -1 where the run has no page.
    """
    page = open_page()
    rows = clock = None
    if own >= 0 and page >= 0:
        rows = Rows(os.open(LOG, os.O_RDWR | os.O_CLOEXEC), own)
        clock = RunClock(page, rows, Recorded(_recorded()))
        clock = clock if clock.in_force else None
    if os.uname().machine != "x86_64" or not (seed or clock):
        return None
    try:
        image = vdso.own()
    except vdso.NoImageError:
        image = None
    return Unshimmed(image, Draws(seed, page), bool(seed), clock, rows)


def _recorded() -> bytes:
    with contextlib.suppress(OSError), open(RECORDED, "rb") as file:
        return file.read()
    return b""


def _write(thread: int, places: list[tuple[int, bytes]], confirm: Confirm) -> bool:
    with contextlib.suppress(OSError), _memory(thread, confirm) as memory:
        return all(
            place <= _MAX_OFFSET and os.pwrite(memory, data, place) == len(data) for place, data in places
        )
    return False


@contextlib.contextmanager
def _memory(thread: int, confirm: Confirm) -> Iterator[int]:
    """The thread's memory, once it is sure to be that of who asked."""
    memory = os.open(f"/proc/{thread}/mem", os.O_RDWR | os.O_CLOEXEC)
    try:
        confirm()
        yield memory
    finally:
        os.close(memory)


def _auxiliary(thread: int) -> dict[int, int]:
    """What the kernel told the program as it started; nothing where that cannot be read."""
    try:
        with open(f"/proc/{thread}/auxv", "rb", buffering=0) as file:
            data = file.read(_AUXV_BYTES)
    except OSError:
        return {}
    return dict(struct.iter_unpack("=QQ", data[: len(data) & ~15]))


def _is_loader(thread: int) -> bool:
    """Whether the program is a dynamic one whose interpreter was started by name."""
    try:
        name = os.path.basename(os.readlink(f"/proc/{thread}/exe"))
    except OSError:
        return False
    return name.startswith(_LOADERS) or has_shim(thread)


def _parent(thread: int) -> int:
    try:
        with open(f"/proc/{thread}/stat", "rb", buffering=0) as file:
            return int(file.read(512).rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
