r"""How a text may be spelled on its way: percent signs, escapes of JSON, entities, lines. No IO.

Always: `normal` undoes every spelling in which programs commonly pass a printable character on (`%73`,
`%u0073`, `\u0073`, `\u{73}`, `\x73`, `\000073`, `&#115;`, `&#x73;`, `&plus;`, each also escaped once more)
and drops what breaks a text into lines (blanks, `\n` and `\r` in JSON, lone backslashes), and NUL, which
stands beside each character in UTF-16 and UTF-32. `mapped` is the same, and says for each byte of the result
which bytes it was. So a credential is looked for once, in the normal text, however it was spelled.

What mail makes of a word (`=3D`, breaks amid it) `folded` undoes: an `=` at a line's end may be base64's own.

Not done here: base64 and hexadecimal, which are texts of their own (`mediator.encodings`).
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final
from urllib.parse import quote

ROUNDS: Final = 3
"""A text within a text (JSON in a form, in JSON) is undone so often; nobody nests deeper."""
WIDEST: Final = 13  # bytes of the longest common spelling of one character: `\\\\U00000073`, `&amp;#x0073;`
_BLANKS: Final = b" \t\r\n\v\f\\\0"
_NAMED: Final = {
    b"amp": b"&", b"quot": b'"', b"lt": b"<", b"gt": b">", b"apos": b"'",
    b"plus": b"+", b"sol": b"/", b"equals": b"=", b"lowbar": b"_", b"period": b".", b"colon": b":",
    b"excl": b"!", b"num": b"#", b"dollar": b"$", b"percnt": b"%", b"lpar": b"(", b"rpar": b")",
    b"ast": b"*", b"comma": b",", b"semi": b";", b"quest": b"?", b"commat": b"@", b"lsqb": b"[",
    b"rsqb": b"]", b"Hat": b"^",
    b"grave": b"`", b"lcub": b"{", b"vert": b"|", b"verbar": b"|", b"rcub": b"}", b"lbrack": b"[",
    b"rbrack": b"]", b"lbrace": b"{", b"rbrace": b"}",
}  # fmt: skip
"""Those of HTML for printable characters but for the backslash, which no value has, and three long ones."""
_AMPERSAND: Final = re.compile(rb"&amp;")
_ENTITY: Final = re.compile(
    rb"&(?:#0{0,4}(\d{1,3})|#[xX]0{0,4}([0-9a-fA-F]{1,2})|("
    + b"|".join(name for name in _NAMED if name != b"amp")
    + rb"));"
)
_ESCAPE: Final = re.compile(
    rb"\\(?<!\\\\)\\*+(?:(?:U0{6}|[uU]00|x|0000)([0-9a-fA-F]{2})|[uUx]\{0{0,4}([0-9a-fA-F]{2})\})"
)
"""Of a run of backslashes only the first begins a match, and it takes all of them: a body of nothing else
would be read in quadratic time, and no other thread runs while an expression is matched."""
_PERCENT: Final = re.compile(rb"%(?:[uU]00)?([2-7][0-9a-fA-F]|0[9aAdD])")
_BREAKS: Final = re.compile(rb"\\(?<!\\\\)\\*+[nrt]")
_LINES: Final = re.compile(rb"\\+[nrt]|\\+|[ \t\r\n\v\f\0]+")
_FOLD: Final = re.compile(
    rb"=(?:\r?\n|(?:\\+r)?\\+n|(2[BDEF]|3[ADF]|5[BDEF]|7[B-E]))|\?=(?:\s|\\+[rnt]){1,8}=\?[^?\s]{1,40}\?[bBqQ]\?"
)
"""What mail makes of a word: a soft line break, a sign in two digits (RFC 2045, 6.7; `=` always, others by
some), another encoded word (RFC 2047). With all digits a page full of `limit=20` would be read twice."""
_QUOTED: Final = re.compile(rb"=(?:2[BDEF]|3[ADF]|5[BDEF]|7[B-E])")
_FEW: Final = (
    300  # `=` in one text; looked at one by one, more take longer than looking for each kind of break
)
_FOLD_BEGUN: Final = re.compile(
    rb"(?:=(?:\r|\\+r?|(?:\\+r)\\+|[2357])?|\?(?:=(?:\s|\\+[rnt]?){0,8}(?:=(?:\?[^?\s]{0,40}(?:\?[bBqQ]?)?)?)?)?)\Z"
)
"""The beginning of one, at the end of a piece."""
_FOLD_AT_MOST: Final = 64
_BEGUN: Final = re.compile(
    rb"(?:\\+(?:[uU]0{0,6}[0-9a-fA-F]?|x[0-9a-fA-F]?|0{1,4}[0-9a-fA-F]?|[uUx]\{[0-9a-fA-F]{0,6})?"
    rb"|(?:%(?:25)*)+(?:[uU]0{0,2}[0-9a-fA-F]?|[0-9a-fA-F])?"
    rb"|&(?:amp;){0,3}(?:a?m?p?|#[xX]?[0-9a-fA-F]{0,7}|[a-zA-Z]{0,6}))\Z"
)
"""The beginning of a spelling, at the end of a piece."""
_BEGUN_AT_MOST: Final = 32
_HEX_UNIT: Final = re.compile(
    rb"(.*(?:U0{6}|[uU]00|\\x|\\0000|[uUx]\{0{0,4}|#[xX]0{0,4}|%(?:25)*))([0-9a-fA-F]{2})([;}]?)", re.DOTALL
)
_DECIMAL_UNIT: Final = re.compile(rb"(&(?:amp;)*#0{0,4})(\d{1,3})(;)")

_DIGITS: Final = b"0123456789abcdefABCDEF"
_HEXADECIMAL: Final = {
    pair: bytes((int(pair, 16),)) for pair in (bytes((high, low)) for high in _DIGITS for low in _DIGITS)
}
"""What two digits stand for."""


class Place(Enum):
    """What a text stands in, which says how its special characters are spelled there."""

    PLAIN = auto()
    JSON = auto()
    FORM = auto()
    XML = auto()
    URL = auto()


@dataclass(frozen=True, slots=True)
class Mapped:
    """A normal text; `starts[i]` to `ends[i]` is what its byte i was in the text as it came."""

    text: bytes
    starts: Sequence[int]
    ends: Sequence[int]


def normal(data: bytes) -> bytes:
    """Return `data` with every spelling undone and nothing that breaks it into lines."""
    for _ in range(ROUNDS):
        size = len(data)
        if b"&" in data:
            data = _ENTITY.sub(_entity, data.replace(b"&amp;", b"&"))
        if b"\\" in data:
            data = _ESCAPE.sub(_hexadecimal, data)
        if b"%" in data:
            data = _PERCENT.sub(_hexadecimal, data)
        if len(data) == size:
            break
    if b"\\" in data:
        data = _BREAKS.sub(b"", data)
    return data.translate(None, _BLANKS)


def mapped(data: bytes) -> Mapped:
    """Return the same text as `normal`, with where each byte of it came from. Much slower."""
    if normal(data) == data:
        return Mapped(data, range(len(data)), range(1, len(data) + 1))
    whole = Mapped(data, list(range(len(data))), list(range(1, len(data) + 1)))
    for _ in range(ROUNDS):
        size = len(whole.text)
        whole = _through(whole, _AMPERSAND, lambda _: b"&")
        for pattern, undone in ((_ENTITY, _entity), (_ESCAPE, _hexadecimal), (_PERCENT, _hexadecimal)):
            whole = _through(whole, pattern, undone)
        if len(whole.text) == size:
            break
    return _through(whole, _LINES, lambda _: b"")


def begun(data: bytes) -> int:
    """Return how many bytes at the end of `data` may be the beginning of one character's spelling."""
    found = _BEGUN.search(data[-_BEGUN_AT_MOST:])
    return len(found.group()) if found else 0


