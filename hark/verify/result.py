"""The verdict as a value: what `hark verify`, the report and JSON all print.

What always holds: there is one verdict and one line for it; the worst finding decides both and the exit
code; what the verdict does not say stands beside it in words. Text from the file stands in quotes unless it
is one plain word, so that it cannot pass for a part of the verdict.
"""

from typing import Final, NamedTuple

from hark.bundle.bounds import RunEnd, kind_name
from hark.bundle.header import Header
from hark.bundle.lineage import ORIGINAL, Lineage, lineage_of
from hark.bundle.outcome import describe
from hark.visible import named, printable, quoted, visible

VERIFIED: Final = "VERIFIED"
TRUNCATED: Final = "TRUNCATED"
REJECTED: Final = "REJECTED"
BROKEN: Final = "BROKEN"

SEVERITY: Final = (VERIFIED, TRUNCATED, REJECTED, BROKEN)
"""From best to worst."""
EXIT_CODES: Final = {VERIFIED: 0, TRUNCATED: 3, REJECTED: 1, BROKEN: 1}

ANCHORED: Final = "anchored"
UNCHECKABLE: Final = "not checkable"
ANCHOR_REJECTED: Final = "rejected"

FOOTER: Final = "footer"
"""Beside `edit` and `splice` of `hark.verify.scan`: what closes the frames does not fit them."""


class Finding(NamedTuple):
    """Something that keeps a bundle from being VERIFIED."""

    verdict: str
    step: int
    """The number of the step that found it, as in `hark.verify.steps`."""
    words: str
    nature: str = FOOTER
    """edit, splice or footer."""
    seq: int | None = None
    kind: int | None = None
    offset: int | None = None

    def sentence(self) -> str:
        """The finding, with the event that it is about."""
        if self.seq is None or self.kind is None:
            return self.words
        return f"event {self.seq} ({kind_name(self.kind)}, at byte {self.offset}): {self.words}"


class AnchorResult(NamedTuple):
    """What judging one anchor came to; the fields behind `why` are those of `hark.anchor.outcome.Held`."""

    state: str
    """anchored, not checkable or rejected."""
    why: str = ""
    """Why not, as a clause; empty where it holds."""
    log: str = ""
    number: int = 0
    time: int = 0
    """Unix seconds."""
    clock: str = ""
    identity: str = ""
    issuer: str = ""
    witnesses: tuple[str, ...] = ()
    expected: bool = False
    """Whether the identity is one that the caller asked for."""

    def under(self) -> str:
        """Whose certificate it is; empty where the run's key anchored."""
        if not self.identity:
            return ""
        return (
            f"under the identity {named(self.identity)}, for which {named(self.issuer or 'nobody')} vouches"
        )

    def when(self) -> str:
        """The time that somebody else vouches for, to the second."""
        from time import gmtime, strftime

        return strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(self.time))

    def sentence(self) -> str:
        """Everything that there is to say of it."""
        if self.state != ANCHORED:
            return f"Its anchor is {self.state}: {printable(self.why)}."
        where = f"entry {self.number} of {visible(self.log)}"
        words = f"It is anchored: {where}, {self.when()} by {visible(self.clock)}"
        if self.identity:
            words += f", {self.under()}"
        if self.witnesses:
            words += f", cosigned by {', '.join(map(named, self.witnesses))}"
        return f"{words}."

    def record(self) -> dict[str, object]:
        """The same for programs."""
        return self._asdict() | {"witnesses": list(self.witnesses), "words": self.sentence()}


NOT_ANCHORED: Final = "It is not anchored."


class Cosignature(NamedTuple):
    """A witness's word under the run's checkpoint."""

    name: str
    key_id: str
    time: int
    """Unix seconds, as the witness says."""
    checked: bool = False
    """Whether the caller named the witness's key, and it is good; else it is anybody's word."""

    def sentence(self) -> str:
        """What there is to say of it."""
        from time import gmtime, strftime

        if not self.checked:
            return (
                f"A cosignature in the name of {named(self.name)} stands under its checkpoint"
                " and was not checked: -witness KEY does."
            )
        try:
            when = strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(self.time))
        except (OverflowError, OSError, ValueError):  # a time beyond every calendar
            when = f"at second {self.time}"
        return f"It is cosigned by {named(self.name)}, {when}."


class Tlog(NamedTuple):
    """The run's checkpoint, which is its key's and over its events."""

    origin: str
    root: bytes
    """Under SHA-256."""
    verifier_key: str
    """The run's key, as tools for notes want it."""
    cosignatures: tuple[Cosignature, ...] = ()

    def record(self) -> dict[str, object]:
        """The same for programs."""
        cosignatures = [one._asdict() for one in self.cosignatures]
        return self._asdict() | {"root": self.root.hex(), "cosignatures": cosignatures}


