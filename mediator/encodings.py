"""The texts in which a credential stands: itself, base64 at its three alignments, hexadecimal; and how each
is turned into another credential's. Rarer ones are only found. Pure.

Always: texts are normal ones (`mediator.spelling`), so that escapes and lines within them are no matter.
Base64 depends on where the value begins in its input. What is looked for is the part that the value alone
decides; the characters that it shares with its neighbours keep the neighbours' bits.

Not done here: compressed and encrypted forms (bodies are unpacked before they are searched).
"""

import base64
import string
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from mediator.spelling import Mapped, Place, is_lower, like, normal, placed

_STANDARD: Final = (string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/").encode()
_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
BASE64: Final = frozenset(_STANDARD + b"-_")
_RARE_BYTES: Final = 32  # of a value's end; a token's beginning says what it is, and stands in others too
_CASELESS: Final = 16  # shorter ones may be words, which stand in a text in any case
_ALNUM: Final = frozenset((string.ascii_letters + string.digits).encode())


@dataclass(frozen=True, slots=True)
class Pair:
    """What is looked for, and what is put in its place unless `refusal` says why that must not be."""

    name: str
    old: bytes
    new: bytes
    refusal: str = ""


class Form(Enum):
    """How a needle was made of its value."""

    PLAIN = auto()
    LOWER_HEX = auto()
    UPPER_HEX = auto()
    BASE64 = auto()
    BASE64_URL = auto()
    RARE = auto()
    """One that is only found: nothing is put in its place."""


@dataclass(frozen=True, slots=True)
class Needle:
    """One text to look for. `offset` is how many bytes stand before the value in a group of three."""

    text: bytes
    pair: Pair
    form: Form
    offset: int = 0


class Short(Enum):
    """Why a needle that was found is not turned: the text has to go on first, or it cannot be done."""

    MORE = auto()
    NEVER = auto()


@dataclass(frozen=True, slots=True)
class Turned:
    """From `start` to `end` of the normal text, `text` comes instead."""

    start: int
    end: int
    text: bytes


def needles_of(pair: Pair) -> Iterator[Needle]:
    """Yield every text that gives `pair.old` away."""
    plain = {normal(pair.old), normal(pair.old.replace(b" ", b"+"))}
    yield from (Needle(text, pair, Form.PLAIN) for text in plain)
    yield Needle(pair.old.hex().encode(), pair, Form.LOWER_HEX)
    yield Needle(pair.old.hex().upper().encode(), pair, Form.UPPER_HEX)
    for offset in range(3):
        core = _encoded(pair.old, offset)[_first(offset) : _whole(pair.old, offset)]
        yield Needle(core, pair, Form.BASE64, offset)
        if core != core.translate(_TO_URL):
            yield Needle(core.translate(_TO_URL), pair, Form.BASE64_URL, offset)


def rare_of(pair: Pair) -> Iterator[Needle]:
    """Yield texts that few programs would make of `pair.old`: the stream stops there.

    Octal (whose backslashes are none in a normal text), decimal numbers with commas, hexadecimal with a sign
    before or between, base32 at its five alignments, base64 of UTF-16 in either order, EBCDIC,
    whose pages have the characters of tokens in common, and the other case where that loses nothing.
    """
    end = pair.old[-_RARE_BYTES:]
    texts = [b"".join(b"%03o" % char for char in end), b",".join(b"%d" % char for char in end)]
    texts += [b"=" + end.hex("=").upper().encode(), end.hex("-").upper().encode()]
    texts += [end.hex(":").encode(), end.hex(":").upper().encode()]
    for offset in range(5):
        whole = base64.b32encode(bytes(offset) + end)
        texts.append(whole[(offset * 8 + 4) // 5 : (offset + len(end)) * 8 // 5])
    texts.append(end.decode("latin-1").encode("cp037", "replace"))
    if (
        len(end) >= _CASELESS
        and pair.old != pair.old.swapcase()
        and pair.old in (pair.old.lower(), pair.old.upper())
    ):
        texts.append(normal(end.swapcase()))
    wide = b"\0".join(end[i : i + 1] for i in range(len(end)))
    for offset in range(3):
        core = _encoded(wide, offset)[_first(offset) : _whole(wide, offset)]
        texts += [core, core.translate(_TO_URL)]
    yield from (Needle(text, pair, Form.RARE) for text in dict.fromkeys(texts))


def turn(needle: Needle, at: int, text: bytes, *, final: bool) -> Turned | Short:
    """Return what comes in the place of `needle`, which stands at `at` in a normal text."""
    pair, end = needle.pair, at + len(needle.text)
    match needle.form:
        case Form.PLAIN:
            return Turned(at, end, pair.new)
        case Form.LOWER_HEX:
            return Turned(at, end, pair.new.hex().encode())
        case Form.UPPER_HEX:
            return Turned(at, end, pair.new.hex().upper().encode())
        case Form.BASE64 | Form.BASE64_URL:
            turned = _turn_base64(needle, at, text, final=final)
            url = needle.form is Form.BASE64_URL
            if url and isinstance(turned, Turned):
                return Turned(turned.start, turned.end, turned.text.translate(_TO_URL))
            return turned
        case Form.RARE:
            return Short.NEVER


def before(pair: Pair) -> bytes:
    """Return the base64 characters before a needle of `pair` that its replacement changes too."""
    return bytes(
        char
        for char in BASE64
        for bits in (4, 2)
        if pair.old[0] >> (8 - bits) == _number(char) % (1 << bits)
        and pair.old[0] >> (8 - bits) != pair.new[0] >> (8 - bits)
    )


def respell(turned: Turned, found: Mapped, raw: bytes, place: Place) -> bytes:
    """Return `turned.text` spelled as what it replaces was, with the same breaks where the length agrees."""
    first, last = found.starts[turned.start], found.ends[turned.end - 1]
    if last - first == turned.end - turned.start and raw[first:last] == found.text[turned.start : turned.end]:
        return placed(turned.text, place)  # as it is: a body may hold thousands
    wide = _between(raw, found, turned)
    if wide is not None:
        text = placed(turned.text, place)
        return wide.join(text[i : i + 1] for i in range(len(text)))
    units = [raw[found.starts[i] : found.ends[i]] for i in range(turned.start, turned.end)]
    lower = is_lower(units)
    telling = [unit for i, unit in enumerate(units, turned.start) if found.text[i] in _ALNUM]
    if len(units) != len(turned.text):
        if telling and all(len(unit) > 1 for unit in telling):
            return b"".join(like(telling[0], bytes((char,)), lower=lower) for char in turned.text)
        return placed(turned.text, place)
    # Where an encoder spells special characters alone, their places are not told by those in the new text.
    special_alone = bool(telling) and all(len(unit) == 1 for unit in telling)
    spelled = bytearray()
    for i, unit in enumerate(units):
        char, number = turned.text[i : i + 1], turned.start + i
        gap = raw[found.ends[number - 1] : found.starts[number]] if i else b""
        if char[0] in _ALNUM and not gap.strip(b"\\"):
            gap = b""  # which escaped what stood here
        plain = len(unit) == 1 or (special_alone and char[0] in _ALNUM)
        spelled += gap + (placed(char, place) if plain else like(unit, char, lower=lower))
    return bytes(spelled)


def _between(raw: bytes, found: Mapped, turned: Turned) -> bytes | None:
    """Return the NULs that stand between each two characters, as in UTF-16; None in other texts."""
    text, count = found.text[turned.start : turned.end], turned.end - turned.start - 1
    whole = raw[found.starts[turned.start] : found.ends[turned.end - 1]]
    size, rest = divmod(len(whole) - 1, count) if count else (1, 0)
    if size == 1 or rest or whole[::size] != text or whole.count(0) != len(whole) - len(text):
        return None
    return bytes(size - 1)


def _turn_base64(needle: Needle, at: int, text: bytes, *, final: bool) -> Turned | Short:
    pair, offset, end = needle.pair, needle.offset, at + len(needle.text)
    spare = (offset + len(pair.old)) * 8 % 6  # bits of the last character that are the value's
    last = end + bool(spare)
    if last > len(text) and not final:
        return Short.MORE
    new = _encoded(pair.new, offset)
    left = b""
    if offset and at and text[at - 1] in BASE64:
        kept = 0b110000 if offset == 1 else 0b111100
        left = _merged(text[at - 1], new[_first(offset) - 1], kept)
    if len(pair.new) == len(pair.old):
        core = new[_first(offset) : _whole(pair.new, offset)]
        if spare and last <= len(text) and text[end] in BASE64:
            core += _merged(text[end], new[_whole(pair.new, offset)], (1 << (6 - spare)) - 1)
            end = last
        return Turned(at - len(left), end, left + core)
    return _turn_last(text, (at - len(left), end, last), (left + new[_first(offset) :], spare), final=final)


def _turn_last(
    text: bytes, span: tuple[int, int, int], new: tuple[bytes, int], *, final: bool
) -> Turned | Short:
    """Of another length: that works only where nothing of the same base64 text follows."""
    start, end, last = span
    encoded, spare = new
    padded = last
    while padded < len(text) and text[padded] == ord("="):
        padded += 1
    if padded >= len(text) and not final:
        return Short.MORE
    others = spare and end < len(text) and _number(text[end]) & ((1 << (6 - spare)) - 1)
    if others or (padded == last and padded < len(text) and text[padded] in BASE64):
        return Short.NEVER
    wanted = padded > last or not spare
    encoded = encoded if wanted else encoded.rstrip(b"=")
    return Turned(start, min(padded, len(text)), encoded)


def _encoded(raw: bytes, offset: int) -> bytes:
    return base64.b64encode(b"\0" * offset + raw)


def _first(offset: int) -> int:
    """Return how many characters depend on what stands before the value."""
    return (offset * 8 + 5) // 6


def _whole(raw: bytes, offset: int) -> int:
    """Return how many characters depend on nothing behind it."""
    return (offset + len(raw)) * 8 // 6


def _number(char: int) -> int:
    return max(_STANDARD.find(bytes((char,)).translate(_TO_STANDARD)), 0)


def _merged(old: int, new: int, kept: int) -> bytes:
    """Return the base64 character with the `kept` bits of `old` and the others of `new`."""
    number = _number(old) & kept | _number(new) & ~kept
    return _STANDARD[number : number + 1]
