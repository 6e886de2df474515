"""Typed fields of CBOR maps: how each shape of field is read, checked and written.

What always holds: a value of the wrong type is an error in both directions (True is not an integer), a
missing key or null reads as the zero value, and an empty bytes, list or map value is written as null.
Unknown keys are skipped. A bundle of another writer may hold an *empty* value where we would write null:
reading keeps that apart by type (`GivenBytes`, `GivenList`, `GivenMap`, equal to the plain empty value), so
that what was read can be written again byte for byte.

Not done here: which fields a kind has (`hark.bundle.bounds`, `hark.bundle.events`, `hark.bundle.header`).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from hark.bundle import cbor
from hark.errors import BundleError, RecordError

FIRST_EXTRA: Final = 32
"""Keys from here on are not format 1: a version 1 reader skips them, and they are written only when set."""
SALT_KEY: Final = 63
NO_MAP: Final[Mapping[Any, Any]] = MappingProxyType({})

type Pairs = tuple[tuple[bytes, bytes], ...]
"""A raw header list in order: what a map of text loses (repeated names, bytes outside UTF-8)."""


class GivenBytes(bytes):
    """Empty, but written as an empty byte string rather than null."""


class GivenList(tuple[Any, ...]):
    """Empty, but written as an empty list rather than null."""

    __slots__ = ()


class GivenMap(dict[Any, Any]):
    """Empty, but written as an empty map rather than null."""

    __slots__ = ()


class Shape(NamedTuple):
    """One shape of field. `fits` MUST accept exactly what `load` returns (and what `dump` can write)."""

    words: str
    zero: Any
    fits: Callable[[Any], bool]
    load: Callable[[Any], Any] = lambda value: value
    given: type | None = None
    """The type that marks an empty value as given; None where the zero value has a spelling of its own."""
    every: type | None = None
    """A type of which every value fits: most values are told by it."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def _is_uint(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, bytes)


def _is_hash(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) in {0, 32}


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_pair(value: Any) -> bool:
    if type(value) is tuple and len(value) == 2 and type(value[0]) is bytes and type(value[1]) is bytes:
        return True  # as a header's, of which every exchange has some dozen
    return _is_list(value) and len(value) == 2 and _is_bytes(value[0]) and _is_bytes(value[1])


