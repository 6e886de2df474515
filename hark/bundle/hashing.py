"""The hashes of bundle format 1. Each construction has its own first byte, so none can stand for another."""

from struct import Struct
from typing import Any, Final

from blake3 import blake3

from hark import sums

sha256: Final[Any] = sums.sha256

HASH_SIZE: Final = 32
ZERO_HASH: Final = bytes(HASH_SIZE)
"""The chain value before the first frame, and the root of no leaves."""

_LEAF_HEAD: Final = Struct(">BQB")


def leaf_hash(seq: int, kind: int, payload: bytes) -> bytes:
    """The hash that commits to one event; time is not part of it (`Seal` covers times)."""
    hasher = blake3(_LEAF_HEAD.pack(0, seq, kind))
    hasher.update(payload)
    return hasher.digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The parent of two Merkle nodes."""
    return blake3(b"\x01" + left + right).digest()


def chain_hash(before: bytes, leaf: bytes) -> bytes:
    """The chain value after a frame, from the one before it and its leaf."""
    return blake3(b"\x02" + before + leaf).digest()


def content_hash(data: bytes) -> bytes:
    """How format 1 hashes a policy or a patch: as leaf 0 of kind 0."""
    return leaf_hash(0, 0, data)
