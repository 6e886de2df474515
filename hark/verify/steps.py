"""Verification of a bundle, as a numbered list. Each number stands beside its code and has a test that
fails alone.

 1. The file begins with HARK and version 1; a header block follows. (Otherwise BundleError: not a bundle.)
 2. The header is deterministic CBOR with fields of the right type. (Otherwise BundleError.)
 3. Frames of at most 64 MiB follow one another up to the footer. If the file ends first, it is truncated.
 4. Sequence numbers count from 0 without a gap.
 5. Every frame names the chain value that its predecessors lead to.
 6. Every leaf is that of its frame's seq, kind and payload, unless the footer lists the event as redacted.
 7. The footer is deterministic CBOR with fields of the right type, and the file ends with it.
 8. The footer's number of events, root and final chain value are those of the frames.
 9. The events listed as redacted are those without payload, and neither RunStart nor Seal is among them.
10. The first event is RunStart and holds the hash of the header. It and the last RunEnd can be read.
11. The run id is the same in header, RunStart and signed tree head.
12. The last event is Seal, it is the only one, and its hash, counts and time are those of the frames.
13. The signed tree head is over this number of events and this root, and its signature is good.
14. Its key is one of those that the caller expects (`hark.verify.policy`).
15. Every anchor holds (`hark.verify.anchor`, whose own list is in `hark.anchor.judge`), or it is said that it
    cannot be checked and why; where the caller asks for an anchor, one holds, and where it names identities,
    one under one of these does, and none under another is there.
16. The checkpoint in the footer, if there is one, is the run's: of its id, number of events and root under
    SHA-256, and signed by the tree head's key (`hark.verify.tlog`). If the Seal says so, there is one.
17. Every witness that the caller names has cosigned the checkpoint.

Steps 10 to 12 are what hark adds to format 1: where another writer left RunStart's hash or the Seal out, the
limits say what is then not covered; likewise where there is no Seal and RunStart cannot be read. No payload
but those of RunStart, RunEnd and Seal is decoded, and PolicyLoaded's for a word in the result
(`hark.verify.overruled`).
"""

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from blake3 import blake3

from hark.bundle.bounds import (
    BODY_HASH,
    RUN_END_KIND,
    RUN_START,
    RUN_START_KIND,
    SEAL,
    SEAL_KIND,
    RunEnd,
    RunStart,
    Seal,
    decode_as,
    decode_exactly_as,
)
from hark.bundle.frame import LENGTH, MAX_PAYLOAD
from hark.bundle.header import Footer, decode_footer, decode_written_footer
from hark.bundle.tree_head import signature_is_good
from hark.bundle.walk import AT_CLAIM, AT_FOOTER, BundleFile
from hark.errors import BundleError
from hark.verify.facts import Facts, gather
from hark.verify.limits import limits
from hark.verify.overruled import overruled
from hark.verify.policy import check_anchors, check_pins
from hark.verify.result import BROKEN, TRUNCATED, AnchorResult, Finding, Result, Tlog, worst
from hark.verify.scan import EDIT, WRONG_LEAF, Fault

if TYPE_CHECKING:
    from hark.bundle.note import Verifier
    from hark.verify.anchor import Trust


class Ending(NamedTuple):
    """What stands after the frames."""

    footer: Footer | None = None
    finding: Finding | None = None


class Bounds(NamedTuple):
    """The events that bound the run, as far as they can be read."""

    start: RunStart | None
    end: RunEnd | None
    seal: Seal | None


