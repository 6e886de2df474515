"""What `hark prove -check` prints of a tlog-proof that holds."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hark.tlogproof import Checked


def report(checked: "Checked") -> list[str]:
    """The verdict line, what the event says, who signed and cosigned."""
    from hark.cli import output
    from hark.verify.result import Cosignature

    lines = [_verdict(checked)]
    lines.append(output.proved_event(checked.kind, checked.payload))
    lines.append(f"  leaf   {checked.leaf.hex()}")
    lines.append(f"  root   {checked.checkpoint.root.hex()} (SHA-256, {checked.checkpoint.size} entries)")
    lines.append(f"         {_source(checked)}")
    for name, seconds in checked.witnesses:
        lines.append(f"         {Cosignature(name, '', seconds, checked=True).sentence()}")
    return lines


def _verdict(checked: "Checked") -> str:
    from hark import prove
    from hark.bundle.bounds import kind_name
    from hark.visible import named

    kind = ", whose kind and content the proof does not show,"
    if checked.kind is not None:
        kind = f" ({kind_name(checked.kind)})"
    if checked.source == prove.FROM_OUTSIDE and not checked.pinned:
        claim = f"that it is in run {named(checked.run)} is the file's word"
        return f"PROVED: event {checked.seq}{kind} is under your root; {claim}"
    known = checked.source != prove.FROM_UNKNOWN_KEY or _own(checked)
    return f"{'PROVED' if known else 'UNVOUCHED'}: event {checked.seq}{kind} is in run {named(checked.run)}"


def _source(checked: "Checked") -> str:
    from hark import keys, prove
    from hark.cli import output

    signed = f"signed by {checked.signed_by.hex()} ({keys.name(checked.signed_by)})"
    if checked.source == prove.FROM_OUTSIDE:
        return f"which is the root that you gave, {signed}"
    pinned = checked.source == prove.FROM_PINNED_KEY
    return f"{signed}, {output.vouched(pinned=pinned, own=not pinned and _own(checked))}"


def _own(checked: "Checked") -> bool:
    """Whether the caller's own key signed the root."""
    from hark.cli.bundles import own_key

    return checked.signed_by == own_key()
