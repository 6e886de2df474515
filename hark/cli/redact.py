"""`hark redact`: a copy of a bundle without the payloads of some events. Everything else still verifies."""

from typing import Final

from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import BundleError, TruncatedError, UsageError

SPEC: Final = Spec(
    "redact",
    "copy a bundle without the payloads of some events",
    options=(
        Option("seq", "take out the payload of event N", "N", repeat=True),
        Option("o", "write the copy to OUT, which must not exist", "OUT"),
    ),
    positionals=(Positional("BUNDLE", "the bundle to copy; it is verified first and left as it is"),),
    about="""\
The leaf of a redacted event stays, so chain, root and signature still hold, and `hark verify` says
how many were taken out. Its kind, number and time stay readable. RunStart and Seal cannot be taken
out. Payloads that hark recorded are salted: nobody can find one again by guessing it.""",
)


def run(args: Args) -> int:
    """Verify, copy, and say what is gone."""
    from hark.bundle.redact import redact
    from hark.cli import output
    from hark.cli.bundles import checked, refuse_existing
    from hark.verify.result import TRUNCATED, VERIFIED
    from hark.verify.steps import verify

    out, seqs = args.text("o"), args.numbers("seq")
    if not seqs:
        raise UsageError("hark redact needs at least one -seq N, the number of an event")
    if out is None:
        raise UsageError("hark redact needs -o OUT, the file to write")
    source = checked(args.positional("BUNDLE"))
    refuse_existing(out)
    result = verify(source)
    if result.verdict == TRUNCATED:
        raise TruncatedError(f"{source} is not sealed, so there is nothing that a copy could be held against")
    if result.verdict != VERIFIED:
        raise BundleError(f"nothing is redacted in a bundle that does not verify: {result.line()}")
    gone = redact(source, seqs, out)
    what = "1 event has" if len(gone) == 1 else f"{len(gone)} events have"
    output.say(f"wrote {out}: {what} no payload now, of {result.events}")
    return 0
