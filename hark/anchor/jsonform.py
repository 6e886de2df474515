"""JSON of other people's, read strictly: bounded before it is parsed, no name twice, each field of its type.

What always holds: only `MalformedError` escapes. Numbers of 64 bits come as the protobuf mapping writes them,
as text or number; bytes as base64 that is exactly what would be written.
"""

import binascii
import json
from typing import Any, Final, NoReturn

MAX_JSON: Final = 4 << 20  # a trust root has 10 kB, an anchor 20 kB; a certificate chain little more
MAX_DIGITS: Final = 20  # of a number of 64 bits


class MalformedError(ValueError):
    """The bytes are not of the form that they should have; the message is a clause."""


type Object = dict[str, Any]


def load(data: bytes, what: str, limit: int = MAX_JSON) -> Object:
    """Read one JSON object."""
    if len(data) > limit:
        raise MalformedError(f"{what} is larger than {limit} bytes")
    try:
        value = json.loads(data, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_refuse)
    except (ValueError, RecursionError) as error:
        words = str(error) if isinstance(error, MalformedError) else "is not JSON"
        raise MalformedError(f"{what} {words}") from None
    found: Object = _is(dict, value, what)
    return found


def dump(value: Object) -> bytes:
    """Write an object in the one form that hark writes: no blanks, names in order."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _unique(pairs: list[tuple[str, Any]]) -> Object:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MalformedError("has a name twice in one object")
    return found


def _refuse(_: str) -> NoReturn:
    raise MalformedError("has a number that is no integer")


def _is(kind: type, value: Any, what: str) -> Any:
    if type(value) is not kind:
        raise MalformedError(f"{what} is missing or not of the right type")
    return value


def child(value: Object, name: str) -> Object:
    """Return the object under `name`."""
    found: Object = _is(dict, value.get(name), name)
    return found


def children(value: Object, name: str, most: int) -> list[Object]:
    """Return the list of at most `most` objects under `name`; none where it is missing."""
    found = _is(list, value.get(name, []), name)
    if len(found) > most:
        raise MalformedError(f"{name} has more than {most} entries")
    return [_is(dict, one, name) for one in found]


def text(value: Object, name: str) -> str:
    """Return the text under `name`."""
    found: str = _is(str, value.get(name), name)
    return found


def number(value: Object, name: str) -> int:
    """Return the number from 0 on under `name`, a number or its decimal digits."""
    found = value.get(name)
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) <= MAX_DIGITS:
        found = int(found)
    if type(found) is not int or not 0 <= found < 1 << 63:
        raise MalformedError(f"{name} is missing or no number of 63 bits")
    return found


def octets(value: Object, name: str) -> bytes:
    """Return the bytes that stand as base64 under `name`."""
    return unbase64(text(value, name), name)


def unbase64(found: str, what: str) -> bytes:
    """Decode base64 that has one spelling."""
    try:
        data = binascii.a2b_base64(found.encode("ascii"), strict_mode=True)
    except (ValueError, UnicodeError):
        raise MalformedError(f"{what} is not base64") from None
    if base64(data) != found:
        raise MalformedError(f"{what} is not base64 in its one spelling")
    return data


def base64(data: bytes) -> str:
    """Encode as base64."""
    return binascii.b2a_base64(data, newline=False).decode()
