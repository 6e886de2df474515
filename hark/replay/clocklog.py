"""What threads read when they asked the real clock again: from the log to events, and back for a replay.

A record is 32 bytes, little-endian: lineage[16], u64 index (in its high byte which kind of refresh, then the
how-manieth of the thread), u64 Unix nanoseconds. The agent writes them, so they are only ever sorted and
copied. They go into the bundle a piece at a time while the run goes on, so that a run that is killed has what
was read until then. Each piece is sorted by lineage and index, one each, compressed with zlib (RFC 1950) and
cut into parts, of which the last says so. Where two pieces have the same lineage and index the first counts.
A bundle may be hostile, so no more is unpacked than a log can hold.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from hark.bundle.events import ClockLog
from hark.errors import BundleError

RECORD: Final = struct.Struct("<16sQQ")
_VALUE_AT: Final = 24  # of a record: it is written last
MAX_RECORDS: Final = (1 << 18) + (1 << 16)
"""As many as the log has room for (shims/preload/ground.h), and what process 1 keeps (launcher.pages)."""
MAX_BYTES: Final = MAX_RECORDS * RECORD.size
_PART_BYTES: Final = 1 << 20
_MAGIC: Final = b"HARKCK1\0"


def settle(records: bytes) -> bytes:
    """Whole records that were written, sorted, the first of each lineage and index."""
    whole = len(records) - len(records) % RECORD.size
    found: dict[tuple[bytes, int], int] = {}
    for lineage, index, value in RECORD.iter_unpack(records[:whole]):
        if value:
            found.setdefault((lineage, index), value)
    return b"".join(RECORD.pack(*key, value) for key, value in sorted(found.items()))


def written(records: bytes) -> bytes:
    """The records before the first that a thread has taken and not written yet."""
    for at in range(0, len(records) - len(records) % RECORD.size, RECORD.size):
        if not any(records[at + _VALUE_AT : at + RECORD.size]):
            return records[:at]
    return records


def events(records: bytes) -> Iterator[ClockLog]:
    """The events of one piece: `records`, as `settle` returns them; none if there are none."""
    if not records:
        return
    packed = zlib.compress(records)
    for start in range(0, len(packed), _PART_BYTES):
        yield ClockLog(packed[start : start + _PART_BYTES], last=start + _PART_BYTES >= len(packed))


def unpack(parts: Iterable[ClockLog], *, broken_off: bool = False) -> bytes:
    """The records in `parts`. Raises BundleError where they are not what `events` makes.

    `broken_off` is a bundle whose writer was killed: a piece without its last part is not in it then.
    """
    packed = bytearray()
    found = bytearray()
    for part in parts:
        packed += part.data
        if len(packed) > MAX_BYTES:
            raise BundleError("the recorded clock is longer than a log can be")
        if part.last:
            found += _piece(bytes(packed), MAX_BYTES - len(found))
            packed.clear()
    if packed and not broken_off:
        raise BundleError("the recorded clock breaks off before its last part")
    return settle(bytes(found))


def _piece(packed: bytes, room: int) -> bytes:
    reader = zlib.decompressobj()
    try:
        records = reader.decompress(packed, room + 1)
    except zlib.error as error:
        raise BundleError(f"the recorded clock cannot be unpacked: {error}") from None
    if len(records) > room or not reader.eof or reader.unused_data or records != settle(records):
        raise BundleError("the recorded clock is not a sorted log of refreshes")
    return records


def replayed(records: bytes) -> bytes:
    """The file that the shims read in a replay (`struct recorded` of shims/preload/ground.h)."""
    return _MAGIC + struct.pack("=Q", len(records) // RECORD.size) + records
