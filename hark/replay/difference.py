"""Where two recorded things differ, and how, in words: by header, query, JSON path, line or byte.

What always holds: what is said is said about the first difference, recorded things come from hostile bytes
and every word is safe to print, and things that are the same have none. "Recorded" is the first argument,
what came later the second. Costs grow with the size of what is compared, once.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from hark.bundle import cbor
from hark.errors import BundleError
from hark.policy.jsonpath import Step, written
from hark.replay import jsonform
from hark.replay.bodyform import JSON, PAIRS, PARTS
from hark.replay.canonical import Canonical
from hark.visible import visible

SHOWN: Final = 40  # characters of a value; the bundle has it whole
_KINDS: Final = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "true or false",
    type(None): "null",
}

type Fields = Sequence[tuple[bytes, bytes | None]]


class Difference(NamedTuple):
    """One difference: where it is, what it is, and both sides of it as far as a line has room."""

    where: str
    """`$.messages[3].content`, `header accept`, `query q`, `body`."""
    words: str
    """What goes behind it: `differs at byte 18`."""
    recorded: str = ""
    replayed: str = ""

    def __str__(self) -> str:
        return f"{self.where} {self.words}"


def of_requests(recorded: Canonical, replayed: Canonical) -> Iterator[Difference]:
    """Yield how two requests differ, the first thing of each kind: name, query, headers, body."""
    for where, was, now in (
        ("method", recorded.method, replayed.method),
        ("host", recorded.host, replayed.host),
        ("path", _text(recorded.path), _text(replayed.path)),
    ):
        if was != now:
            yield Difference(where, f"was {shown(was)} and is {shown(now)}", shown(was), shown(now))
    yield from of_fields("query", recorded.query, replayed.query)
    yield from of_fields("header", recorded.headers, replayed.headers)
    if (recorded.form, recorded.digest) != (replayed.form, replayed.digest):
        yield _of_forms(recorded, replayed)


def of_fields(what: str, recorded: Fields, replayed: Fields) -> Iterator[Difference]:
    """Yield each name whose values differ, and then whether the order does."""
    if tuple(recorded) == tuple(replayed):
        return
    sides: dict[bytes, tuple[list[bytes | None], list[bytes | None]]] = {}
    for side, fields in enumerate((recorded, replayed)):
        for name, value in fields:
            sides.setdefault(name, ([], []))[side].append(value)
    found = False
    for name, (was, now) in sides.items():
        if was != now:
            found = True
            yield Difference(f"{what} {shown(name)}", *_values(was, now))
    if not found:
        yield Difference(what, "has the same names in another order")


def of_bytes(where: str, recorded: bytes, replayed: bytes) -> Difference | None:
    """Return where two bodies differ: by JSON path where both are JSON, by line where both are text."""
    if recorded == replayed:
        return None
    try:
        was, now = jsonform.load(recorded), jsonform.load(replayed)
    except jsonform.NotJsonError:
        return _of_text(where, recorded, replayed)
    return of_values(was, now) or _of_text(where, recorded, replayed)


def of_values(recorded: Any, replayed: Any) -> Difference | None:
    """Return the first difference of two JSON values, by path."""
    return next(_walk(recorded, replayed, []), None)


def shown(value: str | bytes | None) -> str:
    """Return the beginning of a value, safe to print."""
    if value is None:
        return "nothing"
    text = value[: SHOWN * 4].decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
    return visible(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


def common(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _of_forms(recorded: Canonical, replayed: Canonical) -> Difference:
    if recorded.form != replayed.form:
        return Difference("body", f"is {replayed.form} and was {recorded.form}")
    if recorded.size != len(recorded.body) or replayed.size != len(replayed.body):
        return Difference("body", f"has {replayed.size} bytes of other content; it had {recorded.size}")
    was, now = recorded.body, replayed.body
    if recorded.form == JSON:
        found = of_bytes("body", was, now)
    else:
        found = _of_lists(recorded.form, was, now) if recorded.form in (PAIRS, PARTS) else None
    return found or _of_text("body", was, now)


def _of_lists(form: str, recorded: bytes, replayed: bytes) -> Difference | None:
    """Compare what `hark.replay.bodyform` spelled as CBOR."""
    try:
        was, now = cbor.decode(recorded), cbor.decode(replayed)
    except BundleError:  # nested or long beyond what the codec reads back
        return None
    if not isinstance(was, list) or not isinstance(now, list):
        return None
    what = "field" if form == PAIRS else "part"
    for number, (one, other) in enumerate(zip(was, now, strict=False), 1):
        if one != other:
            return Difference(f"{what} {number} of the body", "differs")
    return Difference("body", f"has {len(now)} {what}s and had {len(was)}")


def _of_text(where: str, recorded: bytes, replayed: bytes) -> Difference:
    at = common(recorded, replayed)
    was, now = shown(recorded[at : at + SHOWN]), shown(replayed[at : at + SHOWN])
    line = recorded.count(b"\n", 0, at) + 1
    in_line = f" (line {line})" if line > 1 else ""
    if at == len(recorded):
        return Difference(where, f"goes on at byte {at}{in_line}", was, now)
    if at == len(replayed):
        return Difference(where, f"ends at byte {at}{in_line}", was, now)
    return Difference(where, f"differs at byte {at}{in_line}", was, now)


def _values(was: list[bytes | None], now: list[bytes | None]) -> tuple[str, str, str]:
    sides = ", ".join(map(shown, was)), ", ".join(map(shown, now))
    if not was:
        return f"is new: {sides[1]}", "", sides[1]
    if not now:
        return f"is missing; it was {sides[0]}", sides[0], ""
    if len(was) == len(now) == 1 and was[0] is not None and now[0] is not None and len(was[0]) > SHOWN:
        return f"differs at byte {common(was[0], now[0])}", *sides
    return f"was {sides[0]} and is {sides[1]}", *sides


def _walk(was: Any, now: Any, at: list[Step]) -> Iterator[Difference]:
    if type(was) is not type(now) and not (_is_number(was) and _is_number(now)):
        yield Difference(written(at), f"is {_kind(now)} and was {_kind(was)}", _short(was), _short(now))
    elif isinstance(was, dict):
        yield from _walk_object(was, now, at)
    elif isinstance(was, list):
        yield from _walk_list(was, now, at)
    elif isinstance(was, str):
        if was != now:
            yield _of_text(written(at), _bytes(was), _bytes(now))
    elif was != now:
        yield Difference(written(at), f"is {_short(now)} and was {_short(was)}", _short(was), _short(now))


def _walk_object(was: dict[str, Any], now: dict[str, Any], at: list[Step]) -> Iterator[Difference]:
    for name, value in was.items():
        if name not in now:
            yield Difference(written([*at, name]), "is missing", _short(value), "")
        else:
            yield from _walk(value, now[name], [*at, name])
    for name, value in now.items():
        if name not in was:
            yield Difference(written([*at, name]), "is new", "", _short(value))


def _walk_list(was: list[Any], now: list[Any], at: list[Step]) -> Iterator[Difference]:
    for number, (one, other) in enumerate(zip(was, now, strict=False)):
        yield from _walk(one, other, [*at, number])
    if len(was) != len(now):
        yield Difference(written(at), f"has {len(now)} items and had {len(was)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | jsonform.Raw) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")


def _short(value: Any) -> str:
    return shown(jsonform.spell(value)) if not isinstance(value, dict | list) else _kind(value)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
