"""The canonical form of a body, by what its headers say it is.

What always holds: each form has its word, so bytes of one are never taken for another's; a body that is
not exactly what its type says counts as its bytes. Headers that only said how the body was packed or
delimited are taken out where that was undone, and stay where it was not.
"""

import re
from typing import Final, NamedTuple

from blake3 import blake3

from hark.bundle import cbor
from hark.policy.jsonpath import Steps
from hark.replay import jsonform, multipart, packed
from hark.replay.headers import Fields
from hark.replay.marks import Marks
from hark.replay.target import form_pairs

EMPTY: Final = "empty"
JSON: Final = "json"
PARTS: Final = "parts"
PAIRS: Final = "pairs"
BYTES: Final = "bytes"
HASHED: Final = "hash"
"""A body that was not stored: length and hash of its bytes."""

CUT: Final = "cut"
"""A body of which some was never read, since the answer came before: how much is a matter of speed."""
NOTHING: Final = blake3().digest()

MAX_NESTED: Final = 3  # multipart within multipart
_TYPE: Final = b"content-type"
_ENCODING: Final = b"content-encoding"
_JSON: Final = re.compile(rb"[a-z]+/(?:[a-z0-9.+-]*[.+-])?json(?:-[0-9.a-z-]+)?[ \t]*(?:;.*)?", re.DOTALL)
_PLAIN: Final = re.compile(rb"(?:text/plain[ \t]*(?:;.*)?)?", re.DOTALL)
_FORM: Final = re.compile(rb"application/x-www-form-urlencoded[ \t]*(?:;.*)?", re.DOTALL)
_NAME: Final = re.compile(rb'[; \t]name="([^"]*)"', re.IGNORECASE)  # RFC 7578, 4.2
_OPENS: Final = re.compile(rb"[ \t\r\n]*[\[{]")


class Form(NamedTuple):
    """A body's form: the word for it, its spelling, and that spelling's length and hash."""

    word: str
    body: bytes
    size: int
    digest: bytes


class Ignored(NamedTuple):
    """What of a body never counts."""

    json: tuple[Steps, ...] = ()
    form: frozenset[bytes] = frozenset()
    """Names of fields, of parts as well."""


NOTHING_IGNORED: Final = Ignored()


def formed(raw: Fields, headers: Fields, body: bytes, ignored: Ignored, marks: Marks) -> tuple[Fields, Form]:
    """Return the headers that still count, and the body's form. `raw` are all the headers as they came."""
    codings = [
        coding.strip().decode("latin-1").lower()
        for name, value in raw
        if name.lower() == _ENCODING
        for coding in value.split(b",")
    ]
    plain = packed.unpacked(codings, body) if codings else body
    if plain is None:
        return headers, _form(BYTES, marks.on(body))
    headers = tuple(field for field in headers if field[0] != _ENCODING) if codings else headers
    types = [value.strip(b" \t") for name, value in raw if name.lower() == _TYPE]
    if len(types) > 1:
        return headers, _form(BYTES, marks.on(plain))
    kind = types[0] if types else b""
    word, spelled, shown = _by_type(kind, plain, ignored, MAX_NESTED, marks)
    if shown != kind:
        headers = tuple((name, shown if name == _TYPE else value) for name, value in headers)
    return headers, _form(word, spelled)


def _form(word: str, body: bytes) -> Form:
    return Form(word if body else EMPTY, body, len(body), blake3(body).digest())


def _by_type(
    kind: bytes, body: bytes, ignored: Ignored, depth: int, marks: Marks
) -> tuple[str, bytes, bytes]:
    """Return a body's word and spelling, and its type without what was drawn for it alone."""
    lower = kind.lower()
    if body and (_JSON.fullmatch(lower) or (_PLAIN.fullmatch(lower) and _OPENS.match(body))):
        spelled = _json(body, ignored)
        if spelled is not None:
            return JSON, marks.on(spelled), kind
    elif _FORM.fullmatch(lower):
        pairs = form_pairs(body)
        if pairs is not None and body:
            fields = [[marks.on(name), marks.on(value)] for name, value in pairs if name not in ignored.form]
            return PAIRS, cbor.encode(fields), kind
    elif depth and (bounded := multipart.boundary(kind)) is not None:
        found = multipart.parts(bounded[0], body)
        if found is not None:
            parts = [_part(part, depth - 1, marks) for part in found if _name(part) not in ignored.form]
            return PARTS, cbor.encode(parts), bounded[1]
    return BYTES, marks.on(body), kind


def _json(body: bytes, ignored: Ignored) -> bytes | None:
    try:
        value = jsonform.load(body)
    except jsonform.NotJsonError:
        return None
    return jsonform.spell(jsonform.without(value, ignored.json))


def _name(part: multipart.Part) -> bytes | None:
    found = _NAME.search(part.header(b"content-disposition"))
    return None if found is None else found[1]


def _part(part: multipart.Part, depth: int, marks: Marks) -> list[object]:
    kind = part.header(_TYPE)
    word, spelled, shown = _by_type(kind, part.content, NOTHING_IGNORED, depth, marks)
    headers = [[marks.on(name), marks.on(shown if name == _TYPE else value)] for name, value in part.headers]
    return [headers, word, spelled]
