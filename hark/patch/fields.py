"""Headers changed, and kept true beside a body that was changed. Names are compared without their case.

What always holds: a header that said something of the old body is not sent with the new one. It is made true
where it only counts or hashes bytes that hark knows, and taken out with a note where it is somebody's word.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from hark.bundle.fields import Pairs
from hark.errors import PatchError
from hark.patch import nearest
from hark.visible import visible_bytes

HASHES: Final = frozenset(
    (b"content-md5", b"digest", b"content-digest", b"repr-digest", b"etag", b"x-goog-hash", b"signature",
     b"signature-input", b"x-amz-trailer")
)  # fmt: skip
_CHECKSUMS: Final = b"x-amz-checksum-"
_PAYLOAD: Final = b"x-amz-content-sha256"
_CHARSET: Final = re.compile(r""";\s*charset\s*=\s*["']?([A-Za-z0-9_-]+)""", re.IGNORECASE)
_CHARSETS: Final = {
    "iso-8859-1": "latin-1", "latin1": "latin-1", "windows-1252": "cp1252", "iso-8859-15": "iso-8859-15",
    "shift_jis": "shift_jis", "euc-jp": "euc_jp", "gbk": "gbk", "gb2312": "gbk", "euc-kr": "euc_kr",
    "windows-1251": "cp1251", "koi8-r": "koi8_r",
}  # fmt: skip
_LENGTH, _CODING, _CHUNKED, _RANGE = (
    b"content-length",
    b"content-encoding",
    b"transfer-encoding",
    b"content-range",
)


def values(headers: Pairs, name: bytes) -> list[bytes]:
    """Return the values of a header; `name` in lower case."""
    return [value for known, value in headers if known.lower() == name]


def kind(headers: Pairs) -> str:
    """Return the media type, as it stands."""
    found = values(headers, b"content-type")
    return found[0].decode("latin-1") if found else ""


def charset(headers: Pairs) -> str:
    """Return the codec of a body's text: UTF-8, unless its type names one that is known and no superset."""
    found = _CHARSET.search(kind(headers))
    return _CHARSETS.get(found[1].lower(), "utf-8") if found else "utf-8"


def with_header(headers: Pairs, name: bytes, value: bytes) -> Pairs:
    """Set a header: one in the place of the first of its name, else behind all, spelled as the others are."""
    lower = name.lower()
    at = next((number for number, (known, _) in enumerate(headers) if known.lower() == lower), len(headers))
    spelled = headers[at][0] if at < len(headers) else _like(headers, name)
    rest = tuple(field for field in headers[at:] if field[0].lower() != lower)
    return (*headers[:at], (spelled, value), *rest)


def without_header(headers: Pairs, name: bytes) -> Pairs:
    """Take out all headers of a name. Raises PatchError where there is none."""
    left = tuple(field for field in headers if field[0].lower() != name.lower())
    if len(left) == len(headers):
        known = (visible_bytes(known) for known, _ in headers)
        raise PatchError(f"there is no header {name.decode()}", nearest.name(name.decode(), known))
    return left


def true_of(headers: Pairs, old: int, new: bytes, missing: int | None) -> tuple[Pairs, list[str]]:
    """Return the headers of a body that is `new` and had `old` bytes of text, and notes of what is gone.

    `missing` is how many bytes of the body, as its length had announced it, never came.
    """
    kept: list[tuple[bytes, bytes]] = []
    notes: list[str] = []
    chunked = bool(values(headers, _CHUNKED))
    if values(headers, _RANGE) and old != len(new):
        raise PatchError(
            "the answer is a part of something (content-range), whose length a patch cannot change"
        )
    for name, value in headers:
        lower = name.lower()
        if is_hash(lower):
            notes.append(f"{lower.decode('latin-1')} was taken out, since it is of the body before the patch")
        elif lower == _CODING or (lower == _LENGTH and chunked):
            continue
        elif lower == _LENGTH:
            kept.append((name, str(len(new) + (missing or 0)).encode()))
        elif lower == _PAYLOAD and len(value) == 64:
            kept.append((name, sha256(new).hexdigest().encode()))
        else:
            kept.append((name, value))
    return tuple(kept), notes


def is_hash(lower: bytes) -> bool:
    """Tell whether a field of this lower-case name says what a body is, by a hash or a signature."""
    return lower in HASHES or lower.startswith(_CHECKSUMS)


def length(headers: Pairs) -> int | None:
    """Return what content-length says; None where it says nothing that counts."""
    found = set(values(headers, _LENGTH))
    text = found.pop() if len(found) == 1 else b""
    return int(text) if text.isdigit() and len(text) < 19 and not values(headers, _CHUNKED) else None


def _like(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> bytes:
    """Return a name in lower case where all others are, as HTTP/2 has them."""
    return name.lower() if all(known == known.lower() for known, _ in headers) else name
