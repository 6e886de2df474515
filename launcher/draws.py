"""Random bytes for who asks the kernel itself: process 1 answers out of the run's seed in the kernel's place.

What the preload serves never comes here. What does is libc's own (a key of its allocator), static programs,
and those that make their own system calls. Who asks is known by its number alone, not by the way in which it
came to be: where processes are started side by side, their numbers may be given out another way round next
time. A number's draws go on counting when it is used again, so nothing is drawn twice. A signal whose handler
does not restart calls may end one with EINTR before process 1 has heard of it, as the kernel never does.

    draw n of thread t = SHAKE256("hark getrandom" || seed || t as 4 bytes || n as 8 bytes), little-endian

A program that process 1 has looked at as it started (`launcher.unshimmed`) is known by more than a number:
by the way in which it came to be. Its threads draw from one stream for each length, since which asks first
differs from run to run:

    draw n of b bytes of the program with lineage l =
        SHAKE256("hark getrandom of" || seed || l, 16 bytes || b as 4 bytes || n as 8 bytes)

The seed is that of the page's epoch: where a fork goes live it is another one, and the counts go on.
"""

import contextlib
import errno
import os
import struct
from typing import Final

from hark.sums import shake_256
from launcher.pages import FOLDER, PAGE, PAGE_BYTES, epoch_in

MOST_AT_ONCE: Final = 1 << 18  # the kernel too may return less; up to 256 bytes it does not
_FLAGS: Final = 7  # GRND_NONBLOCK, GRND_RANDOM, GRND_INSECURE
_LINEAGE_BYTES: Final = 16
_MAX_COUNTED: Final = 1 << 16
_MAX_OFFSET: Final = (1 << 63) - 1
MAPPINGS_READ: Final = 1 << 18  # bytes: some thousand mappings; who has more takes process 1 no longer
_LABEL: Final = b"hark getrandom"
_LABEL_OF: Final = b"hark getrandom of"
_SHIM: Final = FOLDER.encode()


class Draws:
    """What was drawn so far, by whom."""

    def __init__(self, seed: bytes, page: int = -1) -> None:
        """`page` is a descriptor of the page, this value's from now on; without one the seed stays."""
        self._seed = seed
        self._page = page
        self._counts: dict[int | bytes, int] = {}

    def answer(
        self, memory: int, thread: int, arguments: tuple[int, ...], lineage: bytes = b""
    ) -> tuple[int, int]:
        """Value and error of one getrandom(address, length, flags); `memory` is the asking thread's.

        `lineage` is that of its program, where that is known.
        """
        address, length, flags = arguments[:3]
        if flags & ~_FLAGS:
            return 0, -errno.EINVAL
        if address > _MAX_OFFSET:
            return 0, -errno.EFAULT
        wanted = min(length, MOST_AT_ONCE)
        data = self.draw_of(lineage, wanted) if lineage else self.draw(thread, wanted)
        try:
            return os.pwrite(memory, data, address) if data else 0, 0
        except OSError:
            return 0, -errno.EFAULT

    def draw(self, thread: int, length: int) -> bytes:
        """The thread's next bytes."""
        counted, number = self._next(thread, 0)
        return self._drawn(_LABEL, struct.pack("<IQ", counted, number), length)

    def draw_of(self, lineage: bytes, length: int) -> bytes:
        """The next so many bytes of a program."""
        counted, number = self._next(lineage + struct.pack("<I", length), bytes(_LINEAGE_BYTES + 4))
        return self._drawn(_LABEL_OF, counted + struct.pack("<Q", number), length)

    def _next[Counted: (int, bytes)](self, who: Counted, others: Counted) -> tuple[Counted, int]:
        """Who is counted, those beyond a number of them as one, and how often that has drawn."""
        counted = who if who in self._counts or len(self._counts) < _MAX_COUNTED else others
        number = self._counts.get(counted, 0)
        self._counts[counted] = number + 1
        return counted, number

    def _drawn(self, label: bytes, what: bytes, length: int) -> bytes:
        drawn: bytes = shake_256(label + self._current() + what).digest(length)
        return drawn

    def _current(self) -> bytes:
        if self._page < 0:
            return self._seed
        epoch, seed = epoch_in(os.pread(self._page, PAGE_BYTES, 0).ljust(PAGE_BYTES, b"\0"))
        return seed if epoch else self._seed


def open_page() -> int:
    """Return a descriptor of the page, in process 1; -1 where there is none."""
    try:
        return os.open(PAGE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return -1


def has_shim(thread: int) -> bool:
    """Whether the thread's program has a shim of ours mapped; one that cannot be looked at counts as one.

    So does one with so many mappings that they are not read to the end: nothing else is looked at meanwhile.
    """
    with contextlib.suppress(OSError), open(f"/proc/{thread}/maps", "rb") as file:
        mappings = file.read(MAPPINGS_READ)
        return _SHIM in mappings or len(mappings) == MAPPINGS_READ
    return True
