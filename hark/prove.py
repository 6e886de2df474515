"""Proof files as people use them: the proof, and what the event says, so that one file can be read alone.

What always holds: the first keys of the file are those of `hark.bundle.proof`; behind them stand `kind` and
`payload` (hex; null if it was taken out or is over `MAX_INLINE` bytes). The text is ASCII without control
characters, whatever the bundle calls its run. A payload, from the file or from outside, is believed only if
its leaf hash is the proved one, and a kind only with its payload, since the leaf covers both and a proof
neither. Where a checked proof's root came from is always said, since a proof that brings its own root along
proves nothing about any run; so is whether run and number of events are more than the file's word, since a
root covers neither. Anchors of the tree head go along under `anchors`, and are judged again by whoever
checks. Making and checking the proof itself is `hark.verify.prove`'s.
"""

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hark.bundle import proof as proofs
from hark.bundle.bounds import kind_name
from hark.bundle.frame import Frame
from hark.bundle.hashing import leaf_hash
from hark.bundle.proof import ProofFile
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, TruncatedError
from hark.verify import prove as core
from hark.verify import proved_anchors as anchored
from hark.verify.result import TRUNCATED, AnchorResult

if TYPE_CHECKING:
    from hark.verify.anchor import Trust

MAX_INLINE: Final = 1 << 20  # bytes of payload that a proof file carries; more would bury the proof
MAX_FILE: Final = 4 << 20  # twice MAX_INLINE in hex, and a proof beside it
KINDS: Final = 256

FROM_OUTSIDE: Final = "outside"
FROM_PINNED_KEY: Final = "pinned key"
FROM_UNKNOWN_KEY: Final = "unknown key"
FROM_FILE: Final = "file"


class Made(NamedTuple):
    """A proof file's text, and what should be said about it."""

    text: str
    signed_by: bytes
    """The key that signed the root, empty if the bundle is unsigned."""
    left_out: str
    """Why the payload is not in the file, in words; empty if it is."""


class Checked(NamedTuple):
    """A proof that holds. `source` says where its root came from, one of the four words above."""

    file: ProofFile
    kind: int | None
    """None unless the payload was there: whatever kind the file names is its word alone."""
    payload: bytes | None
    """The event's own bytes, if they were there to be compared with the leaf."""
    source: str
    signed_by: bytes
    pinned: bool
    """That key is one that the caller named: then run and number of events are the signer's word too."""
    anchors: tuple[AnchorResult, ...] = ()
    """What became of the anchors in the file; none of them is rejected."""


def make(path: str, seq: int) -> Made:
    """Prove event `seq` of the bundle at `path`, after verifying all of it."""
    proven = core.prove(path, seq)
    if proven.result.verdict == TRUNCATED:
        raise TruncatedError(
            f"{path} has no footer: its writer was killed, so there is no root to prove under"
        )
    frame = _frame(path, seq)
    payload = None if seq in proven.result.redacted else frame.payload
    if payload is not None and leaf_hash(seq, frame.kind, payload) != proven.file.leaf_hash:
        raise BundleError(f"{path} has changed while the proof was made")
    record = json.loads(proofs.to_json(proven.file))
    left_out = _left_out(payload)
    record["kind"] = frame.kind
    record["payload"] = None if payload is None or left_out else payload.hex()
    if proven.result.anchors and (anchors := anchored.of_bundle(path)):
        record["anchors"] = anchors
    text = json.dumps(record, indent=2).replace(
        "\x7f", "\\u007f"
    )  # the control character that json lets through
    return Made(text, proven.result.public_key, left_out)


def _left_out(payload: bytes | None) -> str:
    if payload is None:
        return "its payload is redacted"
    return f"its payload of {len(payload)} bytes is too long for a proof" if len(payload) > MAX_INLINE else ""


def check(
    data: bytes,
    *,
    root: bytes | None = None,
    keys: tuple[bytes, ...] = (),
    payload: bytes | None = None,
    trust: "Trust | None" = None,
) -> Checked:
    """Check a proof file. Raises BundleError unless everything that was asked for holds.

    Anchors are judged by `trust`, that of the public logs unless given.
    """
    raw = _object(data)
    held = raw.pop("anchors", None)
    claimed, inline = _kind(raw.pop("kind", None)), _inline(raw.pop("payload", None))
    file = proofs.from_json(json.dumps(raw))
    checked = core.check(file, root=root, keys=keys, payload=payload if claimed is None else None)
    kind = None
    for given in (inline, payload):
        if given is not None:
            kind = _compared(file, checked.kind if claimed is None else claimed, given)
    if checked.root_from_outside:
        source = FROM_OUTSIDE
    else:
        source = FROM_PINNED_KEY if keys else FROM_UNKNOWN_KEY if checked.signed_by else FROM_FILE
    shown = inline if payload is None else payload
    anchors = () if held is None else anchored.judged_in(held, file.tree_head, trust)
    return Checked(file, kind, shown, source, checked.signed_by, checked.pinned, anchors)


def _frame(path: str, seq: int) -> Frame:
    """The frame at a place, found by the heads of those before it."""
    before = 0
    with BundleFile(path) as file:
        for chunk in file.walk():
            if seq < before + len(chunk.starts):
                return file.frame_at(chunk.at + chunk.starts[seq - before])
            before += len(chunk.starts)
    raise BundleError(f"{path} has changed while the proof was made")


def _object(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_FILE:
        raise BundleError(f"not a proof: more than {MAX_FILE} bytes")
    try:
        raw = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise BundleError("not a proof: it is not JSON") from None
    if not isinstance(raw, dict):
        raise BundleError("not a proof: it is not a JSON object")
    return raw


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BundleError("not a proof: a key stands in it twice")
    return found


def _kind(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < KINDS:
        raise BundleError(f"not a proof: kind is not a number below {KINDS}")
    return value


def _inline(value: object) -> bytes | None:
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return bytes.fromhex(value)
    except ValueError:
        pass
    raise BundleError("not a proof: payload is not hexadecimal")


def _compared(file: ProofFile, kind: int | None, payload: bytes) -> int:
    """The kind, now proved; a payload that is not the proved event's is refused."""
    if kind is None:
        raise BundleError("the proof holds a payload and not the event's kind, so the two cannot be compared")
    if leaf_hash(file.proof.seq, kind, payload) != file.leaf_hash:
        as_claimed = f"if its kind is the {kind_name(kind)} that the file names"
        raise BundleError(f"the payload is not that of event {file.proof.seq}, {as_claimed}")
    return kind
