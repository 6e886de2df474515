"""A body's content codings undone at once, within a bound: gzip, deflate, brotli, zstd and aws-chunked.

What always holds: `unpacked` returns every byte of the text, or None: for a coding that it does not know,
for a body that is not packed as it says or has bytes behind it, and for one that unpacks to more than
`MAX_UNPACKED` or is made of more than `MAX_STREAMS`. Then the body counts as it was sent.
"""

import re
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from hark.bundle.fields import Pairs
from hark.portions import portions

if sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

MAX_UNPACKED: Final = 16 << 20  # bytes; a request that holds more is compared as it was sent
MAX_CODINGS: Final = 3
MAX_STREAMS: Final = 1 << 16  # one behind the other; each may be 9 bytes, and its decoder takes 30 µs to make
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[^\r\n]*)?\r\n")
_IDENTITY: Final = frozenset(("", "identity"))


def unpacked(codings: Sequence[str], data: bytes) -> bytes | None:
    """Return what `data` holds, with the codings of Content-Encoding undone from the last to the first."""
    named = [coding for coding in codings if coding not in _IDENTITY]
    if len(named) > MAX_CODINGS:
        return None
    for coding in reversed(named):
        undone = _one(coding, data)
        if undone is None:
            return None
        data = undone
    return data


def plain(headers: Pairs, data: bytes) -> bytes:
    """Return a body with the codings undone that its headers name, or as it is where they cannot be."""
    named = [
        coding.strip().decode("latin-1").lower()
        for name, value in headers
        if name.lower() == b"content-encoding"
        for coding in value.split(b",")
    ]
    text = unpacked(named, data) if named and data else data
    return data if text is None else text


def _one(coding: str, data: bytes) -> bytes | None:
    match coding:
        case "gzip" | "x-gzip":
            return _inflated(data, 31, many=True)
        case "deflate":  # zlib's wrapper as RFC 9110 has it, or none, as many send it
            wrapped = _inflated(data, 15, many=False)
            return wrapped if wrapped is not None else _inflated(data, -15, many=False)
        case "br":
            return _brotli(data)
        case "zstd":
            return _zstd(data)
        case "aws-chunked":
            return _aws_chunked(data)
        case _:
            return None


def _inflated(data: bytes, bits: int, *, many: bool) -> bytes | None:
    """Return one stream of deflate's text, or with `many` those of all members."""
    return _streams(data, lambda: zlib.decompressobj(bits), zlib.error, many=many)


def _zstd(data: bytes) -> bytes | None:
    return _streams(data, zstd.ZstdDecompressor, zstd.ZstdError, many=True)


class _Stream(Protocol):
    """One stream of a coding. MUST return no more than `most` bytes."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, most: int, /) -> bytes: ...


def _streams(
    data: bytes, begin: Callable[[], _Stream], wrong: type[Exception], *, many: bool
) -> bytes | None:
    """Return the text of one stream, or with `many` of all that follow each other."""
    out = bytearray()
    stream, streams = begin(), 1
    for piece in portions(data):
        left = piece
        while left:
            if stream.eof:
                streams += 1
                if streams > (MAX_STREAMS if many else 1):
                    return None
                stream = begin()
            try:
                out += stream.decompress(left, MAX_UNPACKED + 1 - len(out))
            except wrong:
                return None
            if len(out) > MAX_UNPACKED:
                return None
            left = stream.unused_data
    return bytes(out) if stream.eof else None


def _brotli(data: bytes) -> bytes | None:
    import brotli  # type: ignore[import-untyped]

    stream = brotli.Decompressor()
    out = b""
    try:
        out += stream.process(data, output_buffer_limit=MAX_UNPACKED + 1)
        while not stream.is_finished() and not stream.can_accept_more_data() and len(out) <= MAX_UNPACKED:
            out += stream.process(b"", output_buffer_limit=MAX_UNPACKED + 1 - len(out))
    except brotli.error:
        return None
    return out if stream.is_finished() and len(out) <= MAX_UNPACKED else None


def _aws_chunked(data: bytes) -> bytes | None:
    """Return what S3's chunks hold. What stands beside it, signatures and checksums, follows from it."""
    pieces: list[bytes] = []
    at = 0
    while (head := _CHUNK.match(data, at)) is not None:
        size, start = int(head[1], 16), head.end()
        if not size:
            return b"".join(pieces) if data.endswith(b"\r\n") else None
        at = start + size + 2
        if data[start + size : at] != b"\r\n":
            return None
        pieces.append(data[start : start + size])
    return None
