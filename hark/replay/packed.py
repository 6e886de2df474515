"""A body's content codings undone at once, within a bound: gzip, deflate, brotli, zstd and aws-chunked.

What always holds: `unpacked` returns every byte of the text, or None: for a coding that it does not know, for
a body that is not packed as it says or has bytes behind it, for one that carries anything of its sender's
choice beside the text (names and comments of gzip, frames of zstd that are skipped, streams that hold
nothing, extensions and trailers of aws-chunked that S3 does not define), and for one that unpacks to more
than `MAX_UNPACKED` or is made of more than `MAX_STREAMS`. Then the body counts as it was sent. Left out on
purpose: brotli's metadata, which only a decoder of its own would find, and by which bits a text is packed.
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
MIN_CHUNK: Final = 8 << 10  # bytes of all but the last (AWS): each has a signature, which does not count
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;chunk-signature=[0-9a-f]{64})?\r\n")
_TRAILERS: Final = re.compile(
    rb"(?:x-amz-checksum-[a-z0-9]{1,12}:[A-Za-z0-9+/=]{1,88}\n?\r\n)?"  # 88: SHA-512 in base64
    rb"(?:x-amz-trailer-signature:[0-9a-f]{64}\r\n)?(?:\r\n)?"
)
"""AWS Signature Version 4, "Transferring payloads in multiple chunks". A checksum follows from the text."""
_GZIP_NAMES: Final = 0x04 | 0x08 | 0x10
"""FEXTRA, FNAME and FCOMMENT of a member's flags, its fourth byte (RFC 1952, 2.3.1)."""
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
            return _streams(data, lambda: zlib.decompressobj(31), zlib.error, _is_plain_gzip)
        case "deflate":  # zlib's wrapper as RFC 9110 has it, or none, as many send it
            wrapped = _inflated(data, 15)
            return wrapped if wrapped is not None else _inflated(data, -15)
        case "br":
            return _brotli(data)
        case "zstd":
            return _zstd(data)
        case "aws-chunked":
            return _aws_chunked(data)
        case _:
            return None


def _inflated(data: bytes, bits: int) -> bytes | None:
    return _streams(data, lambda: zlib.decompressobj(bits), zlib.error, lambda _data, at: at == 0)


def _is_plain_gzip(data: bytes, at: int) -> bool:
    """Tell whether a member carries nothing, and says of its time and system what the first one does."""
    return len(data) > at + 3 and not data[at + 3] & _GZIP_NAMES and data[at + 4 : at + 10] == data[4:10]


def _is_plain_zstd(data: bytes, at: int) -> bool:
    """Tell whether this is no frame to be skipped: 0x184D2A50 to 0x184D2A5F (RFC 8878, 3.1.2)."""
    return data[at + 1 : at + 4] != b"\x2a\x4d\x18"


def _zstd(data: bytes) -> bytes | None:
    return _streams(data, zstd.ZstdDecompressor, zstd.ZstdError, _is_plain_zstd)


class _Stream(Protocol):
    """One stream of a coding. MUST return no more than `most` bytes."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, most: int, /) -> bytes: ...


def _streams(
    data: bytes,
    begin: Callable[[], _Stream],
    wrong: type[Exception],
    may_begin: Callable[[bytes, int], bool],
) -> bytes | None:
    """Return the text of the streams that follow each other, of which `may_begin` says where one may."""
    out = bytearray()
    stream, streams = begin(), 1
    at = full = 0  # where the next byte stands, and what was there when the stream began
    if not may_begin(data, at):
        return None
    for piece in portions(data):
        left = piece
        while left:
            if stream.eof:
                streams += 1
                if full == len(out) or streams > MAX_STREAMS or not may_begin(data, at):
                    return None
                stream, full = begin(), len(out)
            try:
                out += stream.decompress(left, MAX_UNPACKED + 1 - len(out))
            except wrong:
                return None
            if len(out) > MAX_UNPACKED:
                return None
            at += len(left) - len(stream.unused_data)
            left = stream.unused_data
    is_whole = stream.eof and (streams == 1 or full < len(out))
    return bytes(out) if is_whole else None


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
            return b"".join(pieces) if _TRAILERS.fullmatch(data, start) else None
        if pieces and len(pieces[-1]) < MIN_CHUNK:
            return None
        at = start + size + 2
        if data[start + size : at] != b"\r\n":
            return None
        pieces.append(data[start : start + size])
    return None
