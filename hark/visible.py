r"""Recorded text made safe to show: what a terminal would act on, and what the eye would be misled by, is
shown as an escape and never sent.

What always holds: the result is one line without any control character (C0, C1, DEL), line or paragraph
separator, bidirectional control, invisible or blank-looking character, surrogate, private-use or unassigned
code point. A backslash is doubled, so that what is shown can be told from what was recorded; `\x80` to
`\xff` are bytes outside UTF-8, never characters. Nothing is removed. Look-alike letters of other scripts are
not unmasked here.
"""

from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import re

SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}

BLANK: Final = frozenset(
    # Printable by their Unicode category, yet drawn as nothing: good for hiding text inside text.
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
)
VARIATION_SELECTORS: Final = (
    (0xFE00, 0xFE0F),
    (0xE0100, 0xE01EF),
)  # a run of them can carry any bytes unseen


QUOTE: Final = '\\"'
MAX_KNOWN: Final = 4096  # characters whose escapes are remembered; a page of text has some hundred


class _Escapes(dict[int, str]):
    """What each character is shown as, for `str.translate`: found once, as long as there is room."""

    def __init__(self, backslash: str) -> None:
        super().__init__()
        self._backslash = backslash

    def __missing__(self, code: int) -> str:
        shown = self._backslash if code == BACKSLASH else _shown(chr(code))
        if len(self) < MAX_KNOWN:
            self[code] = shown
        return shown


BACKSLASH: Final = 0x5C
WORD: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@:/.+~%=#?&!*_-")
"""What a name may hold that stands bare in a sentence: no space, no comma, no bracket, no quote."""
_RECORDED: Final = _Escapes("\\\\")
_OURS: Final = _Escapes("\\")
_LINES: Final = _Escapes("\\\\")
_LINES.update({0x0A: "\n", 0x09: "\t"})


def visible(text: str) -> str:
    """Recorded `text` with every character that is not plainly printable written as an escape."""
    if _is_simple(text):
        return text.replace("\\", "\\\\")
    return text.translate(_RECORDED)


def quoted(text: str) -> str:
    """Recorded `text` in quotes, for a sentence of ours: it cannot end the quotes, and so claims nothing."""
    return f'"{visible(text).replace('"', QUOTE)}"'


def named(text: str) -> str:
    """A recorded name inside a sentence of ours: bare where it is one plain word, else in quotes."""
    return text if text and WORD.issuperset(text) else quoted(text)


def printable(text: str) -> str:
    """Our own sentence, which may quote recorded text: escaped likewise, but a backslash stays as it is."""
    return text if _is_simple(text) else text.translate(_OURS)


def visible_lines(text: str) -> str:
    """Recorded text likewise, but for its own line breaks and tabs, which stay as they are."""
    if _is_simple(text.replace("\n", "").replace("\t", "")):
        return text.replace("\\", "\\\\")
    return text.translate(_LINES)


def _is_simple(text: str) -> bool:
    """Tell whether each of its characters `is_plain`, as those of nearly all texts are."""
    return text.isprintable() and (text.isascii() or _hidden().search(text) is None)


@cache
def _hidden() -> "re.Pattern[str]":
    """Return what finds a character that is printable and yet no plain one. Most commands need it never."""
    import re

    selectors = "".join(f"{chr(low)}-{chr(high)}" for low, high in VARIATION_SELECTORS)
    return re.compile(f"[{''.join(BLANK)}{selectors}]")


def is_plain(char: str) -> bool:
    """Whether one character is shown as itself. `isprintable` is false for the Unicode groups Other and
    Separator, space excepted."""
    if not char.isprintable() or char in BLANK:
        return False
    return not any(low <= ord(char) <= high for low, high in VARIATION_SELECTORS)


def visible_bytes(data: bytes) -> str:
    r"""Recorded bytes likewise: as UTF-8 where they are, else each byte as `\x..`, which no character is."""
    return visible(data.decode("utf-8", "surrogateescape"))


def _shown(char: str) -> str:
    if is_plain(char):
        return char
    if char in SHORT:
        return SHORT[char]
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
