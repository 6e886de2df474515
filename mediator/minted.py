"""The tokens in an answer that may mint some, whatever readers take it for: JSON, form, XML, script. Pure.

Always: an answer is understood or refused (PackedError). Otherwise whoever asks chooses a format that is
read as nothing here and as a token there: UTF-16, protobuf, CBOR, YAML. A name counts in any case, with and
without `_` and `-`, and so does every text below it. Short words without anything like a token are
understood too: many servers answer so where something went wrong.

Not done here: tokens in pieces, and in members whose names say nothing.
"""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from mediator.codings import PackedError
from mediator.spelling import Place

type Found = Iterator[tuple[str, str]]
"""Names of fields as the answer spells them, and values."""

MAX_DEPTH: Final = 200  # of lists, objects and texts that are JSON themselves; a login's answer has some five
_MAYBE: Final = "a token may be minted in it, and "
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1d\x1f\x7f]")
_TOKEN_LIKE: Final = re.compile(r"[A-Za-z0-9+/=._~-]{20}")
_PAIRS: Final = re.compile(r"[^\s=&<>{}]+=[^\s]*")
_OPENED: Final = re.compile(r"[\[{]")
_CLOSED: Final = re.compile(r"[\s);]*")
_STARTS: Final = re.compile(r"<(?:[\w.-]+:)?([\w.-]+)(?:\s[^<>]*)?>")
_ATTRIBUTES: Final = re.compile(r"[\s:]([\w.-]{1,100})\s{0,9}=\s{0,9}(?:\"([^\"<]*)\"|'([^'<]*)')")
_MARKUP: Final = re.compile(r"<!\[CDATA\[|\]\]>|<[^<>]*>")
_MEMBERS: Final = re.compile(r'"([\w.-]{1,100})"\s*+:\s*+("(?:[^"\\]|\\.)*+")')


def values_in(body: bytes, place: Place, fields: tuple[str, ...]) -> Found:
    """Yield the values of the named fields, at any depth. Raises PackedError."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PackedError(f"{_MAYBE}it is no UTF-8") from None
    if _CONTROLS.search(text):
        raise PackedError(f"{_MAYBE}it is no text")
    wanted = frozenset(map(plain, fields))
    stripped = text.strip()
    if stripped.startswith("<"):
        yield from _in_xml(stripped, wanted)
        yield from _in_script(stripped, wanted)
    elif stripped.startswith(("{", "[")):
        yield from _in_json(_read(stripped), wanted)
    elif _PAIRS.fullmatch(stripped) or (place is Place.FORM and "=" in stripped):
        yield from _in_pairs(stripped, wanted)
    elif opened := _OPENED.search(stripped):
        yield from _in_json(_read_behind(stripped, opened.start()), wanted)
    elif _TOKEN_LIKE.search(stripped):
        raise PackedError(f"{_MAYBE}it is no JSON, form or XML that hark could read")


def values_at(location: bytes, fields: tuple[str, ...]) -> Found:
    """Yield the values of the named fields in query and fragment of an address that an answer names."""
    wanted = frozenset(map(plain, fields))
    try:
        parts = urlsplit(location.decode("utf-8"))
    except ValueError:
        raise PackedError(f"{_MAYBE}it names an address that hark could not read") from None
    for pairs in (parts.query, parts.fragment, parts.fragment.rpartition("?")[2]):
        yield from _in_pairs(pairs, wanted)


def plain(name: str) -> str:
    """Return a name as it is compared."""
    return name.lower().replace("_", "").replace("-", "")


def _in_pairs(text: str, wanted: frozenset[str]) -> Found:
    yield from ((name, value) for name, value in parse_qsl(text) if plain(name) in wanted)


class _Members:
    """The members of an object, those that stand twice as well: readers differ in which of them they take."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def _read(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_Members, strict=False)
    except RecursionError:
        raise PackedError(f"{_MAYBE}it nests more than {MAX_DEPTH} deep") from None
    except ValueError:
        raise PackedError(f"{_MAYBE}it is no JSON that hark could read") from None


def _read_behind(text: str, start: int) -> Any:
    """Read JSON that something stands before: a call (JSONP), or what keeps scripts from it."""
    decoder = json.JSONDecoder(object_pairs_hook=_Members, strict=False)
    try:
        value, end = decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        value, end = None, start
    if not _CLOSED.fullmatch(text, end):
        if _TOKEN_LIKE.search(text):
            raise PackedError(f"{_MAYBE}it is no JSON that hark could read")
        return None
    return value


def _in_json(value: Any, wanted: frozenset[str]) -> Found:
    """Yield the texts of wanted members and below them, in order. Without nesting calls: a server nests."""
    waiting = [("", value, 0)]
    while waiting:
        name, value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise PackedError(f"{_MAYBE}it nests more than {MAX_DEPTH} deep")
        below: list[tuple[str, Any]] = []
        match value:
            case _Members():
                below = [(name or _if_wanted(member, wanted), inner) for member, inner in value.pairs]
            case list():
                below = [(name, inner) for inner in value]
            case str() if name:
                yield name, value
            case str() if value.lstrip()[:1] in ("{", "["):
                below = [("", _in_text(value))]
            case _:
                pass
        waiting += [(above, inner, depth + 1) for above, inner in reversed(below)]


def _if_wanted(member: str, wanted: frozenset[str]) -> str:
    return member if plain(member) in wanted else ""


def _in_text(text: str) -> Any:
    """Read a text that may be JSON; what is none means nothing."""
    try:
        return json.loads(text, object_pairs_hook=_Members, strict=False)
    except RecursionError:
        raise PackedError(f"{_MAYBE}it nests more than {MAX_DEPTH} deep") from None
    except ValueError:
        return None


def _in_script(text: str, wanted: frozenset[str]) -> Found:
    """Read members of JSON in a page."""
    for found in _MEMBERS.finditer(text):
        if plain(found.group(1)) not in wanted:
            continue
        try:
            yield found.group(1), json.loads(found.group(2), strict=False)
        except ValueError:
            raise PackedError(f"{_MAYBE}hark could not read its escapes") from None


def _in_xml(text: str, wanted: frozenset[str]) -> Found:
    """Read what stands in elements and attributes of these names; nothing is searched twice for its end."""
    for found in _ATTRIBUTES.finditer(text):
        if plain(found.group(1)) in wanted:
            yield found.group(1), unescape(found.group(2) or found.group(3) or "")
    done = 0
    for start in _STARTS.finditer(text):
        name = start.group(1)
        if start.start() < done or start.group().endswith("/>") or plain(name) not in wanted:
            continue
        end = re.compile(rf"</(?:[\w.-]+:)?{re.escape(name)}\s*>").search(text, start.end())
        if end is None:
            raise PackedError(f"{_MAYBE}it is no XML that hark could read")
        done = end.end()
        inner = text[start.end() : end.start()]
        parts = [unescape(part.strip()) for part in _MARKUP.split(inner) if part.strip()]
        yield from dict.fromkeys((name, value) for value in ("".join(parts), *parts) if value)
