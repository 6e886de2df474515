"""The hot loop of verification: leaf, chain and sequence number of every frame, and the range over the
leaves.

What always holds: a scan stops at the first frame at fault and says which it is and how. A frame without
payload whose leaf is not that of an empty payload is set aside in `withheld`: only the footer can say
whether it was redacted. A scan of whole blocks gives one hash for each, so that segments can be checked
side by side and merged exactly. Memory does not grow with the number of events, but for 8 bytes for each
withheld one.
"""

from array import array
from struct import Struct
from typing import Final, NamedTuple

from blake3 import blake3

from hark.bundle import sha256tree
from hark.bundle.frame import FRAME_HEAD
from hark.bundle.hashing import HASH_SIZE
from hark.bundle.mmr import Mmr, subtree
from hark.bundle.walk import BundleFile, Chunk

HEIGHT: Final = 10
BLOCK: Final = 1 << HEIGHT  # frames that are hashed into one node; a segment is some of these
_BODY: Final = FRAME_HEAD.size
_LEAF_HEAD: Final = Struct(">BQB")

EDIT: Final = "edit"
SPLICE: Final = "splice"


class Fault(NamedTuple):
    """The first frame at fault: where, what kind of event it claims to be, and how it is wrong."""

    seq: int
    """Its place in the file, which is the sequence number that it should have."""
    kind: int
    offset: int
    step: int
    """The number of the step that it fails, as in `hark.verify.steps`."""
    nature: str
    words: str


class Scan:
    """Checking frames one after the other, from sequence number `seq` and chain value `chain` on."""

    def __init__(self, seq: int, chain: bytes, *, rooted: bool = True) -> None:
        self.seq = seq
        self.chain = chain
        self.fault: Fault | None = None
        self.withheld = array("Q")
        self.tops: list[bytes] = []
        """One node for each whole block; `leaves` holds what is left after the last of them."""
        self.sums: list[bytes] = []
        """The same nodes under SHA-256."""
        self.leaves: list[bytes] = []
        self._hasher = blake3()
        self._block = BLOCK if rooted else 0
        """How many leaves are hashed into a node; 0: none, as the chain says enough."""

    def check(self, chunk: Chunk) -> bool:
        """Check the frames of `chunk`; False once one of them is at fault."""
        data, leaves, seq, chain = chunk.data, self.leaves, self.seq, self.chain
        hasher, leaf_head, block = self._hasher, _LEAF_HEAD.pack, self._block
        for start, (length, kind, claimed, _, before) in zip(chunk.starts, chunk.heads, strict=True):
            if claimed != seq or before != chain:
                return self._stop(chunk, start, seq, kind, splice(seq, claimed))
            end = start + _BODY + length
            stored = data[end : end + HASH_SIZE]
            hasher.reset()
            hasher.update(leaf_head(0, seq, kind) + data[start + _BODY : end])
            if hasher.digest() != stored:
                if length:
                    return self._stop(chunk, start, seq, kind, WRONG_LEAF)
                self.withheld.append(seq)
            hasher.reset()
            hasher.update(b"\x02" + chain + stored)
            chain = hasher.digest()
            seq += 1
            if not block:
                continue
            leaves.append(stored)
            if len(leaves) == block:
                self.tops.append(subtree(leaves))
                self.sums.append(sha256tree.subtree(leaves))
                leaves.clear()
        self.seq, self.chain = seq, chain
        return True

    def _stop(self, chunk: Chunk, start: int, seq: int, kind: int, how: tuple[int, str, str]) -> bool:
        self.fault = Fault(seq, kind, chunk.at + start, *how)
        return False


def scan_segment(file: BundleFile, at: int, seq: int, limit: int, chain: bytes) -> Scan:
    """Scan at most `limit` frames from byte `at` on."""
    scan = Scan(seq, chain)
    for chunk in file.walk(at, limit):
        if not scan.check(chunk):
            break
    return scan


def merge(mmr: Mmr, tree: sha256tree.Tree, scan: Scan) -> None:
    """Append what `scan` has hashed to the range, and to the tree under SHA-256, that end where it began."""
    for top, total in zip(scan.tops, scan.sums, strict=True):
        mmr.append_tree(top, HEIGHT)
        tree.append_tree(total, HEIGHT - sha256tree.ENTRY_HEIGHT)
    for leaf in scan.leaves:
        mmr.append(leaf)
        tree.add(leaf)


WRONG_LEAF: Final = (
    6,
    EDIT,
    "its payload or kind was edited: it does not match the leaf hash stored beside it",
)


def splice(seq: int, claimed: int) -> tuple[int, str, str]:
    """Nature and words of the fault of an event that does not follow the one before it."""
    if claimed != seq:
        return 4, SPLICE, f"events were spliced here: it says that it is event {claimed}"
    return 5, SPLICE, "events were spliced here: it does not continue the chain of those before it"
