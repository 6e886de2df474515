"""Payloads read in one pass, as hark and other writers of format 1 write nearly all of them.

What always holds: what is returned is what `hark.bundle.cbor.decode` and `hark.bundle.fields.load` would
return; of what they refuse, and of what is out of the ordinary, None is returned, and they have the word.
Nothing is read of data that might hold more items than they take.
"""

from typing import Any, Final

from hark.bundle import cbor
from hark.bundle.fields import INT, PAIRS, TEXT_MAP, UINT, Layout, Pairs

_NULL: Final = 0xF6
_SIMPLE: Final[dict[int, bool | None]] = {20: False, 21: True, 22: None}
_WIDTHS: Final = ((1, 24), (2, 1 << 8), (4, 1 << 16), (8, 1 << 32))
"""Bytes of the argument that follows a head, and the least that needs them."""


class _OddError(Exception):
    """Something that the strict reader has to look at."""


class Quick:
    """One layout, ready to be read."""

    __slots__ = ("_rows", "_zeros")

    def __init__(self, layout: Layout) -> None:
        self._zeros = [shape.zero for shape in layout.values()]
        self._rows = {
            key: (index, shape.every, shape in (INT, UINT), shape)
            for index, (key, shape) in enumerate(layout.items())
        }

    def values(self, data: bytes) -> list[Any] | None:
        """Return the values of the fields, in order; None where `load` has to say what there is."""
        if len(data) > cbor.MAX_ITEMS:
            return None
        try:
            return self._values(data)
        except (IndexError, UnicodeDecodeError, _OddError):
            return None

    def _values(self, data: bytes) -> list[Any]:  # noqa: PLR0912, PLR0915 (one pass, for every event of every bundle)
        count = data[0] - 0xA0
        if not 0 <= count < 24:
            raise _OddError
        values, rows, at, before = self._zeros.copy(), self._rows, 1, -1
        found: Any
        for _ in range(count):
            key, head = data[at], data[at + 1]
            at += 2
            if key >= 24:
                if key != 24 or head < 24:
                    raise _OddError
                key, head = head, data[at]
                at += 1
            if key <= before:
                raise _OddError
            before = key
            if head == _NULL:
                continue
            row = rows.get(key)
            if head < 24:
                if row is None:
                    continue
                index, every, number, shape = row
                if number:
                    values[index] = head
                    continue
                found = head
            else:
                if 0x40 <= head < 0x7A and (size := head & 31) <= 25:
                    if size == 24:
                        size = data[at]
                        at += 1
                        if size < 24:
                            raise _OddError
                    elif size == 25:
                        size = data[at] << 8 | data[at + 1]
                        at += 2
                        if size < 256:
                            raise _OddError
                    start, at = at, at + size
                    found = data[start:at].decode() if head >= 0x60 else data[start:at]
                elif row is not None and row[3] is PAIRS and 0x80 < head <= 0x98:
                    values[row[0]], at = _pairs(data, at, head & 31)
                    continue
                elif row is not None and row[3] is TEXT_MAP and 0xA0 < head <= 0xB8:
                    values[row[0]], at = _texts(data, at, head & 31)
                    continue
                else:
                    found, at = _value(data, at - 1, 1)
                if row is None or found is None:
                    continue
                index, every, number, shape = row
                if found and type(found) is every:
                    values[index] = found
                    continue
            if not shape.fits(found):
                raise _OddError
            values[index] = shape.load(found) if found or shape.given is None else shape.given()
        if at != len(data):
            raise _OddError
        return values


def _pairs(data: bytes, at: int, count: int) -> tuple[Pairs, int]:
    """Return so many pairs of bytes, the headers of an exchange, and where the next value starts."""
    count, at = _many(data, at, count)
    found = []
    for _ in range(count):
        if data[at] != 0x82:
            raise _OddError
        name, at = _string(data, at + 1, 0x40)
        value, at = _string(data, at, 0x40)
        found.append((name, value))
    return tuple(found), at


def _texts(data: bytes, at: int, count: int) -> tuple[dict[str, str], int]:
    """Return likewise a map of so many texts."""
    count, at = _many(data, at, count)
    found, before = dict[str, str](), b""
    for _ in range(count):
        start = at
        name, at = _string(data, at, 0x60)
        written = data[start:at]
        if written <= before:
            raise _OddError
        before = written
        value, at = _string(data, at, 0x60)
        found[name.decode()] = value.decode()
    return found, at


def _many(data: bytes, at: int, count: int) -> tuple[int, int]:
    """Return how many items there are, whose number may follow in a byte, and where the first one starts."""
    if count < 24:
        return count, at
    if data[at] < 24:
        raise _OddError
    return data[at], at + 1


def _string(data: bytes, at: int, kind: int) -> tuple[bytes, int]:
    """Return bytes or a text of less than 64 KiB, whose least head is `kind`, and where the next one is."""
    size = data[at] - kind
    at += 1
    if not 0 <= size < 24:
        if size == 24:
            size = data[at]
            at += 1
        elif size == 25 and data[at]:
            size = data[at] << 8 | data[at + 1]
            at += 2
        else:
            raise _OddError
        if size < 24:
            raise _OddError
    return data[at : at + size], at + size


def _value(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """Return the value at byte `at`, and where the next one starts. What the data ends in may be shorter."""
    head = data[at]
    at += 1
    major, argument = head >> 5, head & 31
    if argument >= 24:
        argument, at = _argument(data, at, argument, major)
    if major == 2:
        return data[at : at + argument], at + argument
    if major == 3:
        return data[at : at + argument].decode(), at + argument
    if major < 2:
        return (argument if major == 0 else -1 - argument), at
    if major == 7:
        if argument not in _SIMPLE:
            raise _OddError
        return _SIMPLE[argument], at
    if major == 6 or depth >= cbor.MAX_DEPTH or argument > len(data) - at:
        raise _OddError
    return (_list if major == 4 else _map)(data, at, argument, depth + 1)


def _argument(data: bytes, at: int, info: int, major: int) -> tuple[int, int]:
    size, least = _WIDTHS[info - 24]
    argument = int.from_bytes(data[at : at + size])
    if argument < least or major == 7:
        raise _OddError
    return argument, at + size


def _list(data: bytes, at: int, count: int, depth: int) -> tuple[list[Any], int]:
    found = []
    for _ in range(count):
        value, at = _value(data, at, depth)
        found.append(value)
    return found, at


def _map(data: bytes, at: int, count: int, depth: int) -> tuple[dict[Any, Any], int]:
    found, before = {}, b""
    for _ in range(count):
        start = at
        key, at = _value(data, at, depth)
        written = data[start:at]
        if written <= before or type(key) not in (str, bytes, int):
            raise _OddError
        before = written
        found[key], at = _value(data, at, depth)
    return found, at
