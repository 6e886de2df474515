"""What the commands share when they print: sentences, columns cut to the screen, colour where it is wanted.

What always holds: a sentence or a JSON object that is printed from here holds nothing that a terminal would
act on, whatever it quotes; of columns and colour, the caller makes the text safe before (`hark.visible`).
Colour codes are added last, around whole cells, so that cutting never splits one. Colour needs a terminal and
the absence of NO_COLOR (any value but the empty one) and of TERM=dumb.
"""

import os
import sys
from typing import Final, TextIO

DEFAULT_WIDTH: Final = 160  # where no terminal says how wide it is: a file, a pipe
MIN_WIDTH: Final = 80  # narrower ones wrap: the columns before the last take half of it
TEXT_WIDTH: Final = 100  # sentences are also read in man pages and issues: not as wide as a screen may be
UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")

PLAIN: Final = ""
RED: Final = "31"
YELLOW: Final = "33"
DIM: Final = "2"


def coloured(stream: TextIO) -> bool:
    """Whether colour codes may be sent to `stream`."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, *, on: bool) -> str:
    """`text` in a colour, or as it is."""
    return f"\x1b[{colour}m{text}\x1b[0m" if on and text and colour else text


def width(stream: TextIO) -> int:
    """How many columns a line may have. A width of 0 is how a terminal says that nobody told it."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and len(given) < 6 and int(given):
        return max(MIN_WIDTH, int(given))
    try:
        return max(MIN_WIDTH, os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):
        return DEFAULT_WIDTH


def cut(text: str, columns: int) -> str:
    """`text` in at most that many columns; what does not fit is replaced by one ellipsis."""
    if text.isascii():
        return text if len(text) <= columns else text[: max(0, columns - 1)] + "…"
    used = 0
    fits = 0
    for index, char in enumerate(text):
        used += _columns(char)
        if used <= columns - 1:
            fits = index + 1
        if used > columns:
            return text[:fits] + "…"
    return text


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    from unicodedata import combining, east_asian_width

    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def wrapped(words: list[str], indent: str, *, first: int) -> str:
    """Words in lines of `TEXT_WIDTH`, the first beginning at column `first`; textwrap would cost re."""
    lines, used = [""], first
    for word in words:
        if lines[-1] and used + 1 + len(word) > TEXT_WIDTH:
            lines.append("")
            used = len(indent)
        used += len(word) + (1 if lines[-1] else 0)
        lines[-1] += (" " if lines[-1] else "") + word
    return ("\n" + indent).join(lines)


def size(count: int) -> str:
    """A number of bytes for people: `512 bytes`, `1.2 MB`."""
    value, unit = float(count), 0
    while value >= 999.5 and unit < len(UNITS) - 1:
        value /= 1000
        unit += 1
    return f"{count} bytes" if unit == 0 else f"{value:.1f} {UNITS[unit]}"


def say(sentence: str) -> None:
    """Print a line that may quote what others wrote: file names, host settings, a bundle's text."""
    from hark.visible import printable

    print(printable(sentence))


def say_json(record: dict[str, object]) -> None:
    """Print an object as one line of ASCII without control characters."""
    import json

    print(json.dumps(record).replace("\x7f", "\\u007f"))  # the one control character that json lets through


def error_line(text: str) -> None:
    """A remark beside the output proper, on standard error, behind whatever was printed before it."""
    from hark.visible import printable

    sys.stdout.flush()
    print(f"hark: {printable(text)}", file=sys.stderr, flush=True)


def vouched(*, pinned: bool, own: bool) -> str:
    """Say who stands for the key that signed what is proved."""
    if pinned:
        return "a key that you named"
    if own:
        return "your own key; who has it from you names it with -key"
    return "for which nobody vouches here: its holder could have written this; -key pins it"


def proved_event(kind: int | None, payload: bytes | None) -> str:
    """Return the line of a proof's report that says what the proved event is, or why it is not shown."""
    from hark import describe
    from hark.bundle import events as ev

    if payload is None:
        return "  event  not shown: only its leaf hash is proved; -payload FILE compares its bytes"
    return cut(f"  event  {describe.line(ev.decode(kind or 0, payload))}", width(sys.stdout))
