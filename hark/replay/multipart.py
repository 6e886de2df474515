"""A multipart body as its parts (RFC 2046, 5.1), without the boundary, which is drawn anew each time.

What always holds: `parts` returns each part's header and content, or None for bytes that are not exactly
delimiters and parts: with text before the first or behind the last, with other line ends, with lines of
a header that are none. Such a body counts as it was sent, its boundary included.
"""

import re
from typing import Final, NamedTuple

MAX_PARTS: Final = 10_000
_BOUNDARY: Final = re.compile(
    rb';[ \t]*boundary=(?:"((?:[^"\\]|\\.){1,200})"|([^\s;"]{1,200}))[ \t]*(?=;|$)', re.IGNORECASE
)
_FIELD: Final = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*)", re.DOTALL)


class Part(NamedTuple):
    """One part. Names are lower-case and sorted; of one name the order is kept."""

    headers: tuple[tuple[bytes, bytes], ...]
    content: bytes

    def header(self, name: bytes) -> bytes:
        """Return a header's value, the first one's; empty where there is none."""
        return next((value for known, value in self.headers if known == name), b"")


def boundary(content_type: bytes) -> tuple[bytes, bytes] | None:
    """Return the boundary of a multipart type, and the type without it; None where there is not one."""
    found = _BOUNDARY.findall(content_type)
    if content_type[:10].lower() != b"multipart/" or len(found) != 1:
        return None
    quoted, plain = found[0]
    named = re.sub(rb"\\(.)", rb"\1", quoted) if quoted else plain
    return named, _BOUNDARY.sub(b"", content_type).strip()


def parts(named: bytes, body: bytes) -> tuple[Part, ...] | None:
    """Return the parts of a body with this boundary."""
    first, *rest = (b"\r\n" + body).split(b"\r\n--" + named, MAX_PARTS + 2)
    if first or not rest or rest[-1] not in (b"--", b"--\r\n") or len(rest) > MAX_PARTS + 1:
        return None
    found = [_part(piece) for piece in rest[:-1]]
    whole = tuple(part for part in found if part is not None)
    return whole if len(whole) == len(found) else None


def _part(piece: bytes) -> Part | None:
    if not piece.startswith(b"\r\n"):
        return None
    head, gap, content = piece.partition(b"\r\n\r\n")
    if not gap:
        return None
    lines = head[2:].split(b"\r\n") if len(head) > 2 else []
    fields = [_FIELD.fullmatch(line) for line in lines]
    named = [(found[1].lower(), found[2].rstrip(b" \t")) for found in fields if found is not None]
    if len(named) != len(fields):
        return None
    return Part(tuple(sorted(named, key=lambda field: field[0])), content)
