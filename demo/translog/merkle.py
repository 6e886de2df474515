"""The Merkle tree of RFC 6962, section 2.1, in the words of the RFC: recursive and without a cache.

What always holds: nothing here is shared with what hark verifies by, which climbs from the leaf by other
rules; so that a log and a verifier that agree have not made one mistake twice. It is meant for the few
entries of a demo or test, not for a log that grows.
"""

import hashlib


def leaf_hash(entry: bytes) -> bytes:
    """The hash of one entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two neighbours."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def split(count: int) -> int:
    """The largest power of two smaller than `count`: where a tree falls in two."""
    return 1 << (count - 1).bit_length() - 1


def root(leaves: list[bytes]) -> bytes:
    """MTH: the hash of the tree over `leaves`, which are leaf hashes."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return node_hash(root(leaves[:k]), root(leaves[k:]))


def path(index: int, leaves: list[bytes]) -> list[bytes]:
    """PATH: the audit path of leaf `index`, its own neighbour first."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if index < k:
        return [*path(index, leaves[:k]), root(leaves[k:])]
    return [*path(index - k, leaves[k:]), root(leaves[:k])]


def consistency(old: int, leaves: list[bytes]) -> list[bytes]:
    """PROOF: that the first `old` of `leaves` begin the tree over them all; empty for none or all."""
    return [] if old in {0, len(leaves)} else _subproof(old, leaves, whole=True)


def _subproof(old: int, leaves: list[bytes], *, whole: bool) -> list[bytes]:
    if old == len(leaves):
        return [] if whole else [root(leaves)]
    k = split(len(leaves))
    if old <= k:
        return [*_subproof(old, leaves[:k], whole=whole), root(leaves[k:])]
    return [*_subproof(old - k, leaves[k:], whole=False), root(leaves[:k])]


def consistent(old: int, size: int, old_root: bytes, root: bytes, proof: list[bytes]) -> bool:
    """Whether `proof` leads to both roots (RFC 9162, section 2.1.4.2)."""
    if old == size:
        return not proof and old_root == root
    if old == 0:
        return not proof
    nodes = [old_root, *proof] if old.bit_count() == 1 else list(proof)
    if not nodes or old > size:
        return False
    at, last = old - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    first = second = nodes.pop(0)
    for node in nodes:
        if last == 0:
            return False
        if at & 1 or at == last:
            first, second = node_hash(node, first), node_hash(node, second)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            second = node_hash(second, node)
        at, last = at >> 1, last >> 1
    return last == 0 and (first, second) == (old_root, root)
