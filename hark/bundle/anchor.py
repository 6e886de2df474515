"""What a footer holds of an anchor (key 33), and what of a bundle is anchored.

What always holds: the artifact that a log's entry names is the signed tree head, as CBOR, so run, size, root,
time, key and signature are all under it. The anchoring key is P-256, made for one anchor, and certified by
the key that signed the tree head: logs do not take that one. Nothing is judged here (`hark.anchor`,
`hark.verify.anchor`).
"""

from typing import Final, NamedTuple

from hark.bundle import cbor
from hark.bundle.fields import BYTES, Layout, dump, load
from hark.bundle.tree_head import SigningKey, TreeHead, encode_tree_head, is_signature
from hark.errors import BundleError

KEY: Final = 33
MAX_ANCHORS: Final = 8  # each is checked by whoever verifies; one a log is enough
DOMAIN: Final = b"hark/anchor-key/v1"


class Anchor(NamedTuple):
    """One anchor."""

    bundle: bytes
    """A sigstore bundle (JSON): signature, log entry, proof, checkpoint, time stamps."""
    key: bytes = b""
    """The anchoring key (DER); empty where a certificate in the sigstore bundle holds it."""
    certification: bytes = b""
    """Signature of the tree head's key over the anchoring key."""


_LAYOUT: Final[Layout] = {1: BYTES, 2: BYTES, 3: BYTES}


def artifact(head: TreeHead) -> bytes:
    """Return what is anchored."""
    return encode_tree_head(head)


def certified_bytes(head: TreeHead, key: bytes) -> bytes:
    """Return what the tree head's key signs to say that it anchors this head with `key`."""
    from hashlib import sha256  # who reads a bundle without an anchor does not pay for it

    return DOMAIN + sha256(artifact(head)).digest() + key


def certify(signer: SigningKey, head: TreeHead, key: bytes) -> bytes:
    """Certify an anchoring key."""
    return signer.sign(certified_bytes(head, key))


def is_certified(anchor: Anchor, head: TreeHead) -> bool:
    """Tell whether the key of the tree head has certified the anchoring key, for this head."""
    return is_signature(head.public_key, anchor.certification, certified_bytes(head, anchor.key))


def anchors_to_raw(anchors: tuple[Anchor, ...]) -> list[dict[int, object]]:
    """The list that a footer holds under key 33."""
    return [dump("anchor", _LAYOUT, anchor) for anchor in anchors]


def anchors_from_raw(raw: cbor.Value) -> tuple[Anchor, ...]:
    """Read that list."""
    if raw is None:
        return ()
    if not isinstance(raw, list | tuple) or len(raw) > MAX_ANCHORS:
        raise BundleError(f"footer: key {KEY} is not a list of at most {MAX_ANCHORS} anchors")
    return tuple(Anchor(*load("anchor", _LAYOUT, one)) for one in raw)
