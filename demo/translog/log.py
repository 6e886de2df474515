"""One log: its entries, its tree, and what it signs of it, in Rekor's two shapes.

What always holds: an answer's proof leads from its body to the root in its checkpoint, at the size at which
the entry is the last or any later one; both shapes answer with a proof and a checkpoint, the first with a
signed entry timestamp besides. In the first shape an entry's number in the log is not its number in the tree,
as in Rekor, whose trees follow one another; a verifier that takes one for the other fails here.
"""

import hashlib
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from demo.translog import merkle, notes
from demo.translog.entries import canonical
from demo.translog.notes import b64

TREE_ID: Final = "0000000000007a11"
EARLIER: Final = 1000  # entries in trees before this one, in the first shape
TILE: Final = 256  # hashes in a tile, and entries in a bundle


class Proven(NamedTuple):
    """What the log says of an entry besides its body."""

    hashes: list[bytes]
    root: bytes
    size: int
    checkpoint: str
    promiser: notes.Signer


class Log:
    """Entries and a signer. Threads may add at once."""

    def __init__(self, signer: notes.Signer, origin: str) -> None:
        self.signer = signer
        self.origin = origin
        self.bodies: list[bytes] = []
        self.times: list[int] = []
        self.cosigners: list[Callable[[str], str]] = []
        """Each is given a signed checkpoint and returns lines to put under it."""
        self._lock = threading.Lock()

    def add(self, body: bytes, seconds: int) -> int:
        """Take an entry in and return its number in the tree; one that is there keeps its number."""
        with self._lock:
            if body in self.bodies:
                return self.bodies.index(body)
            self.bodies.append(body)
            self.times.append(seconds)
            return len(self.bodies) - 1

    def leaves(self) -> list[bytes]:
        """The leaf hashes."""
        return [merkle.leaf_hash(body) for body in self.bodies]

    def checkpoint(self) -> str:
        """The signed checkpoint of all there is, cosigned."""
        leaves = self.leaves()
        root = merkle.root(leaves)
        signed = notes.checkpoint(self.signer, self.origin, len(leaves), root)
        return signed + "".join(cosign(signed) for cosign in self.cosigners)

    def prove(self, index: int) -> Proven:
        """That an entry is in the log as it is now."""
        leaves = self.leaves()
        hashes, root = merkle.path(index, leaves), merkle.root(leaves)
        return Proven(hashes, root, len(leaves), self.checkpoint(), self.signer)

    def entry_v1(self, index: int, proven: Proven) -> dict[str, Any]:
        """The answer of Rekor v1 for one entry, without its name."""
        signed = {
            "body": b64(self.bodies[index]),
            "integratedTime": self.times[index],
            "logID": self.signer.key_id.hex(),
            "logIndex": EARLIER + index,
        }
        proof = {
            "checkpoint": proven.checkpoint,
            "hashes": [node.hex() for node in proven.hashes],
            "logIndex": index,
            "rootHash": proven.root.hex(),
            "treeSize": proven.size,
        }
        promise = b64(proven.promiser.sign(canonical(signed)))
        return signed | {"verification": {"inclusionProof": proof, "signedEntryTimestamp": promise}}

    def entry_v2(self, index: int, proven: Proven) -> dict[str, Any]:
        """The answer of Rekor v2 for one entry: a TransparencyLogEntry."""
        return {
            "logIndex": str(index),
            "logId": {"keyId": b64(self.signer.key_id)},
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.2"},
            "inclusionProof": {
                "logIndex": str(index),
                "rootHash": b64(proven.root),
                "treeSize": str(proven.size),
                "hashes": [b64(node) for node in proven.hashes],
                "checkpoint": {"envelope": proven.checkpoint},
            },
            "canonicalizedBody": b64(self.bodies[index]),
        }

    def uuid(self, index: int) -> str:
        """The name of an entry in the first shape: tree and leaf hash."""
        return TREE_ID + merkle.leaf_hash(self.bodies[index]).hex()

    def tile(self, level: int, number: int, width: int = TILE) -> bytes:
        """Hashes of C2SP's tlog-tiles; IndexError if the log is not that large."""
        span = TILE**level
        leaves, start = self.leaves(), number * TILE
        if (start + width) * span > len(leaves):
            raise IndexError("there is no such tile")
        return b"".join(
            merkle.root(leaves[at * span : (at + 1) * span]) for at in range(start, start + width)
        )

    def bundle(self, number: int, width: int = TILE) -> bytes:
        """Entries of C2SP's tlog-tiles."""
        bodies = self.bodies[number * TILE : number * TILE + width]
        if len(bodies) != width:
            raise IndexError("there is no such bundle of entries")
        return b"".join(len(body).to_bytes(2) + body for body in bodies)


def tlog_entry(answer: dict[str, Any]) -> dict[str, Any]:
    """A v1 answer as the TransparencyLogEntry of a bundle, which clients have to make of it themselves."""
    proof = answer["verification"]["inclusionProof"]
    return {
        "logIndex": str(answer["logIndex"]),
        "logId": {"keyId": b64(bytes.fromhex(answer["logID"]))},
        "kindVersion": {"kind": "hashedrekord", "version": "0.0.1"},
        "integratedTime": str(answer["integratedTime"]),
        "inclusionPromise": {"signedEntryTimestamp": answer["verification"]["signedEntryTimestamp"]},
        "inclusionProof": {
            "logIndex": str(proof["logIndex"]),
            "rootHash": b64(bytes.fromhex(proof["rootHash"])),
            "treeSize": str(proof["treeSize"]),
            "hashes": [b64(bytes.fromhex(node)) for node in proof["hashes"]],
            "checkpoint": {"envelope": proof["checkpoint"]},
        },
        "canonicalizedBody": answer["body"],
    }


def key_hash(public: bytes) -> bytes:
    """What a key is called by where no name is in it."""
    return hashlib.sha256(public).digest()
