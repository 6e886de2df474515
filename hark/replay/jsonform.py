"""JSON by value, and its one spelling: RFC 8785, where each number is exact as a double.

What always holds: two texts have one spelling only if they say the same value; text that readers may take in
two ways (a member that stands twice, bytes behind the value, NaN) is not JSON here; any bytes give a value
or a `NotJsonError`. A number whose shortest text as a double is another number, such as 9007199254740993,
stands as it was written. A lone surrogate, which RFC 8785 refuses, is spelled as its three bytes.

Depth is bounded by `MAX_DEPTH`, not by the interpreter's stack, so that a key is the same everywhere.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hark.policy.jsonpath import EVERY_ITEM, EVERY_MEMBER, Step, Steps

MAX_DEPTH: Final = 200  # what people send nests some ten deep
MAX_NUMBER: Final = 400  # characters; a double needs 24, and a longer text stands as it is
_PLAIN_DIGITS: Final = 15  # as many are exact in any double


class NotJsonError(ValueError):
    """The bytes are not JSON, or not of one meaning."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A number by its text: one that `json` would spell otherwise, or that no double holds."""

    text: str


def load(data: bytes) -> Any:
    """Return the value of `data`: dict, list, str, int, float, bool, None or `Raw`. Raises NotJsonError."""
    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise NotJsonError(str(error)) from None
    _check_depth(value)
    return value


def spell(value: Any) -> bytes:
    """Return the one spelling of a value that `load` returned."""
    try:
        text = _ENCODER.encode(value)
    except TypeError:  # there is a `Raw` in it
        text = "".join(_spelled(value))
    return text.encode("utf-8", "surrogatepass")


def number(value: float) -> str:
    """Return a finite double as ECMAScript spells it, which is how RFC 8785 does."""
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    written = whole + fraction
    digits = written.lstrip("0")
    point = (
        len(whole) + int(exponent or 0) - (len(written) - len(digits))
    )  # the value is 0.DIGITS * 10**point
    digits = digits.rstrip("0")
    size = len(digits)
    if size <= point <= 21:
        text = digits + "0" * (point - size)
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        text = f"{digits[0]}{'.' if size > 1 else ''}{digits[1:]}e{point - 1:+d}"
    return f"-{text}" if value < 0 else text


def without(value: Any, paths: Sequence[Steps]) -> Any:
    """Return `value`, changed in place, without what stands at `paths`: members, and items as null."""
    for steps in paths:
        if steps:
            for container in _reached(value, steps[:-1]):
                _take_out(container, steps[-1])
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's members in the order of RFC 8785: by UTF-16 code units."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise NotJsonError("a member stands twice")
    if len(value) < 2:
        return value
    names = list(value)
    plain = all(map(str.isascii, names))
    ordered = sorted(names) if plain else sorted(names, key=_utf16)
    return value if ordered == names else {name: value[name] for name in ordered}


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _integer(text: str) -> int | float | Raw:
    if len(text) <= _PLAIN_DIGITS:
        return int(text)
    return _double(text)


def _double(text: str) -> int | float | Raw:
    if len(text) > MAX_NUMBER:
        return Raw(text)
    value = float(text)
    if math.isinf(value):
        return Raw(text)
    spelled = number(value)
    if spelled != text and not _same(text, spelled):
        return Raw(text)
    if spelled.lstrip("-").isdigit():
        return int(spelled)
    return value if repr(value) == spelled else Raw(spelled)


def _same(text: str, spelled: str) -> bool:
    from decimal import Decimal, InvalidOperation  # rarely is a number not spelled as it is spelled here

    try:
        return Decimal(text) == Decimal(spelled)
    except InvalidOperation:  # an exponent beyond all bounds
        return False


def _no_constant(text: str) -> None:
    raise NotJsonError(f"{text} is no number")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_double, parse_constant=_no_constant
)
_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=False
)


_CONTAINERS: Final = frozenset((dict, list))


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level := [item for item in level if type(item) in _CONTAINERS]:
        depth += 1
        if depth > MAX_DEPTH:
            raise NotJsonError(f"it nests more than {MAX_DEPTH} deep")
        level = [inner for item in level for inner in (item if type(item) is list else item.values())]


def _spelled(value: Any) -> list[str]:
    match value:
        case Raw(text):
            return [text]
        case dict():
            return ["{", *_joined([_quoted(name), ":", *_spelled(item)] for name, item in value.items()), "}"]
        case list():
            return ["[", *_joined(_spelled(item) for item in value), "]"]
        case _:
            return [_ENCODER.encode(value)]


def _quoted(name: str) -> str:
    return _ENCODER.encode(name)


def _joined(parts: Iterable[list[str]]) -> Iterator[str]:
    for number, part in enumerate(parts):
        if number:
            yield ","
        yield from part


def _reached(value: Any, steps: Steps) -> list[Any]:
    """Return what stands at a path that may name many places."""
    found = [value]
    for step in steps:
        found = [inner for item in found for inner in _inner(item, step)]
    return found


def _inner(value: Any, step: Step) -> Iterable[Any]:
    if isinstance(value, dict):
        if step is EVERY_MEMBER:
            return value.values()
        return (value[step],) if isinstance(step, str) and step in value else ()
    if isinstance(value, list):
        if step is EVERY_ITEM:
            return value
        return (value[step],) if isinstance(step, int) and step < len(value) else ()
    return ()


def _take_out(value: Any, step: Step) -> None:
    """Take a member out, or make an item null: what stands behind it keeps its place."""
    if isinstance(value, dict):
        if step is EVERY_MEMBER:
            value.clear()
        elif isinstance(step, str):
            value.pop(step, None)
    elif isinstance(value, list):
        if step is EVERY_ITEM:
            value[:] = [None] * len(value)
        elif isinstance(step, int) and step < len(value):
            value[step] = None
