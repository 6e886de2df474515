"""The page and the log that the shims share with the supervisor: memory, so that a read costs no message.

The page is the supervisor's word to the agent: the wall clock, how far the monotonic one was moved, the seed.
The log is what the agent's processes say: refreshes of the clock, programs started. The agent sees the page
read-only and may write the log, so nothing in the log is believed, and it is read and never mapped: a file
that shrinks under a mapping ends the process that reads it.

Page, native byte order: 0 magic; 8 u64 wall_ns; 16 i64 mono_offset_ns; 24 u32 flags; 28 u32 epoch; 32 + 32 e:
the seed of epoch e, of 126; 4064 i64 wall_offset_ns, what the wall clock is beyond the machine's where that
is asked; 4072 u64 next_ns, in a replay when what comes in next came in (0: not known). The number of the
epoch is written after its seed, and seeds stay where they are.
The log's layout is `struct log` of shims/preload/ground.h.
"""

import mmap
import os
import struct
import threading
from typing import Final

FOLDER: Final = "/run/hark/shim"
PAGE: Final = f"{FOLDER}/page"
LOG: Final = f"{FOLDER}/log"
RECORDED: Final = f"{FOLDER}/clock"
"""In a replay: the recorded refreshes."""

SEEDED: Final = 1
CLOCKED: Final = 2
REPLAYED: Final = 4

_MAGIC: Final = b"HARKPG1\0"
PAGE_BYTES: Final = 4096
_SEED_BYTES: Final = 32
_SEEDS_AT: Final = 32
EPOCHS: Final = 126
"""How many seeds there is room for: one more than a run may have branched."""
_WALL: Final = 1  # in words of 8 bytes
_OFFSET: Final = 2
_WALL_OFFSET: Final = (_SEEDS_AT + EPOCHS * _SEED_BYTES) // 8
_NEXT: Final = _WALL_OFFSET + 1
_FLAGS: Final = 6  # in words of 4 bytes
_EPOCH: Final = 7

_LOG_MAGIC: Final = b"HARKLG1\0"
PROCESSES: Final = 1 << 15
_RECORDS: Final = 1 << 18
_PATH_BYTES: Final = 1 << 18
_KNOWN_PATHS: Final = 1 << 12
PROCESSES_AT: Final = 4096 + 8 * _KNOWN_PATHS
_PATHS_AT: Final = PROCESSES_AT + 24 * PROCESSES
_RECORDS_AT: Final = _PATHS_AT + _PATH_BYTES
RECORD_BYTES: Final = 32
_NOTES: Final = 64
_NOTE_BYTES: Final = 256
_NOTES_AT: Final = _RECORDS_AT + RECORD_BYTES * _RECORDS
LOG_BYTES: Final = _NOTES_AT + _NOTES * _NOTE_BYTES
KERNEL_RECORDS: Final = 1 << 16
"""Refreshes that process 1 keeps for programs without a shim (`launcher.rows`)."""
KERNEL_LOG_BYTES: Final = RECORD_BYTES * KERNEL_RECORDS

_FURTHEST: Final = 1 << 62  # nanoseconds: what is added to a clock of the kernel's must fit into 64 bits


class Page:
    """The supervisor's side of the page. Until `begin` the shims do not see that it is one."""

    def __init__(self, descriptor: int) -> None:
        """Map it; the descriptor stays the caller's."""
        self._memory = mmap.mmap(descriptor, PAGE_BYTES)
        self._words = memoryview(self._memory).cast("Q")  # one item is stored in one piece
        self._signed = memoryview(self._memory).cast("q")
        self._halves = memoryview(self._memory).cast("I")
        self._fence = threading.Lock()

    def begin(self, wall_ns: int, seed: bytes, flags: int) -> None:
        """Fill it, before the agent starts."""
        if len(seed) != _SEED_BYTES:
            raise ValueError(f"a seed has {_SEED_BYTES} bytes, not {len(seed)}")
        struct.pack_into("=QqII", self._memory, 8, wall_ns, 0, flags, 0)
        self._memory[_SEEDS_AT : _SEEDS_AT + _SEED_BYTES] = seed
        self._memory[: len(_MAGIC)] = _MAGIC

    @property
    def wall_ns(self) -> int:
        """What the page says of the wall clock."""
        return self._words[_WALL]

    def set_wall(self, ns: int) -> None:
        """Show `ns`, Unix nanoseconds, unless it already shows a later time: no clock runs backwards."""
        self._words[_WALL] = max(self._words[_WALL], ns)

    def set_next(self, ns: int | None) -> None:
        """Say when what comes in next came in, Unix nanoseconds; None: the recording has nothing more."""
        self._words[_NEXT] = _FURTHEST if ns is None else max(1, min(ns, _FURTHEST))

    def draw_from(self, seed: bytes) -> None:
        """Have every later draw come from this seed: an epoch of its own."""
        epoch = self._halves[_EPOCH] + 1
        if len(seed) != _SEED_BYTES or epoch >= EPOCHS:
            raise ValueError(f"no seed of {len(seed)} bytes has room as number {epoch}")
        at = _SEEDS_AT + epoch * _SEED_BYTES
        with self._fence:  # a lock that is let go and taken again keeps two stores in their order
            self._memory[at : at + _SEED_BYTES] = seed
        with self._fence:
            self._halves[_EPOCH] = epoch

    def go_live(self, wall_offset_ns: int) -> None:
        """Have threads ask the machine's clock from now on, and add so much to it: no log is looked into."""
        self._signed[_WALL_OFFSET] = max(-_FURTHEST, min(wall_offset_ns, _FURTHEST))
        with self._fence:
            self._halves[_FLAGS] &= ~REPLAYED

    def move_monotonic(self, ns: int) -> None:
        """Move the monotonic clocks forward by `ns`, as far as they go; never back."""
        if ns > 0:
            self._signed[_OFFSET] = min(self._signed[_OFFSET] + ns, _FURTHEST)


