"""Process 1's side of the log of `launcher.pages`: who a process is, and refreshes that it keeps itself.

Its own refreshes are in a file that nobody inside sees, since shims add to theirs with atomic operations,
which Python has not. What the shims' log says of a process is the agent's word: whoever lies there repeats
itself less.
"""

import os
import struct
from bisect import bisect_left
from typing import Final

from hark.sums import shake_256
from launcher.pages import KERNEL_RECORDS, PROCESSES, PROCESSES_AT, RECORD_BYTES

LINEAGE_BYTES: Final = 16
_ROW: Final = struct.Struct("=II16s")
_RECORD: Final = struct.Struct("=16sQQ")
_MAGIC: Final = b"HARKCK1\0"
_LABEL: Final = b"hark program"
_STRAYS: Final = 1 << 16  # of parents that no shim runs in either; what is more has one lineage together


class Rows:
    """The log as process 1 has it."""

    def __init__(self, log: int, own: int) -> None:
        """Descriptors: the shims' log, read and written, and the file of this process's own refreshes."""
        self._log = log
        self._own = own
        self._written = 0
        self._strays: dict[int, int] = {}

    def become(self, process: int, parent: int) -> bytes:
        """Return the lineage of the program that the process has begun, and note it for what it starts."""
        place = PROCESSES_AT + _ROW.size * (process % PROCESSES)
        number, _strays, lineage = _ROW.unpack(os.pread(self._log, _ROW.size, place).ljust(_ROW.size, b"\0"))
        if number != process:
            known = parent if parent in self._strays or len(self._strays) < _STRAYS else 0
            self._strays[known] = self._strays.get(known, 0) + 1
            lineage = struct.pack("=QQ", known, self._strays[known])
        found: bytes = shake_256(_LABEL + lineage).digest(LINEAGE_BYTES)
        os.pwrite(self._log, _ROW.pack(process, 0, found), place)
        return found

    def write_down(self, lineage: bytes, index: int, value: int) -> None:
        """Keep one refresh, while there is room."""
        if self._written < KERNEL_RECORDS:
            os.pwrite(self._own, _RECORD.pack(lineage, index, value), RECORD_BYTES * self._written)
            self._written += 1


class Recorded:
    """In a replay: the recorded refreshes, sorted by lineage and index."""

    def __init__(self, file: bytes = b"") -> None:
        """`file` as `hark.replay.clocklog.replayed` makes it."""
        self._data = file if file[: len(_MAGIC)] == _MAGIC else b""
        self._count = max(0, len(self._data) - 16) // RECORD_BYTES

    def find(self, lineage: bytes, index: int) -> tuple[int, int] | None:
        """Index and value of the first of this lineage from `index` on, if it is of the same kind."""
        at = bisect_left(range(self._count), (lineage, index), key=self._key)
        if at == self._count:
            return None
        whose, found, value = _RECORD.unpack_from(self._data, 16 + RECORD_BYTES * at)
        return (found, value) if whose == lineage and found >> 56 == index >> 56 else None

    def _key(self, at: int) -> tuple[bytes, int]:
        lineage, index, _value = _RECORD.unpack_from(self._data, 16 + RECORD_BYTES * at)
        return lineage, index
