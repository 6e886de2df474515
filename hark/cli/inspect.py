"""`hark inspect`: what a bundle holds, event by event. Nothing recorded reaches the terminal unescaped."""

import sys
from typing import TYPE_CHECKING, Final

from hark.cli.spec import Args, Option, Positional, Spec, unknown
from hark.errors import BundleError, TruncatedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hark.bundle.lineage import Lineage
    from hark.inspect import Reading, Seen

SPEC: Final = Spec(
    "inspect",
    "show what a bundle holds, event by event",
    options=(
        Option("n", "stop after N events", "N"),
        Option("seq", "show event N alone, with every field", "N"),
        Option("kind", "show events of this kind only, by name or number", "NAME", repeat=True),
        Option("json", "print one JSON object a line, with every field"),
        Option("follow", "go on while the bundle is being written, until it is sealed"),
    ),
    positionals=(Positional("BUNDLE", "the bundle to read; it need not be sealed"),),
    about="""\
Columns: number, seconds since the run began, kind, number of the exchange, and what happened. Lines
are cut to the terminal's width, but not below 80 (COLUMNS, or 160, where there is none). Control
characters, bidirectional and invisible characters are shown as escapes (\\e, \\n, \\x07, \\u202e), and
colour is used on a terminal only, unless NO_COLOR is set. In JSON, bytes are {"text": ...} if they are
UTF-8 and no hash, else {"hex": ...}; with -seq the whole payload is there too, in hex.

Of a fork the header says which bundle it was forked from: the first event is shown with that ("fork"
in JSON).

Every event shown has its right number, chain value and leaf hash; at the first that has not, inspect
says so and stops. Root and signature are for `hark verify`.

Exit code: 0 all of it was read or the run is still going on, 1 broken, 2 usage, 3 no seal: the run
was killed.""",
)

MAX_KIND: Final = 255  # a kind is one byte
SEQ_WIDTH: Final = 6
TIME_WIDTH: Final = 10
KIND_WIDTH: Final = 16  # LlmResponseChunk
EXCHANGE_WIDTH: Final = 4
GAP: Final = "  "
INDENT: Final = "        "
TAKEN_OUT: Final = "(payload taken out; its leaf is kept)"


def run(args: Args) -> int:
    """Print the events that were asked for, then how the reading ended."""
    from hark.bundle.lineage import lineage_of
    from hark.cli.bundles import opened
    from hark.inspect import Reading

    kinds, only, follow = _kinds(args.texts("kind")), args.number("seq"), args.flag("follow")
    path = args.positional("BUNDLE")
    left = 1 if only is not None else args.number("n")
    with opened(path) as file:
        reading = Reading(file, follow=follow)
        show = _printer(args, lineage_of(file.header))
        for seen in reading if left != 0 else ():
            if (kinds and seen.kind not in kinds) or (only is not None and seen.seq != only):
                continue
            show(seen)
            if follow:
                sys.stdout.flush()
            if left is not None:
                left -= 1
                if not left:
                    break
        if left == 0:
            return 0
        if only is not None and not reading.fault:
            raise UsageError(f"{path} has no event {only}" + (" of that kind" if kinds else ""))
        return _finish(reading, path)


def _finish(reading: "Reading", path: str) -> int:
    """Say on standard error what stands in the way of calling the bundle whole."""
    from hark import inspect
    from hark.cli.output import error_line

    if reading.end == inspect.BROKEN:
        error_line(f"{path} is broken here: {reading.fault}")
        return BundleError.exit_code
    if reading.end == inspect.KILLED:
        error_line(f"{path} has no seal: its writer was killed. All events above held")
        return TruncatedError.exit_code
    if reading.end == inspect.RUNNING:
        error_line(f"{path} is still being written; -follow waits for more")
    return 0


