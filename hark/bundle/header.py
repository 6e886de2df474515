"""Header and footer of a bundle as values, and their bytes.

What always holds: a footer or header that is read has the right types. Not done here: whether what they
claim is true (`hark.verify`), and whether the signature in the footer is good (`hark.bundle.tree_head`).
"""

from typing import Final, NamedTuple

from hark.bundle import anchor, cbor
from hark.bundle.anchor import Anchor, anchors_from_raw, anchors_to_raw
from hark.bundle.fields import BYTES, FIRST_EXTRA, HASH, INT, TEXT, UINT, UINTS, Layout, dump, load
from hark.bundle.tree_head import TreeHead, tree_head_from_raw, tree_head_to_raw
from hark.errors import BundleError


class Header(NamedTuple):
    """The first block of a bundle."""

    run_id: str = ""
    created_at: int = 0
    recorder: str = ""
    argv_hash: bytes = b""
    policy_hash: bytes = b""
    env_hash: bytes = b""
    parent_root: bytes = b""
    fork_point: int = 0
    patch_hash: bytes = b""


class Footer(NamedTuple):
    """The last block of a sealed bundle."""

    leaf_count: int = 0
    root: bytes = b""
    final_chain: bytes = b""
    tree_head: TreeHead | None = None
    rekor_entry: str = ""
    rekor_index: int = 0
    redacted: tuple[int, ...] = ()
    """Key 32: seqs, ascending, whose payloads were taken out and whose leaves were kept."""
    anchors: tuple[Anchor, ...] = ()
    """Key 33: entries in transparency logs, made after the file was sealed."""
    checkpoint: str = ""
    """Key 40: the signed checkpoint of the events under SHA-256, with what witnesses put under it."""


_HEADER: Final[Layout] = {
    1: TEXT, 2: INT, 3: TEXT, 4: BYTES, 5: BYTES, 6: BYTES, 7: BYTES, 8: UINT, 9: BYTES,
}  # fmt: skip
_TREE_HEAD_KEY: Final = 4
_FOOTER: Final[Layout] = {1: UINT, 2: HASH, 3: HASH, 5: TEXT, 6: INT, 32: UINTS, 40: TEXT}


def encode_header(header: Header) -> bytes:
    """The CBOR of `header`."""
    return cbor.encode(dump("header", _HEADER, header))


def decode_header(data: bytes) -> Header:
    """Read the CBOR of a header."""
    return Header(*load("header", _HEADER, cbor.decode(data)))


def encode_footer(footer: Footer) -> bytes:
    """The CBOR of `footer`."""
    values = (*footer[:3], *footer[4:7], footer.checkpoint)
    raw = dump("footer", _FOOTER, values)
    raw[_TREE_HEAD_KEY] = None if footer.tree_head is None else tree_head_to_raw(footer.tree_head)
    if footer.anchors:
        raw[anchor.KEY] = anchors_to_raw(footer.anchors)
    return cbor.encode(raw)


def decode_footer(data: bytes) -> Footer:
    """Read the CBOR of a footer."""
    raw = cbor.decode(data)
    count, root, chain, entry, index, redacted, checkpoint = load("footer", _FOOTER, raw)
    head = raw.get(_TREE_HEAD_KEY) if isinstance(raw, dict) else None
    tree_head = None if head is None else tree_head_from_raw(head)
    anchors = anchors_from_raw(raw.get(anchor.KEY) if isinstance(raw, dict) else None)
    return Footer(count, root, chain, tree_head, entry, index, redacted, anchors, checkpoint)


def decode_written_footer(data: bytes) -> Footer:
    """Like `decode_footer`, but every key of format 1 must be there, and none beside them below 32."""
    footer = decode_footer(data)
    raw = cbor.decode(data)
    known = {key: value for key, value in raw.items() if _is_ours(key)} if isinstance(raw, dict) else {}
    if cbor.encode(known) != encode_footer(footer):
        raise BundleError("the footer is not written as format 1 says: a key is missing or one too many")
    return footer


def _is_ours(key: cbor.Value) -> bool:
    """Whether the key must stand for something here; later versions may add others from 32 on."""
    return key in _FOOTER or key == anchor.KEY or not (isinstance(key, int) and key >= FIRST_EXTRA)
