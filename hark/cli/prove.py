"""`hark prove`: one event's inclusion proof, made from a bundle or checked without it."""

import sys
from typing import TYPE_CHECKING, Final

from hark.cli import options
from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import BundleError, UsageError

if TYPE_CHECKING:
    from hark.prove import Checked

SPEC: Final = Spec(
    "prove",
    "prove that one event is in a bundle, or check such a proof",
    options=(
        Option("seq", "the number of the event to prove", "N"),
        Option("out", "write the proof to FILE, which must not exist (default: print it)", "FILE"),
        Option("tlog", "make a C2SP tlog-proof of it, under the run's checkpoint, for other tools"),
        Option("check", "check the proof in FILE instead of making one; needs no bundle", "FILE"),
        Option("root", "with -check: the root that you have from elsewhere", "HEX"),
        Option("key", "with -check: the public key that must have signed the root", "HEX|FILE", repeat=True),
        Option(
            "witness", "with -check of a tlog-proof: the witness that must have cosigned", "KEY", repeat=True
        ),
        Option(
            "trusted-root", "with -check: judge anchors by this trusted_root.json, not the public one", "FILE"
        ),
        *options.ANCHORER,
        Option("payload", "with -check: compare the event with the payload bytes in FILE", "FILE"),
    ),
    positionals=(Positional("BUNDLE", "the bundle to prove from; not with -check", optional=True),),
    about="""\
A proof is made only after the whole bundle has verified. It is JSON, holds the event's payload (up to
1 MiB), the signed tree head and its anchors, and can be checked offline, without the other events.

A proof brings its own root along. So -check says where the root came from: from you (-root), from a
tree head signed by a key that you pinned (-key), from a tree head whose key nobody vouched for, or
from the file alone, which anybody can write. The first two are PROVED; the third is UNVOUCHED, since
whoever holds that key could have written the proof; the last is NOT PROVED. A root alone says nothing
of the run and the number of its events, and a proof without a payload nothing of the event's kind.

With -tlog the proof is a text under the run's signed checkpoint (docs/tlog.md). -check tells it by its
first line; -key, -root (under SHA-256) and -payload mean the same there.

Exit code of -check: 0 what was asked for holds, 1 it does not, or the root came from the file alone,
2 usage.""",
)

HASH_DIGITS: Final = 64


def run(args: Args) -> int:
    """Make a proof, or check one."""
    making = ("seq", "out", "tlog")
    checking = ("root", "key", "witness", "trusted-root", "identity", "issuer", "payload")
    bundle, proof = args.optional("BUNDLE"), args.text("check")
    if proof is None:
        _refuse(args, checking, "goes only with -check FILE")
        if bundle is None:
            raise UsageError("hark prove needs -seq N and a BUNDLE, or -check FILE")
        return _make(args, bundle)
    _refuse(args, making, "does not go with -check")
    if bundle is not None:
        raise UsageError(f"-check needs the proof alone, and no use is made of {bundle}")
    return _check(args, proof)


def _refuse(args: Args, names: tuple[str, ...], why: str) -> None:
    for name in names:
        if args.texts(name):
            raise UsageError(f"-{name} {why}")


def _make(args: Args, bundle: str) -> int:
    from hark import keys, prove
    from hark.cli.bundles import checked, write_new
    from hark.cli.output import error_line

    seq = args.number("seq")
    if seq is None:
        raise UsageError("hark prove needs -seq N, the number of the event")
    if args.flag("tlog"):
        from hark import tlogproof

        made = tlogproof.make(checked(bundle), seq)
    else:
        made = prove.make(checked(bundle), seq)
    out = args.text("out")
    if out is None:
        print(made.text.removesuffix("\n"))
    else:
        write_new(out, (made.text.removesuffix("\n") + "\n").encode())
    if made.left_out:
        error_line(f"the proof does not show what event {seq} says, nor its kind: {made.left_out}")
    if made.signed_by:
        error_line(f"the root is signed by {made.signed_by.hex()} ({keys.name(made.signed_by)})")
    else:
        error_line("the bundle is unsigned: only who has its root from elsewhere can check this proof")
    return 0


