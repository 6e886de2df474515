"""Proofs of single events: made from bundles that were verified, checked against roots from outside.

What always holds: a proof is made only from a bundle that verifies up to its end, and is checked against
the root that verification computed before it is handed out. A check says whether the root came from
outside: a proof that is only consistent with its own root says nothing.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hark.bundle.hashing import leaf_hash
from hark.bundle.header import decode_footer
from hark.bundle.proof import ProofFile, build, root_of
from hark.bundle.tree_head import TreeHead, signature_is_good
from hark.bundle.walk import AT_FOOTER, BundleFile
from hark.errors import BundleError, UsageError
from hark.verify.result import BROKEN, REJECTED, Result
from hark.verify.steps import verify


class Proven(NamedTuple):
    """A proof, and the verdict on the bundle that it was made from."""

    file: ProofFile
    result: Result


class Checked(NamedTuple):
    """What a proof that holds says. What does not hold is a BundleError instead."""

    root_from_outside: bool
    """The root was given by the caller."""
    signed_by: bytes
    """The key of a good signature over this root, empty if the proof has none."""
    pinned: bool
    """That key was given by the caller."""
    kind: int | None
    """The kind of the event, known if its payload was given."""


def prove(path: str, seq: int, keys: Sequence[bytes] = ()) -> Proven:
    """The proof for event `seq`; a BundleError if the bundle is broken or rejected."""
    result = verify(path, keys)
    if result.verdict in {BROKEN, REJECTED}:
        raise BundleError(f"nothing is proved from a bundle that does not verify: {result.line()}")
    if not 0 <= seq < result.events:
        raise UsageError(f"there is no event {seq} in {path}: it has {result.events}")
    with BundleFile(path) as file:
        proof = build(_leaves(file), seq, result.events)
        leaf = next(leaf for index, leaf in enumerate(_leaves(file)) if index == seq)
        head = _tree_head(file)
    if root_of(proof, leaf) != result.root:
        raise BundleError(f"{path} has changed while the proof was made")
    return Proven(ProofFile(result.header.run_id, leaf, result.root, proof, head), result)


def check(
    file: ProofFile, *, root: bytes | None = None, keys: Sequence[bytes] = (), payload: bytes | None = None
) -> Checked:
    """Check a proof; a BundleError says what does not hold.

    `root` comes from outside (a tree head, an anchor); `keys` are those whose signature will do; `payload`
    is what the caller believes the event to be.
    """
    if root_of(file.proof, file.leaf_hash) != file.root:
        raise BundleError("the proof does not lead from its leaf to its root")
    if root is not None and root != file.root:
        raise BundleError(f"the proof is for the root {file.root.hex()}, not for {root.hex()}")
    signed_by = _signer(file)
    if keys and signed_by not in keys:
        raise BundleError("the proof carries no signature by the key that was asked for")
    kind = None if payload is None else _kind(file, payload)
    return Checked(root is not None, signed_by, bool(keys), kind)


def _leaves(file: BundleFile) -> Iterator[bytes]:
    for placed in file.frames():
        yield placed.frame.leaf


def _tree_head(file: BundleFile) -> TreeHead | None:
    walk = file.walk()
    for _ in walk:
        pass
    data = file.footer_block(walk.at) if walk.end == AT_FOOTER else None
    return None if data is None else decode_footer(data).tree_head


def _signer(file: ProofFile) -> bytes:
    head = file.tree_head
    if head is None:
        return b""
    if (head.run_id, head.leaf_count, head.root) != (file.run, file.proof.leaf_count, file.root):
        raise BundleError("the signed tree head in the proof is over something else")
    if not signature_is_good(head):
        raise BundleError("the signature in the proof is not good")
    return head.public_key


def _kind(file: ProofFile, payload: bytes) -> int:
    """The kind that makes `payload` the proved event; a proof does not name it."""
    for kind in range(256):
        if leaf_hash(file.proof.seq, kind, payload) == file.leaf_hash:
            return kind
    raise BundleError(f"the payload is not that of event {file.proof.seq}")
