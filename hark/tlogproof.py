"""One event as a `.tlog-proof`, which other tools check too: made from a bundle, and checked without it.

What always holds, in this order, for a proof that is checked: 1 the checkpoint is a run's, and signed by a
key that the caller named, else by the one in the file, which is then said; 2 the entry leads to the
checkpoint's root; 3 the event's leaf hash stands in the entry where its number says; 4 a payload, from the
file or from the caller, is that leaf's; 5 every witness that the caller named has cosigned the checkpoint.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hark.bundle import checkpoint, note, sha256tree, tlog_proof
from hark.bundle.bounds import kind_name
from hark.bundle.footing import footer_of
from hark.bundle.hashing import HASH_SIZE, leaf_hash
from hark.bundle.note import Checkpoint, Note, Verifier
from hark.bundle.sha256tree import TO_AN_ENTRY
from hark.bundle.tlog_proof import Extra, TlogProof
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, TruncatedError, UsageError
from hark.prove import FROM_OUTSIDE, FROM_PINNED_KEY, FROM_UNKNOWN_KEY, MAX_INLINE, Made
from hark.verify.result import BROKEN, REJECTED, TRUNCATED, Result
from hark.verify.steps import verify


class Checked(NamedTuple):
    """A proof that holds."""

    run: str
    seq: int
    kind: int | None
    """None unless the payload was there."""
    payload: bytes | None
    checkpoint: Checkpoint
    leaf: bytes
    source: str
    """Where the root came from, one of the words of `hark.prove`."""
    signed_by: bytes
    pinned: bool
    """That key is one that the caller named: then the run is the signer's word too."""
    witnesses: tuple[tuple[str, int], ...]
    """Names and Unix times of those who were asked for."""


def make(path: str, seq: int) -> Made:
    """Prove event `seq` of the bundle at `path`, after verifying all of it."""
    result = _verified(path, seq)
    with BundleFile(path) as file:
        _, footer = footer_of(file)
        size = sha256tree.size_of(result.events)
        leaves = (placed.frame.leaf for placed in file.frames())
        entry, hashes = sha256tree.prove(leaves, seq // TO_AN_ENTRY, size)
        frame = next(placed.frame for at, placed in enumerate(file.frames()) if at == seq)
    root = sha256tree.root_of(entry, seq // TO_AN_ENTRY, size, hashes)
    if result.tlog is None or root != result.tlog.root or frame.leaf != _leaf(entry, seq):
        raise BundleError(f"{path} has changed while the proof was made")
    redacted = seq in result.redacted
    left_out = ""
    if redacted:
        left_out = "its payload is redacted"
    elif len(frame.payload) > MAX_INLINE:
        left_out = f"its payload of {len(frame.payload)} bytes is too long for a proof"
    payload = b"" if left_out else frame.payload
    extra = Extra(seq, 0 if left_out else frame.kind, payload, entry, result.public_key)
    proof = TlogProof(tlog_proof.write_extra(extra), seq // TO_AN_ENTRY, hashes, footer.checkpoint)
    return Made(tlog_proof.write(proof), result.public_key, left_out)


def _verified(path: str, seq: int) -> Result:
    result = verify(path)
    if result.verdict in {BROKEN, REJECTED}:
        raise BundleError(f"nothing is proved from a bundle that does not verify: {result.line()}")
    if result.verdict == TRUNCATED:
        raise TruncatedError(
            f"{path} has no footer: its writer was killed, so there is no root to prove under"
        )
    if result.tlog is None:
        why = "nobody signed it" if not result.public_key else "an earlier hark wrote it"
        raise UsageError(
            f"{path} holds no checkpoint, since {why}; hark prove without -tlog proves its events"
        )
    if not 0 <= seq < result.events:
        raise UsageError(f"there is no event {seq} in {path}: it has {result.events}")
    return result


def check(
    data: bytes,
    *,
    root: bytes | None = None,
    keys: Sequence[bytes] = (),
    witnesses: Sequence[Verifier] = (),
    payload: bytes | None = None,
) -> Checked:
    """Check a proof. Raises BundleError unless everything that was asked for holds."""
    if len(data) > tlog_proof.MAX_PROOF:
        raise BundleError(f"not a proof: more than {tlog_proof.MAX_PROOF} bytes")
    proof = tlog_proof.read(data)
    extra = tlog_proof.read_extra(proof.extra)
    found, signed, key = _signed(proof, keys or (extra.public_key,))  # 1
    if root not in {None, found.root}:
        raise BundleError(f"the proof is for the root {found.root.hex()}, not for {(root or b'').hex()}")
    if sha256tree.root_of(extra.entry, proof.number, found.size, proof.hashes) != found.root:  # 2
        raise BundleError("the proof does not lead from its entry to the checkpoint's root")
    if extra.seq // TO_AN_ENTRY != proof.number:  # 3
        raise BundleError(f"event {extra.seq} is not in entry {proof.number}")
    leaf = _leaf(extra.entry, extra.seq)
    kind, shown = _payload(extra, leaf, payload)  # 4
    times = _cosigned(signed, witnesses)  # 5
    source = FROM_OUTSIDE if root is not None else FROM_PINNED_KEY if keys else FROM_UNKNOWN_KEY
    run = checkpoint.run_of(found.origin)
    return Checked(run, extra.seq, kind, shown, found, leaf, source, key, bool(keys), times)


def _signed(proof: TlogProof, keys: Sequence[bytes]) -> tuple[Checkpoint, Note, bytes]:
    """The checkpoint, and the key among these that signed it."""
    for key in keys[:-1]:
        try:
            return (*checkpoint.read(proof.checkpoint, key), key)
        except BundleError:
            continue
    return (*checkpoint.read(proof.checkpoint, keys[-1]), keys[-1])


def _leaf(entry: bytes, seq: int) -> bytes:
    """The event's leaf hash, where it stands in its entry."""
    at = seq % TO_AN_ENTRY * HASH_SIZE
    leaf = entry[at : at + HASH_SIZE]
    if len(leaf) != HASH_SIZE or len(entry) % HASH_SIZE or len(entry) > TO_AN_ENTRY * HASH_SIZE:
        raise BundleError(f"the proof's entry has no place for event {seq}")
    return leaf


def _payload(extra: Extra, leaf: bytes, given: bytes | None) -> tuple[int | None, bytes | None]:
    """Kind and payload, if the leaf is theirs."""
    if extra.payload and leaf_hash(extra.seq, extra.kind, extra.payload) != leaf:
        claim = f"if its kind is the {kind_name(extra.kind)} that the file names"
        raise BundleError(f"the payload is not that of event {extra.seq}, {claim}")
    if given is None:
        return (extra.kind, extra.payload) if extra.payload else (None, None)
    for kind in range(256):
        if leaf_hash(extra.seq, kind, given) == leaf:
            return kind, given
    raise BundleError(f"the payload is not that of event {extra.seq}")


def _cosigned(signed: Note, witnesses: Sequence[Verifier]) -> tuple[tuple[str, int], ...]:
    times = []
    for witness in witnesses:
        seconds = note.cosigned_at(signed, witness)
        if seconds is None:
            raise BundleError(
                f"the witness {witness.name}, who was asked for, has not cosigned the checkpoint"
            )
        times.append((witness.name, seconds))
    return tuple(times)