def folded(data: bytes, *, open_end: bool = False) -> tuple[bytes, Callable[[int], int]] | None:
    """Return `data` without what mail makes of a word, and what tells where a byte of it was.

    None where there are none, as in most texts. With an `open_end` also without one that begins there.
    """
    if not _may_be_folded(data):
        return None
    last = len(data)
    if open_end:
        begun_here = _FOLD_BEGUN.search(data[-_FOLD_AT_MOST:])
        last -= len(begun_here.group()) if begun_here else 0
    gaps = list(_FOLD.finditer(data, 0, last))
    if not gaps:
        return None
    text, at, starts, shifts = bytearray(), 0, [0], [0]
    for gap in gaps:
        begin, end = gap.span()
        text += data[at:begin]
        text += _HEXADECIMAL[gap[1]] if gap[1] else b""
        starts.append(len(text))
        shifts.append(end - len(text))
        at = end
    text += data[at:last]
    return bytes(text), lambda place: place + shifts[bisect_right(starts, place) - 1]


def unfolded(data: bytes) -> bytes | None:
    """Return the text alone that `folded` returns, in less than half the time: every body is asked."""
    if not _may_be_folded(data):
        return None
    parts = _FOLD.split(data)
    if len(parts) == 1:
        return None
    parts[1::2] = [_HEXADECIMAL[pair] if pair else b"" for pair in parts[1::2]]
    return b"".join(parts)


