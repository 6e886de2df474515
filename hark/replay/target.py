"""A request's path and query in one spelling.

What always holds: percent-encoding that is needless is undone and the rest spelled in upper case, so two
spellings are one only if every reader of RFC 3986 takes them for one (6.2.2); order is kept; a `+` stays a
`+`, and `a` is not `a=`. Of a signature of version 4 in the query, date and signature do not count.
"""

import re
from typing import Final

from hark.replay.headers import scope

type Query = tuple[tuple[bytes, bytes | None], ...]

_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ENCODED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_SIGNERS: Final = (b"X-Amz-", b"X-Goog-")


def split(target: bytes) -> tuple[bytes, Query]:
    """Return path and query of a request target in origin form."""
    path, mark, query = target.partition(b"?")
    pairs = tuple(_pair(part) for part in query.split(b"&")) if mark else ()
    return normal(path), _unsigned(pairs)


def normal(text: bytes) -> bytes:
    """Return `text` with percent-encoding as RFC 3986 spells it."""
    return _ENCODED.sub(_normal, text) if b"%" in text else text


def form_pairs(body: bytes) -> tuple[tuple[bytes, bytes], ...] | None:
    """Return the pairs of a form (WHATWG URL, 5.1); None where a `%` encodes nothing."""
    if b"%" in _ENCODED.sub(b"", body):
        return None
    pairs = (part.partition(b"=") for part in body.split(b"&") if part)
    return tuple((plain(name), plain(value)) for name, _, value in pairs)


def _normal(found: re.Match[bytes]) -> bytes:
    byte = int(found[1], 16)
    return bytes((byte,)) if byte in _UNRESERVED else found[0].upper()


def plain(text: bytes) -> bytes:
    """Return a name or value of a form, or of a query written like one, without its encoding."""
    return _ENCODED.sub(lambda found: bytes((int(found[1], 16),)), text.replace(b"+", b" "))


def _pair(part: bytes) -> tuple[bytes, bytes | None]:
    name, mark, value = part.partition(b"=")
    return normal(name), normal(value) if mark else None


def _unsigned(pairs: Query) -> Query:
    names = {name for name, _ in pairs}
    signer = next((one for one in _SIGNERS if {one + b"Algorithm", one + b"Signature"} <= names), None)
    if signer is None:
        return pairs
    dropped = (signer + b"Date", signer + b"Signature")
    return tuple(
        (name, _scope(value) if name == signer + b"Credential" and value is not None else value)
        for name, value in pairs
        if name not in dropped
    )


def _scope(value: bytes) -> bytes:
    return scope(value.replace(b"%2F", b"/")).replace(b"/", b"%2F")
