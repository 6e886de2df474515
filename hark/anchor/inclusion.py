"""Hashes and inclusion proofs of the trees that transparency logs keep (RFC 6962, section 2.1; RFC 9162,
2.1.3.2).

What always holds: the shape of a proof follows from index and size alone, and a proof of another shape is
refused before its root is used. This is the log's SHA-256 tree, not the bundle's own (`hark.bundle.mmr`).
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

HASH_SIZE: Final = 32
MAX_PATH: Final = 63  # a tree of 2^63 leaves


def leaf_hash(entry: bytes) -> bytes:
    """Hash of the leaf that holds `entry`."""
    return sha256(b"\0" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node."""
    return sha256(b"\1" + left + right).digest()


def root_of(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Return the root that `path` leads to from leaf `index` of `size`. Raises ValueError."""
    if not 0 <= index < size:
        raise ValueError(f"there is no leaf {index} in a tree of {size}")
    if any(len(one) != HASH_SIZE for one in path) or len(path) > MAX_PATH:
        raise ValueError("the proof holds something that is no hash, or too many")
    node, last = index, size - 1
    for sibling in path:
        if last == 0:
            raise ValueError("the proof is longer than the tree is high")
        if node & 1 or node == last:
            leaf = node_hash(sibling, leaf)
            while node and not node & 1:  # levels where this node is the last and has no sibling
                node, last = node >> 1, last >> 1
        else:
            leaf = node_hash(leaf, sibling)
        node, last = node >> 1, last >> 1
    if last:
        raise ValueError("the proof is shorter than the tree is high")
    return leaf