def _kinds(names: tuple[str, ...]) -> frozenset[int]:
    """Kind numbers for names in any case, or numbers: also of kinds that only a later hark knows."""
    from hark.bundle.bounds import KIND_NAMES

    by_name = {name.lower(): number for number, name in KIND_NAMES.items()}
    found = set()
    for name in names:
        if name.isascii() and name.isdigit() and len(name) <= len(str(MAX_KIND)) and int(name) <= MAX_KIND:
            found.add(int(name))
        elif name.isascii() and name.isdigit():
            raise UsageError(f"-kind {name}: the number of a kind is at most {MAX_KIND}")
        elif name.lower() in by_name:
            found.add(by_name[name.lower()])
        else:
            sentence = f"there is no kind {name!r} among those that `hark inspect` prints"
            listed = ", ".join(sorted(KIND_NAMES.values()))
            raise UsageError(f"{unknown(sentence, name, tuple(KIND_NAMES.values()))} (there are: {listed})")
    return frozenset(found)


def _printer(args: Args, lineage: "Lineage") -> "Callable[[Seen], None]":
    """How one event is printed; beside the first one, where the run comes from."""
    whole = args.number("seq") is not None
    if args.flag("json"):
        return lambda seen: _print_json(seen, lineage, whole=whole)
    if whole:
        return lambda seen: _print_detail(seen, lineage)
    from hark.cli import output

    colour, width = output.coloured(sys.stdout), output.width(sys.stdout)
    if colour or sys.stdout.isatty():
        heading = _columns("seq", "seconds", "kind", "exch", "what")
        print(output.paint(output.cut(heading, width), output.DIM, on=colour))
    return lambda seen: _print_line(seen, lineage, width, colour=colour)


def _columns(seq: str, time: str, kind: str, exchange: str, what: str) -> str:
    return (
        f"{seq:>{SEQ_WIDTH}}{GAP}{time:>{TIME_WIDTH}}{GAP}{kind:<{KIND_WIDTH}}{GAP}"
        f"{exchange:>{EXCHANGE_WIDTH}}{GAP}{what}"
    ).rstrip()


def _print_line(seen: "Seen", lineage: "Lineage", width: int, *, colour: bool) -> None:
    from hark import describe
    from hark.bundle.bounds import kind_name
    from hark.cli import output

    exchange, what = None, TAKEN_OUT
    if seen.event is not None:
        exchange, what = describe.exchange_of(seen.event), describe.line(seen.event)
    shown = "" if exchange is None else str(exchange)
    text = _columns(str(seen.seq), describe.seconds(seen.time), kind_name(seen.kind), shown, what)
    print(output.paint(output.cut(text, width), _tone(seen), on=colour))
    if seen.seq == 0 and (words := lineage.words()):
        print(INDENT + output.wrapped(f"by the header: {words}".split(), INDENT, first=len(INDENT)))


def _tone(seen: "Seen") -> str:
    """Red for what was refused or failed, yellow for what a reviewer looks for, dim for the small change."""
    from hark.bundle import events as ev
    from hark.bundle.bounds import RunEnd
    from hark.bundle.outcome import succeeded
    from hark.cli.output import DIM, PLAIN, RED, YELLOW

    match seen.event:
        case (
            ev.EgressDecision(allowed=False)
            | ev.DnsDecision(allowed=False)
            | ev.ToolCallResult(is_error=True)
        ):
            return RED
        case RunEnd() as end if not succeeded(end):
            return RED
        case ev.SecretInjected() | ev.ShimReport() | None:
            return YELLOW
        case ev.LlmResponseChunk() | ev.RequestChunk() | ev.ClockRead() | ev.RandomRead():
            return DIM
        case _:
            return PLAIN


def _print_detail(seen: "Seen", lineage: "Lineage") -> None:
    from hark import describe
    from hark.bundle.bounds import kind_name

    print(f"event {seen.seq}  {kind_name(seen.kind)} (kind {seen.kind})  at {describe.seconds(seen.time)} s")
    print(f"  leaf hash {seen.leaf.hex()}, {len(seen.payload)} bytes")
    print("\n".join([f"  {TAKEN_OUT}"] if seen.event is None else describe.detail(seen.event)))
    if seen.seq == 0 and (words := lineage.words()):
        print(f"  by the header: {words}")


def _print_json(seen: "Seen", lineage: "Lineage", *, whole: bool) -> None:
    from hark import describe

    extra: dict[str, object] = {"leaf_hash": seen.leaf.hex()}
    if whole:
        extra["payload"] = seen.payload.hex()
    if seen.seq == 0 and lineage.parent_root:
        extra["fork"] = lineage.record()
    print(describe.to_json(seen.seq, seen.time, seen.kind, seen.event, extra))
