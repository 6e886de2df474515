"""`hark export`: a bundle in the formats of other programs. What comes out proves nothing any more."""

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from hark.cli import options
from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import BundleError, ReplayError, TruncatedError, UsageError

if TYPE_CHECKING:
    from hark.bundle.frame import Frame
    from hark.verify.result import Result

    type Frames = Callable[[], Iterator[Frame]]
    type Text = Iterator[str]

FORMS: Final = ("har", "jsonl", "otlp", "curl")
SPEC: Final = Spec(
    "export",
    "write a bundle in the format of another program",
    options=(
        Option("har", "its HTTP exchanges as an HTTP Archive (HAR 1.2), as browsers read it"),
        Option("jsonl", "every event as one JSON object a line, with whole bodies"),
        Option("otlp", "its requests, model calls and tools as a trace of OpenTelemetry (OTLP, JSON lines)"),
        Option("content", "with -otlp: what was said, too, to models and tools and on the command line"),
        Option("curl", "the request that event SEQ belongs to as a curl command", "SEQ"),
        Option("o", "write to OUT, which must not exist (default: print it)", "OUT"),
        options.PINNED,
    ),
    positionals=(Positional("BUNDLE", "the bundle to read; it is verified first"),),
    about="""\
The bundle is verified first, and nothing is exported from one that is BROKEN or REJECTED. Standard error
has the verdict. What is written is a copy without hashes and signature: it proves nothing. Events are named
by their numbers in it, so that `hark prove` can.

A credential is nowhere in a bundle, so it is in no export; where hark put one in, a curl command has a
shell variable: of the secret's name if the bundle is signed by your own key or one that -key names, else
HARK_SECRET_1 and so on. Prompts and answers are in it; in a trace only with -content, but URLs are.

Exit code: 0 exported, 1 the bundle is broken or was changed meanwhile, 2 usage, 3 exported up to where the
bundle breaks off.""",
)


def run(args: Args) -> int:
    """Verify, read the events again, and write what was asked for."""
    from hark.cli.bundles import checked, own_key, pinned, refuse_existing
    from hark.cli.output import error_line
    from hark.unchanged import Unchanged
    from hark.verify.result import BROKEN, REJECTED, TRUNCATED
    from hark.verify.steps import verify

    form, out = _form(args), args.text("o")
    path = checked(args.positional("BUNDLE"))
    if out is not None:
        refuse_existing(out)
    result = verify(path, pinned(args.texts("key")), own=own_key())
    if result.verdict in {BROKEN, REJECTED}:
        raise BundleError(f"nothing is exported from a bundle that does not verify: {result.line()}")
    try:
        _write(_text(form, args, result, Unchanged(path, result).frames), out)
    except ReplayError:
        raise BundleError(f"{path} was changed while it was read; the export is not whole") from None
    error_line(f"exported from {path}, which is {result.line()}")
    return TruncatedError.exit_code if result.verdict == TRUNCATED else 0


def _form(args: Args) -> str:
    asked = [name for name in FORMS if args.texts(name)]
    if len(asked) != 1:
        raise UsageError(f"hark export takes exactly one of {', '.join(f'-{name}' for name in FORMS)}")
    if args.flag("content") and asked[0] != "otlp":
        raise UsageError("-content goes with -otlp; the other forms always have it")
    return asked[0]


def _text(form: str, args: Args, result: "Result", frames: "Frames") -> "Text":
    """The export in pieces, as it is read."""
    match form:
        case "jsonl":
            return _jsonl(frames())
        case "har":
            return _har(frames(), result)
        case "otlp":
            from hark.export.otlp import lines

            return lines(frames(), result, content=args.flag("content"))
        case _:
            return _curl(frames, args.number("curl") or 0, named=result.own or result.pinned)


def _jsonl(frames: "Iterator[Frame]") -> "Text":
    from hark.export import jsonl
    from hark.export.wall import Wall

    wall = Wall()
    for frame in frames:
        wall.see(frame)
        yield jsonl.line(frame, wall) + "\n"


def _har(frames: "Iterator[Frame]", result: "Result") -> "Text":
    from tempfile import TemporaryFile

    from hark.export.archive import archive

    with TemporaryFile() as spool:
        yield from archive(frames, result.header.recorder, result.header.run_id, spool)


def _curl(frames: "Frames", seq: int, *, named: bool) -> "Text":
    from hark.export import curl, shellwords
    from hark.export.wanted import wanted

    found = wanted(frames, seq)
    yield curl.command(found.exchange, shellwords.variables(found.put_in, named=named), found.held)


def _write(pieces: "Text", out: str | None) -> None:
    """Print the pieces, or write them to a new file."""
    from hark.cli.bundles import write_new_text

    if out is None:
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.flush()
        return
    write_new_text(out, pieces)
