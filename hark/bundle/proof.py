"""Inclusion proofs: that one leaf is among those under a root, without the others.

What always holds: whether siblings go left or right follows from index and count, never from the proof; a
proof whose shape is not the one that index and count demand is refused before anything is hashed. Not done
here: whether the root is the right one. A proof that carries its own root proves nothing until that root is
compared with one from elsewhere (a signed tree head, an anchor).
"""

import binascii
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final, NamedTuple

from hark.bundle.hashing import HASH_SIZE, node_hash
from hark.bundle.mmr import fold, mountain, subtree
from hark.bundle.tree_head import TreeHead, decode_tree_head, encode_tree_head
from hark.errors import BundleError

MAX_PROOF_FILE: Final = 1 << 16  # 64 siblings and 63 peaks in hexadecimal take 10 kB


class Proof(NamedTuple):
    """The way from one leaf to the root."""

    seq: int
    leaf_count: int
    siblings: tuple[bytes, ...]
    """Bottom up."""
    left_peaks: tuple[bytes, ...]
    right_peaks: tuple[bytes, ...]


class ProofFile(NamedTuple):
    """What `hark prove` writes: a proof with what it is about."""

    run: str
    leaf_hash: bytes
    root: bytes
    proof: Proof
    tree_head: TreeHead | None = None
    """Who signed the root; in JSON the hex of its CBOR under `tree_head`, absent if nobody did."""


def build(
    leaves: Iterable[bytes],
    index: int,
    count: int,
    node: Callable[[bytes, bytes], bytes] = node_hash,
    top: Callable[[list[bytes]], bytes] = subtree,
) -> Proof:
    """The proof for leaf `index`; `leaves` is read once, and no more than two mountains of it are kept.

    `node` hashes two nodes into one, and `top` a perfect subtree.
    """
    _, _, position = mountain(index, count)
    remaining = iter(leaves)
    peaks: list[bytes] = []
    siblings: tuple[bytes, ...] = ()
    start = 0
    for height in reversed([bit for bit in range(count.bit_length()) if count >> bit & 1]):
        hill = list(islice(remaining, 1 << height))
        if len(hill) != 1 << height:
            raise BundleError(f"there are fewer than {count} leaves")
        if len(peaks) == position:
            siblings = _path(hill, index - start, node)
        peaks.append(top(hill))
        start += 1 << height
    return Proof(index, count, siblings, tuple(peaks[:position]), tuple(peaks[position + 1 :]))


def _path(level: list[bytes], at: int, node: Callable[[bytes, bytes], bytes]) -> tuple[bytes, ...]:
    siblings = []
    while len(level) > 1:
        siblings.append(level[at ^ 1])
        level = [node(level[i], level[i + 1]) for i in range(0, len(level), 2)]
        at >>= 1
    return tuple(siblings)


def root_of(proof: Proof, leaf: bytes) -> bytes:
    """The root that `proof` leads to from `leaf`; a BundleError if its shape is wrong."""
    start, height, position = mountain(proof.seq, proof.leaf_count)
    expected = (height, position, proof.leaf_count.bit_count() - 1 - position)
    if (len(proof.siblings), len(proof.left_peaks), len(proof.right_peaks)) != expected:
        raise BundleError(
            f"the proof has the wrong shape for leaf {proof.seq} of {proof.leaf_count}: "
            f"{len(proof.siblings)} siblings, {len(proof.left_peaks)} and {len(proof.right_peaks)} peaks"
        )
    if any(len(part) != HASH_SIZE for part in (leaf, *proof.siblings, *proof.left_peaks, *proof.right_peaks)):
        raise BundleError(f"the proof holds a hash that has not {HASH_SIZE} bytes")
    at = proof.seq - start
    top = leaf
    for sibling in proof.siblings:
        top = node_hash(sibling, top) if at & 1 else node_hash(top, sibling)
        at >>= 1
    return fold([*proof.left_peaks, top, *proof.right_peaks])


def to_json(file: ProofFile) -> str:
    """The proof as format 1 writes it: two-space indent, lower-case hex, an empty list is null."""
    import json

    proof = file.proof
    fields: dict[str, object] = {
        "run": file.run,
        "seq": proof.seq,
        "leaf_hash": file.leaf_hash.hex(),
        "root": file.root.hex(),
        "leaf_count": proof.leaf_count,
        "siblings": _hex_list(proof.siblings),
        "left_peaks": _hex_list(proof.left_peaks),
        "right_peaks": _hex_list(proof.right_peaks),
    }
    if file.tree_head is not None:
        fields["tree_head"] = encode_tree_head(file.tree_head).hex()
    return json.dumps(fields, indent=2, ensure_ascii=False)


def from_json(text: str | bytes) -> ProofFile:
    """Read it; missing keys, wrong types and wrong sizes are a BundleError. Shape is checked by `root_of`."""
    import json

    if len(text) > MAX_PROOF_FILE:
        raise BundleError(f"not a proof: more than {MAX_PROOF_FILE} bytes")
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        raise BundleError("not a proof: it is not JSON") from None
    if not isinstance(raw, dict):
        raise BundleError("not a proof: it is not a JSON object")
    if not isinstance(raw.get("run"), str):
        raise BundleError("not a proof: run is missing or not text")
    proof = Proof(
        _number(raw, "seq"),
        _number(raw, "leaf_count"),
        _hashes(raw, "siblings"),
        _hashes(raw, "left_peaks"),
        _hashes(raw, "right_peaks"),
    )
    leaf, root = _hash("leaf_hash", raw.get("leaf_hash")), _hash("root", raw.get("root"))
    return ProofFile(raw["run"], leaf, root, proof, _tree_head(raw))


def _hex_list(hashes: tuple[bytes, ...]) -> list[str] | None:
    return [value.hex() for value in hashes] or None


def _number(raw: dict[str, Any], name: str) -> int:
    value = raw.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise BundleError(f"not a proof: {name} is missing or not a number")
    return value


def _hash(name: str, value: object) -> bytes:
    try:
        result = binascii.unhexlify(value) if isinstance(value, str) else b""
    except ValueError:
        result = b""
    if len(result) != HASH_SIZE:
        raise BundleError(f"not a proof: {name} is missing or not {HASH_SIZE} bytes in hexadecimal")
    return result


def _hashes(raw: dict[str, Any], name: str) -> tuple[bytes, ...]:
    value = raw.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BundleError(f"not a proof: {name} is not a list")
    return tuple(_hash(name, item) for item in value)


def _tree_head(raw: dict[str, Any]) -> TreeHead | None:
    value = raw.get("tree_head")
    if value is None:
        return None
    try:
        data = binascii.unhexlify(value) if isinstance(value, str) else b""
    except ValueError:
        data = b""
    return decode_tree_head(data)