def _may_be_folded(data: bytes) -> bool:
    """Tell whether a `=` stands beside what makes a break of it. Every byte of every answer is asked."""
    places = data.count(b"=")
    if places > _FEW:
        breaks = b"=\n" in data or b"=\r" in data or b"=\\" in data or b"?=" in data
        return breaks or _QUOTED.search(data) is not None
    at = -1
    for _ in range(places):
        at = data.find(b"=", at + 1)
        if data[at + 1 : at + 2] in b"\n\r\\2357" or data[at - 1 : at] == b"?":
            return True
    return False


def is_lower(units: Iterable[bytes]) -> bool:
    """Tell whether any of these spellings has a hexadecimal digit in lower case."""
    digits = (found.group(2) for unit in units if len(unit) > 1 and (found := _HEX_UNIT.fullmatch(unit)))
    return any(pair != pair.upper() for pair in digits)


def like(unit: bytes, char: bytes, *, lower: bool = False) -> bytes:
    """Spell one character as `unit` spells its own, with hexadecimal digits in upper or `lower` case.

    That is the same all through a text: mixed, a text of n characters would have 2 to the n spellings.
    """
    if len(unit) == 1:
        return char
    found = _HEX_UNIT.fullmatch(unit)
    if found:
        upper = not lower
        return found.group(1) + (b"%02X" if upper else b"%02x") % char[0] + found.group(3)
    found = _DECIMAL_UNIT.fullmatch(unit)
    if found:
        return found.group(1).rstrip(b"0") + b"%03d" % char[0] + found.group(3)  # as long for any character
    return char


def placed(text: bytes, place: Place) -> bytes:
    """Spell a printable text as it has to be in `place`."""
    match place:
        case Place.PLAIN:
            return text
        case Place.JSON:
            return text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        case Place.FORM | Place.URL:
            return quote(text, safe="").encode()
        case Place.XML:
            for char, name in (
                (b"&", b"amp"),
                (b"<", b"lt"),
                (b">", b"gt"),
                (b'"', b"quot"),
                (b"'", b"apos"),
            ):
                text = text.replace(char, b"&" + name + b";")
            return text


def _entity(found: re.Match[bytes]) -> bytes:
    decimal, hexadecimal, name = found.groups()
    if name is not None:
        return _NAMED[name]
    number = int(decimal) if decimal is not None else int(hexadecimal, 16)
    return bytes((number,)) if number < 0x100 else found.group()


def _hexadecimal(found: re.Match[bytes]) -> bytes:
    return _HEXADECIMAL[found[found.lastindex or 1]]


def _through(
    before: Mapped, pattern: re.Pattern[bytes], undone: Callable[[re.Match[bytes]], bytes]
) -> Mapped:
    text, starts, ends = bytearray(), list[int](), list[int]()
    at = 0
    for found in pattern.finditer(before.text):
        begin, end = found.span()
        new = undone(found)
        if new == found.group():
            continue
        text += before.text[at:begin] + new
        starts.extend(before.starts[at:begin])
        ends.extend(before.ends[at:begin])
        if new:
            starts.append(before.starts[begin])
            ends.append(before.ends[end - 1])
        at = end
    if not at:
        return before
    text += before.text[at:]
    starts.extend(before.starts[at:])
    ends.extend(before.ends[at:])
    return Mapped(bytes(text), starts, ends)