def _map_of(is_key: Callable[[Any], bool], is_value: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        if type(value) is not dict and not isinstance(value, Mapping):
            return False
        return all(map(is_key, value)) and all(map(is_value, value.values()))

    return fits


TEXT: Final = Shape("text", "", _is_text, every=str)
INT: Final = Shape("an integer of 64 bits", 0, _is_int)
UINT: Final = Shape("an unsigned integer of 64 bits", 0, _is_uint)
BOOL: Final = Shape("true or false", False, _is_bool, every=bool)  # noqa: FBT003 - a zero value
BYTES: Final = Shape("bytes", b"", _is_bytes, given=GivenBytes, every=bytes)
HASH: Final = Shape("32 bytes", b"", _is_hash, given=GivenBytes)
TEXTS: Final = Shape("a list of text", (), lambda v: _is_list(v) and all(map(_is_text, v)), tuple, GivenList)
UINTS: Final = Shape(
    "a list of numbers", (), lambda v: _is_list(v) and all(map(_is_uint, v)), tuple, GivenList
)
PAIRS: Final = Shape(
    "a list of pairs of bytes",
    (),
    lambda v: _is_list(v) and all(map(_is_pair, v)),
    lambda v: tuple((name, value) for name, value in v),
    GivenList,
)
TEXT_MAP: Final = Shape("a map of text to text", NO_MAP, _map_of(_is_text, _is_text), given=GivenMap)
HASH_MAP: Final = Shape("a map of text to hashes", NO_MAP, _map_of(_is_text, _is_hash), given=GivenMap)
COUNTS: Final = Shape("a map of numbers to numbers", NO_MAP, _map_of(_is_uint, _is_uint), given=GivenMap)

type Layout = Mapping[int, Shape]
"""Key -> shape, in the order of the fields of the class that holds the values."""


def dump(name: str, layout: Layout, values: tuple[Any, ...]) -> dict[int, Any]:
    """The map that stands for `values`; a value of the wrong type is a RecordError."""
    result = {}
    for (key, shape), value in zip(layout.items(), values, strict=True):
        if type(value) is not shape.every and not shape.fits(value):
            raise _misfit(name, key, shape)
        if value or shape.given is None:
            if value or key < FIRST_EXTRA:
                result[key] = value
        elif isinstance(value, shape.given):
            result[key] = value
        elif key < FIRST_EXTRA:
            result[key] = None
    return result


_PLAIN: Final[Mapping[str, type]] = {
    TEXT.words: str,
    BYTES.words: bytes,
    HASH.words: bytes,
    INT.words: int,
    UINT.words: int,
    PAIRS.words: tuple,
    TEXT_MAP.words: dict,
}
"""The type of most values of a shape."""
_EMPTY: Final = {kind: cbor.encode(kind() if kind in (str, int) else None) for kind in _PLAIN.values()}


class Plan:
    """One layout, ready to be written. `payload` is `cbor.encode` of what `dump` returns, in one pass."""

    __slots__ = ("_name", "_rows")

    def __init__(self, name: str, layout: Layout) -> None:
        keys = [cbor.encode(key) for key in layout]
        if sorted(keys) != keys:
            raise ValueError(f"the keys of {name} are not in the order in which they are written")
        self._name = name
        self._rows = [
            (key, spelled, shape, shape.every, shape.given, _PLAIN.get(shape.words))
            for (key, shape), spelled in zip(layout.items(), keys, strict=True)
        ]

    def payload(self, values: tuple[Any, ...], more: tuple[bytes, ...] = ()) -> bytes:
        """The map that stands for `values`, and for `more`: one key behind all of them, and its value."""
        out, count = [b""], 1 if more else 0
        for (key, spelled, shape, every, given, plain), value in zip(self._rows, values, strict=True):
            kind = type(value)
            if kind is plain:  # it fits, and most values are such
                if not value:
                    if key < FIRST_EXTRA:
                        out += (spelled, _EMPTY[kind])
                        count += 1
                    continue
                if kind is str or (kind is bytes and shape is BYTES):
                    out.append(spelled)
                    out += cbor.string(value)
                    count += 1
                    continue
                if kind is int:
                    if 0 < value < 1 << 63:
                        out += (spelled, cbor.uint(value))
                        count += 1
                        continue
                elif kind is not bytes:
                    out.append(spelled)
                    if (cbor.write_texts if kind is dict else cbor.write_pairs)(out, value):
                        count += 1
                        continue
                    out.pop()
            if kind is not every and not shape.fits(value):
                raise _misfit(self._name, key, shape)
            if not value and key >= FIRST_EXTRA and (given is None or not isinstance(value, given)):
                continue
            out.append(spelled)
            cbor.write(out, value if value or given is None or isinstance(value, given) else None)
            count += 1
        out[0] = cbor.map_head(count)
        out += more
        return b"".join(out)


def _misfit(name: str, key: int, shape: Shape) -> RecordError:
    return RecordError(f"{name}: the value for key {key} is not {shape.words}: it cannot be recorded")


def load(name: str, layout: Layout, raw: cbor.Value) -> list[Any]:
    """The values of the fields, in order; a value of the wrong type is a BundleError."""
    if not isinstance(raw, dict):
        raise BundleError(f"{name} is not a map")
    if not all(_is_int(key) for key in raw):
        raise BundleError(f"{name} has a key that is not an integer")
    return [_field(name, key, shape, raw.get(key)) for key, shape in layout.items()]


def _field(name: str, key: int, shape: Shape, value: cbor.Value) -> Any:
    if value is None:
        return shape.zero
    if not shape.fits(value):
        raise BundleError(f"{name}: key {key} is not {shape.words}")
    if not value and shape.given is not None:
        return shape.given()
    return shape.load(value)
