"""Deterministic CBOR, as much of it as bundle format 1 has: integers, bytes, text, lists, maps, bool, null.

What always holds: `decode` accepts exactly what `encode` can write (RFC 8949 4.2.1: definite lengths,
shortest heads, keys in bytewise order and once each), so a value has one spelling and a trailing byte is an
error. Tags, floats and indefinite lengths are refused before anything is built from them; depth, number of
items and claimed lengths are checked before they cost memory.

Not done here: which keys a map must have (`hark.bundle.fields`).
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from struct import Struct
from typing import Final

from hark.errors import BundleError, RecordError

MAX_DEPTH: Final = 8  # format 1 nests three deep (raw headers); much more is an attack on the stack
MAX_ITEMS: Final = 1 << 20  # a list of one-byte items costs eight times its bytes in memory

type Value = bool | int | str | bytes | list[Value] | dict[Value, Value] | None
"""What `decode` returns. Map keys are integers, text or bytes, never containers."""

_UINT, _NEGATIVE, _BYTES, _TEXT, _LIST, _MAP, _SIMPLE = 0, 1, 2, 3, 4, 5, 7
_SIMPLE_VALUES: Final[dict[int, bool | None]] = {20: False, 21: True, 22: None}
_WIDTHS: Final = {
    24: (Struct(">B"), 24),
    25: (Struct(">H"), 1 << 8),
    26: (Struct(">I"), 1 << 16),
    27: (Struct(">Q"), 1 << 32),
}
"""Additional information -> layout of the argument that follows, and the least argument that needs it."""
_BYTES_ALONE: Final = [bytes((n,)) for n in range(256)]
_SHORT: Final = tuple(
    (*_BYTES_ALONE[first : first + 24], *map(_BYTES_ALONE[first | 24].__add__, _BYTES_ALONE[24:]))
    for first in range(0, 6 << 5, 1 << 5)
)
"""Heads whose argument fits into one byte, by major type: nearly all that there are."""
_LONG: Final = tuple(
    (limit, Struct(f">B{code}").pack, info)
    for limit, code, info in ((1 << 16, "H", 25), (1 << 32, "I", 26), (1 << 64, "Q", 27))
)
"""Below what an argument is written so, how, and the additional information that says it."""
_PAIR: Final = _SHORT[_LIST][2]
_first: Final = itemgetter(0)


def encode(value: object) -> bytes:
    """Write `value` in its one deterministic form; what has none (a float, 65 bits) is a RecordError.

    Text that is not valid Unicode (a lone surrogate, as `os.fsdecode` makes) is escaped with backslashes.
    """
    out: list[bytes] = []
    write(out, value)
    return b"".join(out)


def write(out: list[bytes], value: object) -> None:
    """Add what `encode` would write, in pieces."""
    kind = type(value)  # told apart by identity first: several dozen values for each request
    if kind is bytes:
        _string(out, _BYTES, value)  # type: ignore[arg-type]
    elif kind is str:
        _string(out, _TEXT, value.encode("utf-8", "backslashreplace"))  # type: ignore[attr-defined]
    elif kind is int:
        _integer(out, value)  # type: ignore[arg-type]
    elif kind is tuple:
        _write_list(out, value)  # type: ignore[arg-type]
    elif kind is dict:
        _write_map(out, value.items())  # type: ignore[attr-defined]
    else:
        _write_rarer(out, value)


def _write_rarer(out: list[bytes], value: object) -> None:
    match value:
        case None | bool():
            out.append(b"\xf6" if value is None else b"\xf5" if value else b"\xf4")
        case int():
            _integer(out, value)
        case str():
            _string(out, _TEXT, value.encode("utf-8", "backslashreplace"))
        case bytes() | bytearray():
            _string(out, _BYTES, bytes(value))
        case list() | tuple():
            _write_list(out, value)
        case Mapping():
            _write_map(out, value.items())
        case _:
            raise RecordError(f"a value of type {type(value).__name__} has no place in a bundle")


def _string(out: list[bytes], major: int, text: bytes) -> None:
    size = len(text)
    out.append(_SHORT[major][size] if size < 256 else _head(major, size))
    out.append(text)


def _integer(out: list[bytes], value: int) -> None:
    out.append(_head(_UINT, value) if value >= 0 else _head(_NEGATIVE, -1 - value))


def _write_list(out: list[bytes], items: Sequence[object]) -> None:
    out.append(_head(_LIST, len(items)))
    short = _SHORT[_BYTES]
    for item in items:
        if type(item) is tuple and len(item) == 2:
            name, value = item
            if type(name) is type(value) is bytes and len(name) < 256 and len(value) < 256:
                out += (_PAIR, short[len(name)], name, short[len(value)], value)
                continue  # a header, of which every exchange has some dozen
        write(out, item)


def _write_map(out: list[bytes], items: Collection[tuple[object, object]]) -> None:
    pairs = [(_key(key), item) for key, item in items]
    pairs.sort(key=_first)
    out.append(_head(_MAP, len(pairs)))
    before = b""
    for key, item in pairs:
        if key == before:  # two keys that differ only in what had to be escaped
            raise RecordError("two keys of one map are written the same way: they cannot both be recorded")
        before = key
        out.append(key)
        write(out, item)


# What follows writes the values of which an exchange has most, as `write` does, without a call for each.


def map_head(size: int) -> bytes:
    """What a map of `size` keys begins with."""
    return _head(_MAP, size)


def string(value: str | bytes) -> tuple[bytes, bytes]:
    """A text or a string of bytes, in two pieces."""
    if type(value) is str:
        text, major = value.encode("utf-8", "backslashreplace"), _TEXT
    else:
        text, major = value, _BYTES  # type: ignore[assignment]
    size = len(text)
    return _SHORT[major][size] if size < 256 else _head(major, size), text


def uint(value: int) -> bytes:
    """A number from 0 on."""
    return _SHORT[_UINT][value] if value < 256 else _head(_UINT, value)


def write_texts(out: list[bytes], texts: Mapping[object, object]) -> bool:
    """Write a map of text to text; False, and nothing, where it is none, or `write` has to look closer."""
    short, pairs = _SHORT[_TEXT], []
    try:
        for key, text in texts.items():
            if type(key) is not str or type(text) is not str:
                return False
            name, value = key.encode(), text.encode()
            pairs.append((short[len(name)] + name, short[len(value)] + value))
    except (UnicodeEncodeError, IndexError):  # to be escaped, which may make two keys one; or long
        return False
    pairs.sort()
    out.append(_head(_MAP, len(pairs)))
    out.extend(chain.from_iterable(pairs))
    return True


def write_pairs(out: list[bytes], pairs: Sequence[object]) -> bool:
    """Write a list of pairs of bytes; False, and nothing, where it is none, or `write` has to look closer."""
    short, parts = _SHORT[_BYTES], [_head(_LIST, len(pairs))]
    for pair in pairs:
        if type(pair) is not tuple or len(pair) != 2:
            return False
        name, value = pair
        if type(name) is not bytes or type(value) is not bytes or len(name) > 255 or len(value) > 255:
            return False
        parts += (_PAIR, short[len(name)], name, short[len(value)], value)
    out += parts
    return True


def _key(key: object) -> bytes:
    if type(key) is int and 0 <= key < 256:
        return _SHORT[_UINT][key]
    if type(key) is str:
        text = key.encode("utf-8", "backslashreplace")
        return _head(_TEXT, len(text)) + text
    return encode(key)


def _head(major: int, argument: int) -> bytes:
    if argument < 256:
        return _SHORT[major][argument]
    for limit, pack, info in _LONG:
        if argument < limit:
            return pack(major << 5 | info, argument)
    raise RecordError(f"{argument} does not fit into 64 bits: it cannot be recorded")


def decode(data: bytes) -> Value:
    """Read one value that fills `data`; anything else is a BundleError that says at which byte."""
    reader = _Reader(data)
    value = reader.item(0)
    if reader.at != len(data):
        raise BundleError(f"CBOR: {len(data) - reader.at} bytes follow the value at byte {reader.at}")
    return value


class _Reader:
    __slots__ = ("at", "data", "items")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.items = 0

    def item(self, depth: int) -> Value:
        self.items += 1
        if depth > MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH}")
        if self.items > MAX_ITEMS:
            raise self.error(f"more than {MAX_ITEMS} items")
        major, argument = self.head()
        match major:
            case 0:
                return argument
            case 1:
                return -1 - argument
            case 2:
                return self.take(argument)
            case 3:
                return self.text(argument)
            case 4:
                self.claim(argument)
                return [self.item(depth + 1) for _ in range(argument)]
            case 5:
                self.claim(2 * argument)
                return self.map(argument, depth + 1)
            case _:
                return _SIMPLE_VALUES[argument]

    def head(self) -> tuple[int, int]:
        """Major type and argument of the item at hand; only shortest heads of the types above pass."""
        if self.at >= len(self.data):
            raise self.error("ends in the middle of a value")
        first = self.data[self.at]
        major, info = first >> 5, first & 31
        if major == _SIMPLE and info not in _SIMPLE_VALUES:
            raise self.error("a float, undefined or simple value, which format 1 does not have")
        if major == 6:
            raise self.error("a tag, which format 1 does not have")
        self.at += 1
        if info < 24:
            return major, info
        if info not in _WIDTHS:
            raise self.error("an indefinite length, which format 1 does not have")
        layout, least = _WIDTHS[info]
        argument: int = layout.unpack(self.take(layout.size))[0]
        if argument < least:
            raise self.error("a number that is not written in its shortest form")
        return major, argument

    def take(self, size: int) -> bytes:
        self.claim(size)
        start = self.at
        self.at = start + size
        return self.data[start : self.at]

    def claim(self, size: int) -> None:
        """Refuse a length that the data cannot hold, before anything is allocated for it."""
        if size > len(self.data) - self.at:
            raise self.error(f"claims {size} bytes or items where {len(self.data) - self.at} bytes are left")

    def text(self, size: int) -> str:
        try:
            return self.take(size).decode()
        except UnicodeDecodeError:
            raise self.error("text that is not UTF-8") from None

    def map(self, size: int, depth: int) -> dict[Value, Value]:
        result: dict[Value, Value] = {}
        before = b""
        for _ in range(size):
            start = self.at
            key = self.item(depth)
            written = self.data[start : self.at]
            if not isinstance(key, int | str | bytes) or isinstance(key, bool):  # True would stand for 1
                raise self.error("a map key that is no number, text or bytes")
            if written <= before:
                raise self.error("map keys out of order or twice")
            before = written
            result[key] = self.item(depth)
        return result

    def error(self, what: str) -> BundleError:
        return BundleError(f"CBOR: {what}, at byte {self.at}")