def verify(
    path: str,
    keys: Sequence[bytes] = (),
    *,
    own: bytes = b"",
    workers: int | None = None,
    trust: "Trust | None" = None,
    witnesses: "Sequence[Verifier]" = (),
) -> Result:
    """Verify the bundle at `path`; with `keys`, only a signature by one of these public keys will do.

    A key that is `own`, the caller's, is called so and decides nothing. Anchors are judged by `trust`, that
    of the public logs unless given. Each of `witnesses` must have cosigned the run's checkpoint.

    Raises BundleError (TruncatedError if the file is too short) where there is no header to speak of. What is
    wrong with the rest is in the result. `workers` forked processes help; by default as many as pay.
    """
    with BundleFile(path) as file:  # 1, 2
        facts = gather(file, workers)  # 3 to 6: looks
        ending = _ending(file, facts)
        bounds = Bounds(_run_start(facts), _run_end(facts), _seal(facts))
        findings = _frames(file, facts, ending)
        if ending.finding is not None:
            findings.append(ending.finding)
        if _sound(findings):  # what follows compares with totals that a broken chain does not have
            findings += _totals(facts, ending.footer)
            findings += _legible(file, facts, bounds)
            findings += _header(file, bounds.start, ending.footer)
            findings += _sealing(facts, bounds.seal)
            findings += _signature(facts, ending.footer)
        tlog = None
        if _sound(findings):
            tlog, found = _tlog(file, facts, ending.footer, bounds.seal, witnesses)
            findings += found
        footer = ending.footer
        return _result(file, facts, footer, bounds, findings, keys=keys, own=own, trust=trust, tlog=tlog)


def _result(
    file: BundleFile,
    facts: Facts,
    footer: Footer | None,
    bounds: Bounds,
    findings: list[Finding],
    *,
    keys: Sequence[bytes],
    own: bytes,
    trust: "Trust | None",
    tlog: Tlog | None,
) -> Result:
    sound = _sound(findings)
    head = footer.tree_head if footer is not None and sound else None
    anchors = _anchors(footer, trust) if footer is not None and sound else ()
    if sound:
        findings = [*findings, *check_pins(head, keys)]  # 14
        if trust is not None:  # 15
            findings += check_anchors(anchors, required=trust.required, identified=bool(trust.identities))
        else:
            findings += check_anchors(anchors)  # 15
    verdict, ranked = worst(findings)
    denied = overruled(file) if sound else "no"
    result = Result(
        verdict=verdict,
        findings=ranked,
        limits=(),
        header=file.header,
        events=facts.events,
        redacted=footer.redacted if footer is not None else (),
        root=facts.root,
        final_chain=facts.chain,
        run_end=bounds.end if sound else None,
        public_key=head.public_key if head is not None else b"",
        pinned=head is not None and head.public_key in keys,
        trailing=file.size - facts.end_at if footer is None else 0,
        unsafe=denied == "yes",
        policy_known=denied != "taken out",
        end_known=bounds.end is not None or facts.run_end is None or bool(facts.run_end.payload),
        own=head is not None and head.public_key == own,
        tlog=tlog if sound else None,
        uncontained=bounds.start.uncontained if sound and bounds.start is not None else "",
        anchors=anchors,
    )
    header_covered = bounds.start is not None and bool(bounds.start.header_hash)
    times_covered = bounds.seal is not None and bounds.seal.own_time == _last_time(facts)
    hashed = bool(facts.counts.get(BODY_HASH))
    legible = bounds.start is not None or facts.start is None or facts.start.kind != RUN_START
    said = limits(
        result, legible=legible, header_covered=header_covered, times_covered=times_covered, hashed=hashed
    )
    return result._replace(limits=said)


def _anchors(footer: Footer, trust: "Trust | None") -> tuple[AnchorResult, ...]:
    """Step 15. What judges an anchor is loaded only where there is one."""
    if not footer.anchors and not footer.rekor_entry:
        return ()
    from hark.verify.anchor import Trust, judged

    return judged(footer, trust or Trust())


def _tlog(
    file: BundleFile,
    facts: Facts,
    footer: Footer | None,
    seal: Seal | None,
    witnesses: "Sequence[Verifier]",
) -> tuple[Tlog | None, list[Finding]]:
    """Steps 16 and 17. What judges a checkpoint is loaded only where there is one."""
    named = seal is not None and seal.checkpoint
    if not witnesses and not named and (footer is None or not footer.checkpoint):
        return None, []
    from hark.verify.tlog import judge

    return judge(footer, file.header.run_id, facts.events, facts.sha256_root, witnesses, named=named)


def _sound(findings: Sequence[Finding]) -> bool:
    return all(finding.verdict != BROKEN for finding in findings)


