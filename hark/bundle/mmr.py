"""Merkle Mountain Range of bundle format 1: the root and inclusion proofs of a growing list of leaves.

What always holds: after k leaves there is one peak for each set bit of k, highest first; the peaks are all
that is kept, so memory does not grow with the number of leaves. Whole aligned subtrees can be appended as
one node, which is how segments that were hashed side by side are merged: the result is that of appending
their leaves.
"""

from collections.abc import Callable, Sequence

from blake3 import blake3

from hark.bundle.hashing import ZERO_HASH, node_hash
from hark.errors import BundleError


class Mmr:
    """The peaks over the leaves appended so far."""

    __slots__ = ("count", "peaks")
    node = staticmethod(node_hash)
    """How two nodes are hashed into one."""

    def __init__(self) -> None:
        self.count = 0
        self.peaks: list[bytes] = []
        """Left (oldest, highest) to right."""

    def append(self, leaf: bytes) -> None:
        """Add one leaf."""
        self.append_tree(leaf, 0)

    def append_tree(self, top: bytes, height: int) -> None:
        """Add 2**height leaves whose subtree has `top`; they must start at a multiple of their number."""
        if self.count & ((1 << height) - 1):
            raise ValueError(f"a subtree of height {height} cannot start at leaf {self.count}")
        self.count += 1 << height
        merges = self.count >> height
        while not merges & 1:
            top = self.node(self.peaks.pop(), top)
            merges >>= 1
        self.peaks.append(top)

    def root(self) -> bytes:
        """The root over all leaves; 32 zero bytes if there are none."""
        return fold(self.peaks, self.node)


def fold(peaks: Sequence[bytes], node: Callable[[bytes, bytes], bytes] = node_hash) -> bytes:
    """The root that `peaks` (left to right) stand for."""
    if not peaks:
        return ZERO_HASH
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = node(peak, root)
    return root


def subtree(leaves: list[bytes]) -> bytes:
    """The top of a perfect subtree; the number of leaves is a power of two."""
    hasher = blake3()  # one for all, since making it costs as much as hashing with it
    level = leaves
    while len(level) > 1:
        above = []
        for left, right in zip(level[::2], level[1::2], strict=True):
            hasher.reset()
            hasher.update(b"\x01" + left + right)
            above.append(hasher.digest())
        level = above
    return level[0]


def mountain(index: int, count: int) -> tuple[int, int, int]:
    """First leaf and height of the mountain that leaf `index` stands in, and how many are left of it."""
    if not 0 <= index < count:
        raise BundleError(f"leaf {index} is not among {count} leaves")
    start = 0
    for position in range(count.bit_count()):
        height = (count - start).bit_length() - 1
        if index < start + (1 << height):
            return start, height, position
        start += 1 << height
    raise AssertionError("unreachable: the mountains hold every leaf")