def _check(args: Args, path: str) -> int:
    from hark import prove
    from hark.bundle import tlog_proof
    from hark.bundle.frame import MAX_PAYLOAD
    from hark.cli import output
    from hark.cli.bundles import pinned, read, witness_keys
    from hark.cli.verify import identities, trust

    root = _root(args.text("root"))
    keys = pinned(args.texts("key"))
    payload_path = args.text("payload")
    payload = None if payload_path is None else read(payload_path, MAX_PAYLOAD, "payload")
    witnesses, wanted = witness_keys(args.texts("witness")), identities(args)
    believed = trust(args.text("trusted-root"), identities=wanted)
    data = read(path, prove.MAX_FILE, "proof")
    as_tlog = tlog_proof.is_one(data)
    if witnesses and not as_tlog:
        raise UsageError("-witness goes only with a tlog-proof, which hark prove -tlog makes")
    if wanted and as_tlog:
        raise UsageError("-identity is about an anchor, and a tlog-proof holds none")
    try:
        if as_tlog:
            from hark.cli.prove_tlog import report
            from hark.tlogproof import check

            found = check(data, root=root, keys=keys, witnesses=witnesses, payload=payload)
            print("\n".join(report(found)))
            sys.stdout.flush()
            return 0
        checked = prove.check(data, root=root, keys=keys, payload=payload, trust=believed)
    except BundleError as error:
        output.say(f"REJECTED: {path}: {error}")
        return BundleError.exit_code
    print("\n".join(_report(checked)))
    sys.stdout.flush()
    return BundleError.exit_code if checked.source == prove.FROM_FILE else 0


def _root(text: str | None) -> bytes | None:
    if text is None:
        return None
    if len(text) != HASH_DIGITS or set(text.lower()) - set("0123456789abcdef"):
        raise UsageError(f"-root needs {HASH_DIGITS} hex digits, not {text!r}")
    return bytes.fromhex(text)


def _report(checked: "Checked") -> list[str]:
    """The verdict line, what the event says, and where the root came from."""
    from hark import prove
    from hark.cli import output

    file = checked.file
    if checked.source == prove.FROM_FILE:
        lines = ["NOT PROVED: the file agrees with itself, and that is all"]
    else:
        lines = [_verdict(checked)]
    lines.append(output.proved_event(checked.kind, checked.payload))
    lines.append(f"  leaf   {file.leaf_hash.hex()}")
    lines.append(f"  root   {file.root.hex()}")
    lines.append(f"         {_source(checked)}")
    return [*lines, *(f"         {anchor.sentence()}" for anchor in checked.anchors)]


def _verdict(checked: "Checked") -> str:
    """What is proved of which event, and nothing that only the file says.

    A root says nothing of run and number of events; without that number and without a payload, a hash from
    inside the tree could pass for a leaf. A signed tree head covers both.
    """
    from hark import prove
    from hark.bundle.bounds import kind_name
    from hark.visible import named

    proof = checked.file.proof
    run = f"run {named(checked.file.run)}"
    what, then = ", whose kind and content the proof does not show", ","
    if checked.kind is not None:
        what, then = f" ({kind_name(checked.kind)})", ""
    if checked.source == prove.FROM_OUTSIDE and not checked.pinned:
        called = "event" if checked.kind is not None else "what the file calls event"
        claim = f"that it is one of {proof.leaf_count} in {run} is the file's word"
        return f"PROVED: {called} {proof.seq}{what}{then} is under your root; {claim}"
    word = "UNVOUCHED" if checked.source == prove.FROM_UNKNOWN_KEY and not _own(checked) else "PROVED"
    return f"{word}: event {proof.seq}{what}, one of {proof.leaf_count}, is in {run}"


def _source(checked: "Checked") -> str:
    from hark import keys, prove
    from hark.cli import output

    if checked.source == prove.FROM_OUTSIDE:
        return "which is the root that you gave"
    if checked.source == prove.FROM_FILE:
        return (
            "which comes from the file alone: anybody can write such a file, so it proves nothing"
            " about any run; give -root, or -key if the proof is signed"
        )
    signed = f"signed by {checked.signed_by.hex()} ({keys.name(checked.signed_by)})"
    pinned = checked.source == prove.FROM_PINNED_KEY
    return f"{signed}, {output.vouched(pinned=pinned, own=not pinned and _own(checked))}"


def _own(checked: "Checked") -> bool:
    """Whether the caller's own key signed the root."""
    from hark.cli.bundles import own_key

    return bool(checked.signed_by) and checked.signed_by == own_key()
