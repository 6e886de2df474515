"""Which answers were there before the run began, and which may be files packed for one request. No IO.

Always: taken at its word is an honest server, which dates what it stores and calls a text a text. One that is
not honest shows what it likes anyway, without a length's help. Why that matters stands in `mediator.made`.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

from mediator.codings import codings_of
from mediator.transcript import Headers

MARGIN_S: Final = 60.0  # beyond the run's age: dates have whole seconds, and a store may round them
_TEXT: Final = re.compile(
    rb"(?:text|image|audio|video|font|multipart|message)/.*"
    rb"|application/(?:[^;]*\+)?(?:json|xml|yaml)(?:[-; ].*)?"
    rb"|application/(?:x-)?(?:ndjson|jsonl|json-?lines|javascript|www-form-urlencoded)(?:[; ].*)?"
    rb"|application/(?:grpc|connect)[^;]*(?:;.*)?",
    re.IGNORECASE | re.DOTALL,
)
_DIGEST: Final = re.compile(rb"sha256:[0-9a-f]{64}")  # of the distribution specification's descriptors
_MEASURED: Final = re.compile(rb'(?:W/)?"[0-9a-fA-F]+-[^"]*"')
"""An ETag that begins with a length, as some servers make them."""


def may_be_packed(headers: Headers) -> bool:
    """Tell whether the type of a body leaves it open that it is a packed file."""
    found = [value for name, value in headers if name.lower() == b"content-type"]
    return len(found) != 1 or _TEXT.fullmatch(found[0].strip()) is None


def was_there(headers: Headers, age_s: float) -> bool:
    """Tell whether a body was there, by its server's clock, before a run that is so many seconds old."""
    changed = _date(headers, b"last-modified")
    now = None if changed is None else _date(headers, b"date")  # of most answers neither is read
    return changed is not None and now is not None and (now - changed).total_seconds() > age_s + MARGIN_S


def was_named(headers: Headers, asked: Sequence[bytes]) -> bool:
    """Tell whether a body was asked for by its own hash, as images' layers are: who asks knows what it is."""
    said = [value.strip() for name, value in headers if name.lower() == b"docker-content-digest"]
    if len(said) != 1 or _DIGEST.fullmatch(said[0]) is None:
        return False
    return any(said[0] in path for path in asked)


def unmeasured(headers: Headers, *, stored: bool) -> Headers:
    """Return the head of an answer without a body (HEAD, 304), without the length of what may be packed.

    `stored`: what it speaks of was there before the run. Raises PackedError.
    """
    if not codings_of(headers) and (stored or not may_be_packed(headers)):
        return headers
    return tuple(field for field in headers if not _tells(field[0].lower(), field[1].strip()))


def _tells(name: bytes, value: bytes) -> bool:
    if name == b"content-length":
        return value != b"0"
    return name == b"etag" and _MEASURED.fullmatch(value) is not None


def _date(headers: Headers, name: bytes) -> datetime | None:
    found = [value for one, value in headers if one.lower() == name]
    if len(found) != 1:
        return None
    try:
        date = parsedate_to_datetime(found[0].decode("ascii"))
    except ValueError:  # UnicodeDecodeError is one
        return None
    return date if date.tzinfo is not None else None