class Shown:
    """What the page shows, as process 1 reads it."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._words = memoryview(memory).cast("Q")
        self._signed = memoryview(memory).cast("q")
        self._halves = memoryview(memory).cast("I")

    @property
    def wall_ns(self) -> int:
        """The wall clock, Unix nanoseconds."""
        return min(self._words[_WALL], _FURTHEST)

    @property
    def wall_offset_ns(self) -> int:
        """What the wall clock is beyond the machine's where that is asked."""
        return self._signed[_WALL_OFFSET]

    @property
    def flags(self) -> int:
        """SEEDED, CLOCKED, REPLAYED."""
        return self._halves[_FLAGS]


def epoch_in(page: bytes) -> tuple[int, bytes]:
    """Which epoch a whole page is in, and its seed."""
    (epoch,) = struct.unpack_from("=I", page, 4 * _EPOCH)
    at = _SEEDS_AT + min(epoch, EPOCHS - 1) * _SEED_BYTES
    return epoch, page[at : at + _SEED_BYTES]


class Log:
    """The supervisor's view of the log, whatever the agent has made of it."""

    def __init__(self, descriptor: int, kernel: int = -1) -> None:
        """Read by `descriptor`, which is this value's from now on, and so is that of process 1's own."""
        self._descriptor = descriptor
        self._kernel = kernel

    def prepare(self) -> None:
        """Mark it as a log."""
        os.pwrite(self._descriptor, _LOG_MAGIC, 0)

    def records(self, since: int = 0, most: int = _RECORDS) -> tuple[bytes, int]:
        """The records of refreshes from number `since` on, 32 bytes each; and how many had no room in it."""
        (taken,) = struct.unpack("=Q", self._read(8, 8))
        there = min(max(0, min(taken, _RECORDS) - since), most)
        data = self._read(_RECORDS_AT + RECORD_BYTES * since, RECORD_BYTES * there)
        return data, max(0, taken - _RECORDS)

    def kernel_records(self, since: int = 0, most: int = KERNEL_RECORDS) -> tuple[bytes, bool]:
        """The refreshes that process 1 kept, from number `since` on; and whether it has no more room."""
        if self._kernel < 0:
            return b"", False
        data = os.pread(self._kernel, RECORD_BYTES * most, RECORD_BYTES * since)
        whole = data[: len(data) - len(data) % RECORD_BYTES]
        return whole, os.fstat(self._kernel).st_size >= KERNEL_LOG_BYTES

    def programs(self) -> list[str]:
        """The paths that were named as programs: any text at all may stand there."""
        (length,) = struct.unpack("=Q", self._read(16, 8))
        parts = self._read(_PATHS_AT, min(length, _PATH_BYTES)).split(b"\0")
        return [os.fsdecode(path) for path in dict.fromkeys(parts) if path.startswith(b"/")]

    def notes(self) -> list[tuple[str, str, str]]:
        """What shims said did not work: which, what, why. Any text at all may stand there."""
        data = self._read(_NOTES_AT, _NOTES * _NOTE_BYTES)
        found: dict[tuple[str, str, str], None] = {}
        for at in range(0, len(data), _NOTE_BYTES):
            parts = data[at : at + _NOTE_BYTES].rstrip(b"\0").decode(errors="replace").split("\0")
            if len(parts) == 3 and all(parts):
                found[parts[0], parts[1], parts[2]] = None
        return list(found)

    def _read(self, offset: int, length: int) -> bytes:
        """As many bytes, zeros where the file has become shorter."""
        return os.pread(self._descriptor, length, offset).ljust(length, b"\0")

    def close(self) -> None:
        """Let it go; again is harmless."""
        for descriptor in (self._descriptor, self._kernel):
            if descriptor >= 0:
                os.close(descriptor)
        self._descriptor = self._kernel = -1