def _ending(file: BundleFile, facts: Facts) -> Ending:
    """Steps 3 and 7: how the frames end, and the footer."""
    if facts.end == AT_CLAIM:  # 3
        words = f"it claims a payload of {facts.claim} bytes; format 1 allows {MAX_PAYLOAD}"
        kind = file.read(facts.end_at + LENGTH.size, 1)
        found = Finding(BROKEN, 3, words, EDIT, facts.events, kind[0] if kind else 0, facts.end_at)
        return Ending(finding=found)
    if facts.end != AT_FOOTER:  # 3
        return Ending(finding=_truncated(file.size - facts.end_at))
    try:
        data = file.footer_block(facts.end_at)
        if data is None:
            return Ending(finding=_truncated(file.size - facts.end_at))
        footer = decode_written_footer(data) if facts.seals else decode_footer(data)  # 7
    except BundleError as error:
        return Ending(finding=Finding(BROKEN, 7, f"the footer cannot be read: {error}"))
    left = file.size - facts.end_at - 2 * LENGTH.size - len(data)
    if left:  # 7
        return Ending(footer, Finding(BROKEN, 7, f"{left} bytes follow the footer"))
    if footer.rekor_index and not footer.rekor_entry:
        return Ending(footer, Finding(BROKEN, 7, "the footer has an anchor's number, but no anchor"))
    return Ending(footer)


def _truncated(torn: int) -> Finding:
    words = "the writer was stopped before it sealed the file"
    return Finding(TRUNCATED, 3, f"{words}, the last {torn} bytes are a torn event" if torn else words)


def _frames(file: BundleFile, facts: Facts, ending: Ending) -> list[Finding]:
    """Steps 4 to 6 and 9: the first frame at fault, payloads taken out included."""
    candidates = [] if facts.fault is None else [facts.fault]
    if ending.footer is not None or ending.finding is None or ending.finding.verdict == TRUNCATED:
        # else there is no saying which payloads were taken out with leave
        candidates += _withheld(file, facts, ending.footer.redacted if ending.footer is not None else ())
    if not candidates:
        return []
    first = min(candidates, key=lambda fault: fault.seq)
    return [Finding(BROKEN, first.step, first.words, first.nature, first.seq, first.kind, first.offset)]


def _has(ascending: array[int], seq: int) -> bool:
    from bisect import bisect_left

    at = bisect_left(ascending, seq)
    return at < len(ascending) and ascending[at] == seq


def _withheld(file: BundleFile, facts: Facts, redacted: tuple[int, ...]) -> list[Fault]:
    listed, empty = (
        set(redacted),
        facts.withheld,
    )  # ascending, and as many as the file has frames: no set of it
    checked = facts.events if facts.fault is None else facts.fault.seq
    faults = []
    bare = next((seq for seq in empty if seq not in listed), None)
    if bare is not None:  # 6
        faults.append(_fault_at(file, bare, WRONG_LEAF))
    full = next((seq for seq in sorted(listed) if seq < checked and not _has(empty, seq)), None)
    if full is not None:  # 9
        faults.append(
            _fault_at(file, full, (9, EDIT, "the footer lists it as redacted, yet it has its payload"))
        )
    beyond = min((seq for seq in listed if seq >= facts.events), default=None)
    if beyond is not None:  # 9
        words = "the footer lists it as redacted, yet there is no such event"
        faults.append(Fault(beyond, 0, facts.end_at, 9, EDIT, words))
    if 0 in listed and facts.start is not None and facts.start.kind == RUN_START:  # 9
        faults.append(_fault_at(file, 0, (9, EDIT, "it is redacted, which the first event may not be")))
    if facts.events - 1 in listed and facts.last is not None and facts.last.kind == SEAL:  # 9
        faults.append(_fault_at(file, facts.events - 1, (9, EDIT, "it is redacted, which a Seal may not be")))
    return faults


def _fault_at(file: BundleFile, seq: int, how: tuple[int, str, str]) -> Fault:
    """The fault of event `seq`, which is looked up again: this is not the hot path."""
    before = 0
    for chunk in file.walk():
        index = seq - before
        if index < len(chunk.starts):
            return Fault(seq, chunk.heads[index][1], chunk.at + chunk.starts[index], *how)
        before += len(chunk.starts)
    raise BundleError(f"{file.path} has changed while it was read: there is no event {seq} any more")


