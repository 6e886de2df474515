"""The checkpoint in the footer, and who has cosigned it: steps 16 and 17 of `hark.verify.steps`.

What always holds: nothing is said of a checkpoint that is not over these events and signed by the run's key.
A cosignature counts only by a key that the caller named; of every other it is said that it was not checked.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hark.bundle import checkpoint, note
from hark.bundle.header import Footer
from hark.bundle.note import Checkpoint, Note, Verifier
from hark.bundle.sha256tree import size_of
from hark.errors import BundleError
from hark.verify.result import BROKEN, REJECTED, Cosignature, Finding, Tlog
from hark.visible import visible


class Judged(NamedTuple):
    """What came out, and what is wrong."""

    tlog: Tlog | None
    findings: list[Finding]


def judge(
    footer: Footer | None,
    run_id: str,
    events: int,
    root: bytes,
    witnesses: Sequence[Verifier],
    *,
    named: bool,
) -> Judged:
    """Both steps; `events` and `root` (under SHA-256) are those of the frames, `named` is the Seal's word."""
    if footer is not None and named and not footer.checkpoint:
        words = "the Seal says that the footer holds a checkpoint, and it holds none"
        return Judged(None, [Finding(BROKEN, 16, words)])
    if footer is None or not footer.checkpoint:
        words = "it holds no checkpoint, and a cosignature was asked for"
        return Judged(None, [Finding(REJECTED, 17, words)] if witnesses else [])
    try:
        signed = _read(footer, Checkpoint(checkpoint.origin(run_id), size_of(events), root))  # 16
    except BundleError as error:
        return Judged(
            None, [Finding(BROKEN, 16, visible(f"the checkpoint in the footer does not hold: {error}"))]
        )
    good, findings = _named(signed, witnesses)  # 17
    known = {(witness.name, witness.key_id) for witness in witnesses}
    others = [
        Cosignature(one.name, one.key_id.hex(), seconds)
        for one in signed.signatures
        if (seconds := note.claimed_time(one.signature)) is not None and (one.name, one.key_id) not in known
    ]
    key = footer.tree_head.public_key if footer.tree_head else b""
    vkey = checkpoint.verifier(run_id, key).text()
    return Judged(Tlog(checkpoint.origin(run_id), root, vkey, (*good, *others)), findings)


def _read(footer: Footer, expected: Checkpoint) -> Note:
    """The note, if it is the one that the run's key had to sign."""
    if footer.tree_head is None:
        raise BundleError("there is no signed tree head beside it, whose key it would be by")
    found, signed = checkpoint.read(footer.checkpoint, footer.tree_head.public_key)
    if found != expected:
        raise BundleError("it is over other events than these")
    return signed


def _named(signed: Note, witnesses: Sequence[Verifier]) -> tuple[list[Cosignature], list[Finding]]:
    """The good cosignatures of witnesses that the caller named, and what is wrong with the others."""
    good, findings = [], []
    for witness in witnesses:
        try:
            seconds = note.cosigned_at(signed, witness)
        except BundleError as error:
            findings.append(Finding(REJECTED, 17, visible(str(error))))
            continue
        if seconds is None:
            words = f"the witness {witness.name}, who was asked for, has not cosigned it"
            findings.append(Finding(REJECTED, 17, visible(words)))
        else:
            good.append(Cosignature(witness.name, witness.key_id.hex(), seconds, checked=True))
    return good, findings
