"""The help texts, generated from the commands' tables so that they cannot disagree with the parser.

Imported only when help is asked for.
"""

from collections.abc import Iterable
from typing import Final

from hark.cli.spec import Spec, usage

WIDTH: Final = 96  # help is also read in man pages and issues: not as wide as a screen may be


def overview(specs: Iterable[Spec]) -> str:
    """What `hark` and `hark help` print: each command in one line."""
    rows = [(spec.name, spec.summary) for spec in specs]
    return (
        "usage: hark COMMAND [options] [arguments]\n\n"
        "Run an AI agent inside a boundary and keep one file of everything that crossed it.\n\n"
        + _table(rows)
        + "\n`hark help COMMAND` says more. Options are written -name or --name.\n"
    )


def command(spec: Spec) -> str:
    """What `hark help CMD` and `hark CMD -help` print."""
    text = "usage: " + _wrapped(usage(spec).split(" "), "       ", first=7) + "\n\n"
    text += f"{spec.summary[0].upper()}{spec.summary[1:]}.\n"
    if spec.about:
        text += f"\n{spec.about.strip()}\n"
    places = [(place.name, place.help) for place in spec.positionals]
    if spec.command:
        places.append(("COMMAND...", spec.command))
    if places:
        text += "\n" + _table(places)
    options = [
        (f"-{o.name} {o.value}".rstrip(), o.help + (" (may be repeated)" if o.repeat else ""))
        for o in spec.options
    ]
    return text + ("\n" + _table(options) if options else "")


def _table(rows: list[tuple[str, str]]) -> str:
    """Two columns, the second wrapped under itself."""
    left = max(len(name) for name, _ in rows) + 4
    return "".join(
        f"  {name:<{left - 2}}{_wrapped(text.split(' '), ' ' * left, first=left)}\n" for name, text in rows
    )


def _wrapped(words: list[str], indent: str, *, first: int) -> str:
    """Words in lines of `WIDTH`; textwrap would cost re, and split `-key HEX` no better."""
    lines, used = [""], first
    for word in words:
        if lines[-1] and used + 1 + len(word) > WIDTH:
            lines.append("")
            used = len(indent)
        used += len(word) + (1 if lines[-1] else 0)
        lines[-1] += (" " if lines[-1] else "") + word
    return ("\n" + indent).join(lines)
