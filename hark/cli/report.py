"""`hark report`: a bundle as one HTML page that opens offline. Decides nothing about the bundle itself."""

import os
from typing import TYPE_CHECKING, Final

from hark.cli import options
from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import BundleError, ReplayError, TruncatedError

if TYPE_CHECKING:
    from hark.report.page import Other
    from hark.verify.anchor import Trust
    from hark.verify.result import Result

SPEC: Final = Spec(
    "report",
    "write what a bundle holds as one HTML page that opens offline",
    options=(
        Option("against", "lay the run beside that of another bundle: a fork beside its parent", "BUNDLE"),
        Option("o", "write to OUT, which must not exist (default: the bundle's name with .html)", "OUT"),
        Option(
            "key", "accept only bundles signed by this public key; may be repeated", "HEX|FILE", repeat=True
        ),
        Option("trusted-root", "judge anchors by this trusted_root.json, not by the public one", "FILE"),
        *options.ANCHORER,
    ),
    positionals=(Positional("BUNDLE", "the bundle to read; it is verified first"),),
    about="""\
The page has the verdict as `hark verify` prints it, a summary, a timeline, the conversation with the
models, what led to what, and every event with the command that proves it. It is one file without
scripts that loads nothing; what was recorded stands in it as text, whatever it is.

A line between two events is solid if it is read from the data (an identifier that comes back, a URL
that is then asked for), and dashed if it is inferred. The page is a copy and proves nothing: it holds
prompts, answers and headers, so look before you pass it on.

Exit code: 0 written, 1 the bundle is broken or was changed meanwhile, 2 usage, 3 written up to where
the bundle breaks off.""",
)


def run(args: Args) -> int:
    """Verify, read the events again, and write the page."""
    from contextlib import ExitStack

    from hark.cli import output
    from hark.cli.bundles import checked, pinned, refuse_existing, write_new_pieces
    from hark.cli.verify import identities, trust
    from hark.report.making import make
    from hark.report.page import Parts, page
    from hark.unchanged import Unchanged
    from hark.verify.result import TRUNCATED

    path, against = checked(args.positional("BUNDLE")), args.text("against")
    out = args.text("o") or f"{path.removesuffix('.hark')}.html"
    refuse_existing(out)
    believed = trust(args.text("trusted-root"), identities=identities(args))
    keys = pinned(args.texts("key"))
    result, lines = _verified(path, keys, believed)
    other = None if against is None else _other(checked(against), keys, trust(args.text("trusted-root")))
    name = os.path.basename(path)
    with ExitStack() as files:
        try:
            made, talk, listed = make(
                Unchanged(path, result), name, result.events, files, steps=other is not None
            )
        except ReplayError:
            raise BundleError(f"{path} was changed while it was read; there is no report") from None
        parts = Parts(
            name=name,
            facts=made.facts,
            verdict=result.verdict,
            lines=lines,
            links=made.links.found,
            links_left_out=made.links.left_out,
            conversation=talk,
            events=listed,
            other=other,
            root=result.root,
        )
        write_new_pieces(out, page(parts))
    output.say(f"{out}: a report on {path}, which is {result.line()}")
    return TruncatedError.exit_code if result.verdict == TRUNCATED else 0


def _verified(path: str, keys: tuple[bytes, ...], believed: "Trust | None") -> "tuple[Result, list[str]]":
    from hark.cli.bundles import own_key
    from hark.cli.verify import lines
    from hark.verify.result import BROKEN, REJECTED
    from hark.verify.steps import verify

    result = verify(path, keys, own=own_key(), trust=believed)
    if result.verdict in {BROKEN, REJECTED}:
        raise BundleError(f"there is no report with {path}, which does not verify: {result.line()}")
    return result, lines(result)


def _other(path: str, keys: tuple[bytes, ...], believed: "Trust | None") -> "Other":
    from hark.report.making import Made
    from hark.report.page import Other
    from hark.unchanged import Unchanged

    result, lines = _verified(path, keys, believed)
    made = Made()
    try:
        made.read(Unchanged(path, result).chunks())
    except ReplayError:
        raise BundleError(f"{path} was changed while it was read; there is no report") from None
    return Other(os.path.basename(path), made.facts, result.verdict, lines, result.root)
