"""The help texts, generated from the commands' tables so that they cannot disagree with the parser.

Imported only when help is asked for.
"""

from collections.abc import Iterable

from hark.cli.output import wrapped
from hark.cli.spec import Option, Spec, usage_parts


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
    text = "usage: " + wrapped(usage_parts(spec), "       ", first=7) + "\n\n"
    text += f"{spec.summary[0].upper()}{spec.summary[1:]}.\n"
    if spec.about:
        for paragraph in spec.about.split("\n\n"):
            text += "\n" + wrapped(paragraph.split(), "", first=0) + "\n"
    places = [(place.name, place.help) for place in spec.positionals]
    if spec.command:
        places.append(("COMMAND...", spec.command))
    if places:
        text += "\n" + _table(places)
    options = [(f"-{o.name} {o.value}".rstrip(), _option_help(o)) for o in spec.options]
    return text + ("\n" + _table(options) if options else "")


def _option_help(option: Option) -> str:
    repeated = option.repeat and "repeated" not in option.help
    return option.help + (" (may be repeated)" if repeated else "")


def _table(rows: list[tuple[str, str]]) -> str:
    """Two columns, the second wrapped under itself."""
    left = max(len(name) for name, _ in rows) + 4
    return "".join(
        f"  {name:<{left - 2}}{wrapped(text.split(' '), ' ' * left, first=left)}\n" for name, text in rows
    )
