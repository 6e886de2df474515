"""The bytes around events: file magic, length-prefixed blocks, frames. Bytes to values, no IO.

What always holds: a length is compared with `MAX_PAYLOAD` before anything is allocated for it, and a frame is
read only from bytes that hold all of it. Not done here: whether hashes and sequence numbers are right.
"""

from struct import Struct
from typing import Final, NamedTuple

from hark.bundle.hashing import HASH_SIZE
from hark.errors import BundleError

MAGIC: Final = b"HARK\x01"
MAX_PAYLOAD: Final = 64 << 20  # format 1: header, footer and each payload
FOOTER_SENTINEL: Final = 0xFFFF_FFFF
LENGTH: Final = Struct(">I")
FRAME_HEAD: Final = Struct(">IBQQ32s")
"""Payload length, kind, seq, monotonic nanoseconds since the run began, chain value before this frame."""
FRAME_OVERHEAD: Final = FRAME_HEAD.size + HASH_SIZE
SEALED_PART: Final = slice(4, 21)
"""The bytes of a frame's head that `Seal` hashes: kind, seq, time."""


class Frame(NamedTuple):
    """One event as it stands in the file, nothing checked but its length."""

    kind: int
    seq: int
    time: int
    chain: bytes
    """Chain value before this frame."""
    payload: bytes
    leaf: bytes

    @property
    def size(self) -> int:
        """Bytes that the frame takes in the file."""
        return FRAME_OVERHEAD + len(self.payload)


def pack(frame: Frame) -> bytes:
    """The bytes of `frame` in a bundle."""
    check_length(len(frame.payload), "event")
    head = FRAME_HEAD.pack(len(frame.payload), frame.kind, frame.seq, frame.time, frame.chain)
    return b"".join((head, frame.payload, frame.leaf))


def unpack(data: bytes, at: int = 0) -> Frame | None:
    """The frame that starts at byte `at`, or None if `data` ends before it does."""
    if len(data) - at < FRAME_HEAD.size:
        return None
    length, kind, seq, time, chain = FRAME_HEAD.unpack_from(data, at)
    check_length(length, f"event {seq}")
    end = at + FRAME_HEAD.size + length
    if len(data) - end < HASH_SIZE:
        return None
    return Frame(kind, seq, time, chain, data[at + FRAME_HEAD.size : end], data[end : end + HASH_SIZE])


def block(data: bytes) -> bytes:
    """`data` with its length in front, as the header and the footer stand in the file."""
    return LENGTH.pack(len(data)) + data


def check_length(length: int, what: str) -> None:
    """Refuse a claim of more than `MAX_PAYLOAD` bytes."""
    if length > MAX_PAYLOAD:
        raise BundleError(f"{what} claims {length} bytes; format 1 allows {MAX_PAYLOAD}")
