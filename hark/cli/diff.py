"""`hark diff`: what two runs did differently, action by action. Nothing recorded is printed unescaped."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from hark.cli.spec import Args, Option, Positional, Spec

if TYPE_CHECKING:
    from hark.diff.align import Row
    from hark.diff.side import Side
    from hark.diff.texts import Change

SPEC: Final = Spec(
    "diff",
    "show what two runs did differently, action by action",
    options=(
        Option("full", "show every line that differs, uncut"),
        Option("json", "print one JSON object a line: both bundles, what differs, and the sums"),
    ),
    positionals=(
        Positional("A", "a bundle, or the id of a run of this machine"),
        Positional("B", "the bundle to hold against it"),
    ),
    about="""\
Both bundles are verified first, and one that is BROKEN is refused. What is compared is what a replay
compares; what the two have in common is folded. Of what differs JSON is shown by path, text by line, the
rest by byte. A fork is shown beside the run that it was made of.

Exit code: 0 equal, 1 different (or a bundle is BROKEN), 2 usage, 3 equal as far as a bundle goes that
breaks off.""",
)
EXIT_DIFFERENT: Final = 1
EXIT_TRUNCATED: Final = 3
MAX_SHOWN: Final = 20  # lines of one action without -full
_SIGNS: Final = {"changed": "~", "removed": "-", "added": "+"}


def run(args: Args) -> int:
    """Compare, print, and return the exit code."""
    from hark.cli.bundles import checked
    from hark.diff.align import rows
    from hark.diff.near import Nearness
    from hark.diff.side import both

    one, other = checked(args.positional("A")), checked(args.positional("B"))
    with both(one, other) as (a, b):
        found = rows(a.streams, b.streams, Nearness(a.request, b.request))
        if args.flag("json"):
            _print_json(a, b, found)
        else:
            _print_text(a, b, found, full=args.flag("full"))
        if not all(row.equal for row in found):
            return EXIT_DIFFERENT
        return EXIT_TRUNCATED if a.truncated or b.truncated else 0


def _print_text(a: "Side", b: "Side", found: "list[Row]", *, full: bool) -> None:
    from hark.cli import output
    from hark.diff.detail import changes
    from hark.diff.files import Files
    from hark.diff.lineage import sentences

    sums = _sums(found)
    if sums["equal"] == len(found):
        output.say(f"equal, {_count(len(found))}{_reservations(a, b)}")
        return
    files = Files(found, a, b)
    colour, columns = output.coloured(sys.stdout), output.width(sys.stdout)
    for name, side in (("A", a), ("B", b)):
        print(output.cut(f"{name}  {_heading(side)}", columns))
    for line in sentences(a, b):
        print(line)
    for how, row, count in _folded(found):
        if row is None:
            print(output.paint(f"  {_count(count)} equal", output.DIM, on=colour))
            continue
        print(output.paint(output.cut(_title(how, row), columns), _tone(how), on=colour))
        for text, tone in _shown(changes(row, a, b, files), full=full):
            print(output.paint(text if full else output.cut(text, columns), tone, on=colour))
    output.say(
        f"different: {', '.join(f'{number} {how}' for how, number in sums.items())}{_reservations(a, b)}"
    )


def _folded(found: "Iterable[Row]") -> "Iterator[tuple[str, Row | None, int]]":
    """Yield what differs, and between it how many actions are equal."""
    equal = 0
    for row in found:
        if row.equal:
            equal += 1
            continue
        if equal:
            yield "equal", None, equal
        equal = 0
        yield _how(row), row, 1
    if equal:
        yield "equal", None, equal


def _how(row: "Row") -> str:
    if row.equal:
        return "equal"
    if row.was is None:
        return "added"
    return "removed" if row.now is None else "changed"


def _sums(found: "list[Row]") -> dict[str, int]:
    sums = dict.fromkeys(("equal", *_SIGNS), 0)
    for row in found:
        sums[_how(row)] += 1
    return sums


def _title(how: str, row: "Row") -> str:
    from hark.replay.inside import named

    sides = (("A", row.was), ("B", row.now))
    events = ", ".join(f"event {action.seq} of {name}" for name, action in sides if action is not None)
    return f"{_SIGNS[how]} {named(row.action)}  ({events})"


def _shown(found: "list[Change]", *, full: bool) -> Iterator[tuple[str, str]]:
    """Yield the lines below an action, each with its colour."""
    from hark.cli.output import DIM, PLAIN, RED, YELLOW

    tones = {"-": RED, "+": YELLOW, "@": DIM}
    lines = [
        line
        for change in found
        for line in (
            (f"    {change.where} {change.words}", PLAIN),
            *((f"      {text}", tones.get(text[:1], PLAIN)) for text in change.lines),
        )
    ]
    yield from lines if full else lines[:MAX_SHOWN]
    if len(lines) > MAX_SHOWN and not full:
        yield f"    and {len(lines) - MAX_SHOWN} more lines; -full shows them", DIM


def _tone(how: str) -> str:
    from hark.cli.output import PLAIN, RED, YELLOW

    return {"removed": RED, "added": YELLOW}.get(how, PLAIN)


def _heading(side: "Side") -> str:
    from hark.visible import named, visible

    run_id, command = named(side.verified.header.run_id), visible(" ".join(side.start.argv))
    return (
        f"{visible(side.path)}: run {run_id}, {side.verified.verdict}, {len(side.streams)} actions: {command}"
    )


def _reservations(a: "Side", b: "Side") -> str:
    words = [f"; {name} breaks off" for name, side in (("A", a), ("B", b)) if side.truncated]
    words += [
        f"; {_taken_out(side.taken_out)} taken out of {name}, and not compared"
        for name, side in (("A", a), ("B", b))
        if side.taken_out
    ]
    return "".join(words)


def _taken_out(number: int) -> str:
    return "1 event was" if number == 1 else f"{number} events were"


def _count(number: int) -> str:
    return "1 action" if number == 1 else f"{number} actions"


def _print_json(a: "Side", b: "Side", found: "list[Row]") -> None:
    from hark.cli.output import say_json
    from hark.diff.detail import changes
    from hark.diff.files import Files
    from hark.diff.lineage import sentences
    from hark.replay.inside import named

    files = Files(found, a, b)
    say_json({"type": "bundles", "a": _side(a), "b": _side(b), "lineage": list(sentences(a, b))})
    for how, row, count in _folded(found):
        if row is None:
            say_json({"type": "equal", "actions": count})
            continue
        say_json(
            {
                "type": how,
                "action": named(row.action),
                "a": None if row.was is None else row.was.seq,
                "b": None if row.now is None else row.now.seq,
                "differences": [change._asdict() for change in changes(row, a, b, files)],
            }
        )
    sums = _sums(found)
    say_json({"type": "sums", "same": sums["equal"] == len(found), **sums})


def _side(side: "Side") -> dict[str, object]:
    return {
        "path": side.path,
        "run": side.verified.header.run_id,
        "root": side.verified.root.hex(),
        "verdict": side.verified.verdict,
        "command": list(side.start.argv),
        "events": side.verified.events,
        "actions": len(side.streams),
        "taken_out": side.taken_out,
    }