def _totals(facts: Facts, footer: Footer | None) -> list[Finding]:
    """Step 8: the footer against the frames."""
    if footer is None:
        return []
    claims = (
        (footer.leaf_count, facts.events, "the footer counts another number of events"),
        (footer.root, facts.root, "the footer names another root than the events lead to"),
        (footer.final_chain, facts.chain, "the footer names another chain value than the events lead to"),
    )
    return [Finding(BROKEN, 8, words) for claimed, found, words in claims if claimed != found]


def _run_start(facts: Facts) -> RunStart | None:
    """The RunStart, None if another writer's first event is something else or cannot be read."""
    if facts.start is None or facts.start.kind != RUN_START:
        return None
    try:
        start: RunStart = decode_as(RUN_START_KIND, facts.start.payload)
    except (
        BundleError
    ):  # format 1 asks no verifier to decode payloads; the limits say what is then not covered
        return None
    return start


def _run_end(facts: Facts) -> RunEnd | None:
    try:
        end: RunEnd | None = decode_as(RUN_END_KIND, facts.run_end.payload) if facts.run_end else None
    except BundleError:
        return None
    return end


def _seal(facts: Facts) -> Seal | None:
    if facts.last is None or facts.last.kind != SEAL:
        return None
    try:
        seal: Seal = decode_exactly_as(SEAL_KIND, facts.last.payload)
    except BundleError:
        return None
    return seal


def _legible(file: BundleFile, facts: Facts, bounds: Bounds) -> list[Finding]:
    """Step 10: whoever seals a bundle, as hark does, writes RunStart and RunEnd as they can be read."""
    if not facts.seals:
        return []
    unread = []
    if facts.start is not None and facts.start.kind == RUN_START and bounds.start is None:
        unread.append(0)
    if facts.run_end is not None and facts.run_end.payload and bounds.end is None:  # else it was taken out
        unread.append(facts.run_end.seq)
    faults = (_fault_at(file, seq, (10, EDIT, "it cannot be read")) for seq in unread)
    return [Finding(BROKEN, one.step, one.words, one.nature, one.seq, one.kind, one.offset) for one in faults]


def _header(file: BundleFile, start: RunStart | None, footer: Footer | None) -> list[Finding]:
    """Steps 10 and 11: the header against RunStart and tree head."""
    findings = []
    if start is not None and start.header_hash not in {b"", blake3(file.header_bytes).digest()}:  # 10
        findings.append(
            Finding(BROKEN, 10, "the header was edited: RunStart holds the hash of another", EDIT)
        )
    if start is not None and start.run_id and start.run_id != file.header.run_id:  # 11
        findings.append(Finding(BROKEN, 11, "header and RunStart name different runs", EDIT))
    head = footer.tree_head if footer is not None else None
    if head is not None and head.run_id != file.header.run_id:  # 11
        findings.append(Finding(BROKEN, 11, "header and signed tree head name different runs"))
    return findings


def _sealing(facts: Facts, seal: Seal | None) -> list[Finding]:
    """Step 12: the Seal against every other frame's head."""
    if not facts.seals:
        return []
    if facts.last is None or facts.last.kind != SEAL or facts.seals > 1:
        return [Finding(BROKEN, 12, "events follow the Seal", EDIT)]
    if seal is None:
        return [_at_last(facts, "it cannot be read")]
    if seal.frames_hash != facts.frames_hash:
        return [_at_last(facts, "the time of an event was edited: the Seal is over others")]
    if dict(seal.counts) != facts.counts:
        return [_at_last(facts, "it counts other events than there are")]
    if seal.own_time not in {0, facts.last.time}:
        return [_at_last(facts, "its own time was edited")]
    return []


def _at_last(facts: Facts, words: str) -> Finding:
    return Finding(BROKEN, 12, words, EDIT, facts.events - 1, SEAL, facts.last_at)


def _last_time(facts: Facts) -> int:
    return facts.last.time if facts.last is not None else 0


def _signature(facts: Facts, footer: Footer | None) -> list[Finding]:
    """Step 13: what was signed, and that it was."""
    head = footer.tree_head if footer is not None else None
    if head is None:
        return []
    if (head.leaf_count, head.root) != (facts.events, facts.root):
        return [Finding(BROKEN, 13, "the signed tree head is over other events than these")]
    if not signature_is_good(head):
        return [Finding(BROKEN, 13, "the signature of the tree head is not good")]
    return []