class Result(NamedTuple):
    """What verification found. `line()` is the verdict line."""

    verdict: str
    findings: tuple[Finding, ...]
    """Worst first."""
    limits: tuple[str, ...]
    """What this verdict does not say, in whole sentences."""
    header: Header
    events: int
    """Whole events in the file."""
    redacted: tuple[int, ...]
    root: bytes
    final_chain: bytes
    run_end: RunEnd | None
    public_key: bytes
    """Of whoever signed; empty if nobody did, or if the signature is not good."""
    pinned: bool
    """Whether that key is one that the caller named."""
    trailing: int
    """Bytes of a torn event or footer at the end."""
    unsafe: bool = False
    """Whether the run was started with `--unsafe-allow-all`, by its own record."""
    policy_known: bool = True
    """Whether what says so is there; anybody with a copy can take it out."""
    end_known: bool = True
    """Whether what says how the run ended was not taken out."""
    own: bool = False
    """Whether that key is the caller's own; it is said, and decides nothing."""
    uncontained: str = ""
    """Where it ran what was recorded, by its own record, if no boundary stood around it."""
    anchors: tuple[AnchorResult, ...] = ()
    """What became of each anchor in the bundle; none of a bundle that is broken."""
    tlog: Tlog | None = None
    """The checkpoint for witnesses and other tools; None where there is none, or it does not hold."""

    @property
    def anchored(self) -> bool:
        """Whether an anchor holds, and none is rejected."""
        states = {anchor.state for anchor in self.anchors}
        return ANCHORED in states and ANCHOR_REJECTED not in states

    @property
    def exit_code(self) -> int:
        """The exit code of `hark verify`."""
        return EXIT_CODES[self.verdict]

    @property
    def lineage(self) -> Lineage:
        """Where the run comes from; of a bundle that is not sound, nothing is believed."""
        return ORIGINAL if self.verdict == BROKEN else lineage_of(self.header)

    @property
    def cosignatures(self) -> tuple[Cosignature, ...]:
        """What witnesses have put under the checkpoint."""
        return self.tlog.cosignatures if self.tlog is not None else ()

    def line(self) -> str:
        """The one line that says what came out."""
        parts = [self.findings[0].sentence()] if self.findings else [self._end()]
        if self.verdict == TRUNCATED and self.run_end is not None:
            parts.append(describe(self.run_end))
        count = "1 event" if self.events == 1 else f"{self.events} events"
        parts.append(f"what is there verifies: {count}" if self.verdict == TRUNCATED else count)
        if self.redacted:
            parts.append(f"REDACTED {len(self.redacted)}")
        if self.unsafe:
            parts.append("UNSAFE: every host was allowed (--unsafe-allow-all)")
        if not self.policy_known:
            parts.append("POLICY REDACTED: whether every host was allowed is not known")
        if self.uncontained:
            parts.append(f"UNCONTAINED: recorded in {quoted(self.uncontained)}, with no boundary around it")
        if self.verdict == VERIFIED:
            parts.append(self._signature())
            if self.anchored:
                parts.append(f"anchored {self._anchor()}")
            elif self.anchors:
                parts.append("anchor not checkable")
            checked = [one for one in self.cosignatures if one.checked]
            if checked:
                parts.append(f"cosigned by {', '.join(named(one.name) for one in checked)}")
        parts.append(f"run {named(self.header.run_id)}")
        return f"{self.verdict}: {', '.join(parts)}"

    def _end(self) -> str:
        return describe(self.run_end) if self.end_known else "how the run ended was redacted"

    def said_of_anchors(self) -> list[str]:
        """Sentences on the anchors, and on there being none."""
        if self.verdict == BROKEN:
            return []
        return [anchor.sentence() for anchor in self.anchors] or [NOT_ANCHORED]

    def _anchor(self) -> str:
        """The earliest anchor, or the earliest under an identity that was asked for."""
        held = [anchor for anchor in self.anchors if anchor.state == ANCHORED]
        first = min(held, key=lambda anchor: (not anchor.expected, anchor.time))
        if not first.identity:
            return first.when()
        whose = "the expected identity" if first.expected else "an identity that nobody asked for,"
        return f"{first.when()} under {whose} {named(first.identity)} ({named(first.issuer or 'nobody')})"

    def _signature(self) -> str:
        if not self.public_key:
            return "unsigned"
        if self.pinned:
            whose = "the expected key"
        else:
            whose = "your own key" if self.own else "a key that nobody vouches for,"
        return f"signed by {whose} {self.public_key.hex()}"


def worst(findings: list[Finding]) -> tuple[str, tuple[Finding, ...]]:
    """The verdict that `findings` come to, and they themselves, worst first, else in the order found."""
    ranked = sorted(findings, key=lambda finding: -SEVERITY.index(finding.verdict))
    return (ranked[0].verdict if ranked else VERIFIED), tuple(ranked)
