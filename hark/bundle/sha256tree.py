"""The same leaves under SHA-256, as transparency logs have their trees (RFC 6962, section 2.1).

What always holds: entry n of this tree is the leaf hashes of events 8n to 8n + 7, one behind the other, and
the last entry may have fewer. So what is proved of an entry is proved of its events, and a payload that was
taken out is not missed. The shape is that of the range of format 1 (`hark.bundle.mmr`), since both fall apart
at the largest power of two: peaks are kept, and folded from the right. A path that is checked has the length
that index and size demand, and no other.

Eight to an entry, because one to an entry had verification cost a third more (docs/adr/0033).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import batched, tee
from typing import Final

from hark.bundle.hashing import HASH_SIZE, sha256
from hark.bundle.mmr import Mmr, fold
from hark.errors import BundleError

TO_AN_ENTRY: Final = 8
ENTRY_HEIGHT: Final = 3  # of the subtree that an entry's leaves are
MAX_SIZE: Final = (1 << 63) - 1  # of a log whose numbers are written as 64 bits with a sign
_ENTRY: Final = TO_AN_ENTRY * HASH_SIZE


def entry_hash(entry: bytes) -> bytes:
    """The hash of one entry."""
    digest: bytes = sha256(b"\x00" + entry).digest()
    return digest


def node_hash(left: bytes, right: bytes) -> bytes:
    """The parent of two nodes."""
    digest: bytes = sha256(b"\x01" + left + right).digest()
    return digest


def size_of(leaves: int) -> int:
    """How many entries so many leaves come to."""
    return -(-leaves // TO_AN_ENTRY)


def entries(leaves: Iterable[bytes]) -> Iterator[bytes]:
    """The entries that leaves come to."""
    return map(b"".join, batched(leaves, TO_AN_ENTRY))


def subtree(leaves: Sequence[bytes]) -> bytes:
    """The top of a perfect subtree over whole entries. Verification's hot path, so without calls."""
    joined = b"".join(leaves)
    return top([sha256(b"\x00" + joined[at : at + _ENTRY]).digest() for at in range(0, len(joined), _ENTRY)])


def top(level: list[bytes]) -> bytes:
    """The top of a perfect subtree over nodes of one height."""
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [sha256(b"\x01" + left + right).digest() for left, right in pairs]
    return level[0]


class Tree(Mmr):
    """The peaks over the entries so far, and the leaves that do not fill one yet."""

    __slots__ = ("_begun",)
    node = staticmethod(node_hash)

    def __init__(self) -> None:
        super().__init__()
        self._begun: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Add one leaf."""
        self._begun.append(leaf)
        if len(self._begun) == TO_AN_ENTRY:
            self.append(entry_hash(b"".join(self._begun)))
            self._begun.clear()

    def root(self) -> bytes:
        """The root over all leaves; of none, what the RFC says."""
        peaks = list(self.peaks)
        if self._begun:
            peaks.append(entry_hash(b"".join(self._begun)))
        return fold(peaks, node_hash) if peaks else bytes(sha256().digest())


def prove(leaves: Iterable[bytes], index: int, count: int) -> tuple[bytes, tuple[bytes, ...]]:
    """Entry `index` of `count`, and its audit path, its neighbour first; `leaves` is read once."""
    from hark.bundle.proof import build  # only here: verifying a bundle proves nothing

    kept, hashed = tee(entries(leaves))
    proof = build(map(entry_hash, hashed), index, count, node_hash, top)
    entry = next(entry for at, entry in enumerate(kept) if at == index)
    right = (fold(proof.right_peaks, node_hash),) if proof.right_peaks else ()
    return entry, (*proof.siblings, *right, *reversed(proof.left_peaks))


def root_of(entry: bytes, index: int, size: int, hashes: Sequence[bytes]) -> bytes:
    """The root that a path leads to from an entry, of whatever log; a BundleError if its shape is wrong."""
    if not 0 <= index < size <= MAX_SIZE:
        raise BundleError(f"there is no entry {index} among {size}")
    inner = (index ^ size - 1).bit_length()  # from here on up the way runs along the tree's right edge
    border = (index >> inner).bit_count()
    if len(hashes) != inner + border or any(len(node) != HASH_SIZE for node in hashes):
        raise BundleError(f"the proof has the wrong shape for entry {index} of {size}: {len(hashes)} hashes")
    node = entry_hash(entry)
    for height, sibling in enumerate(hashes):
        is_right = height >= inner or index >> height & 1
        node = node_hash(sibling, node) if is_right else node_hash(node, sibling)
    return node
