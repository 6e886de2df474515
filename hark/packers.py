"""The codings of HTTP bodies, one by one, piece by piece: those of zlib, brotli and zstd, and S3's, alike.

Always: no more than about `STEP` bytes come of one step, so that a bomb is never held whole, and nobody makes
us keep a window larger than the standards ask for. What is packed comes out at once, for answers that pause,
and is no shorter for what stands in it: nothing is compressed, so that its length says nothing of a
credential that was put in beside text of the agent's choice.
"""

import re
import sys
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

import brotli  # type: ignore[import-untyped]

from hark.portions import portions

STEP: Final = 1 << 20  # bytes unpacked at once, so that a bomb is met a piece at a time
ZSTD_WINDOW_LOG: Final = 23  # RFC 9659: a decoder of the web need not keep more than 8 MiB
_BROTLI_BLOCK: Final = 1 << 16
_ZSTD_BLOCK: Final = 1 << 17
_GZIP: Final = zlib.MAX_WBITS | 16
_GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32
_RAW: Final = -zlib.MAX_WBITS
MAX_CHUNK_LINE: Final = 128  # bytes of a chunk's head with its signature, or of a checksum
_CHUNK_HEAD: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;chunk-signature=[0-9a-f]{64})?\r\n")
_CHUNK_END: Final = re.compile(rb"\r\n")
_CHUNK_TRAILER: Final = re.compile(
    rb"(?:x-amz-checksum-[a-z0-9]{1,12}:[A-Za-z0-9+/=]{1,88}|x-amz-trailer-signature:[0-9a-f]{64})\r?\n|\r\n"
)
_NOTHING: Final = re.compile(rb"(?!)")


class Damaged(Exception):  # noqa: N818  # reads as what it says of the bytes
    """The bytes are not of the coding."""


class Unpacker(Protocol):
    """Undoes one coding."""

    @property
    def whole(self) -> bool:
        """Tell whether what came so far may end here."""
        ...

    def unpack(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` unpacks to, about `STEP` bytes at most each. Raises Damaged."""
        ...


class Packer(Protocol):
    """Applies one coding, by its blocks that are stored as they are."""

    def pack(self, data: bytes) -> bytes:
        """Return `data` packed, all of it."""
        ...

    def end(self) -> bytes:
        """Return the end."""
        ...


def unpackers(coding: bytes) -> tuple[Unpacker, ...]:
    """Return the readings of a coding: `deflate` means zlib, and some servers and clients take it raw."""
    match coding:
        case b"deflate":
            return _Single(_GZIP_OR_ZLIB), _Single(_RAW)
        case b"br":
            return (_Brotli(),)
        case b"zstd":
            return (_Zstd(),)
        case b"aws-chunked":
            return (_AwsChunked(),)
        case _:
            return (_Members(),)


def packer(coding: bytes) -> Packer:
    """Return what packs by `coding`, without compressing; `deflate` in its standard form."""
    match coding:
        case b"deflate":
            return _Deflate(zlib.MAX_WBITS)
        case b"br":
            return _BrotliPacker()
        case b"zstd":
            return _ZstdPacker()
        case _:
            return _Deflate(_GZIP)


class _Members:
    """gzip: one member after another, with zeros between them, as programs read it."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)

    @property
    def whole(self) -> bool:
        return self._member.eof

    def unpack(self, data: bytes) -> Iterator[bytes]:
        for portion in portions(data):
            yield from self._unpack(portion)

    def _unpack(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._member.eof:
                data = data.lstrip(b"\0")
                self._member = zlib.decompressobj(_GZIP) if data else self._member
            yield from _stretch(self._member, data)
            data = self._member.unused_data if data else b""


class _Single:
    """One stream with nothing behind it."""

    def __init__(self, window: int) -> None:
        self._stream = zlib.decompressobj(window)

    @property
    def whole(self) -> bool:
        return self._stream.eof

    def unpack(self, data: bytes) -> Iterator[bytes]:
        yield from _stretch(self._stream, data)
        if self._stream.unused_data:
            raise Damaged


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    @property
    def whole(self) -> bool:
        return bool(self._stream.is_finished())

    def unpack(self, data: bytes) -> Iterator[bytes]:
        if self._stream.is_finished() and data:
            raise Damaged
        try:
            piece = self._stream.process(data, output_buffer_limit=STEP)
            while piece:
                yield piece
                if self._stream.is_finished():
                    return
                # Its word that it can take more does not say that it has given all: only nothing does.
                piece = self._stream.process(b"", output_buffer_limit=STEP)
        except brotli.error:
            raise Damaged from None


class _Zstd:
    """Frames, one after another (RFC 8878, 3)."""

    def __init__(self) -> None:
        self._frame = self._new()

    @staticmethod
    def _new() -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG})

    @property
    def whole(self) -> bool:
        return self._frame.eof

    def unpack(self, data: bytes) -> Iterator[bytes]:
        for portion in portions(data):
            yield from self._unpack(portion)

    def _unpack(self, data: bytes) -> Iterator[bytes]:
        try:
            while data:
                if self._frame.eof:
                    self._frame = self._new()
                piece = self._frame.decompress(data, STEP)
                while piece:
                    yield piece
                    more = not self._frame.eof and not self._frame.needs_input
                    piece = self._frame.decompress(b"", STEP) if more else b""
                data = self._frame.unused_data if self._frame.eof else b""
        except zstd.ZstdError:
            raise Damaged from None


class _AwsChunked:
    """Chunks as S3 takes them, with signatures and a checksum and nothing else beside the text.

    Source: AWS Signature Version 4, "Transferring payloads in multiple chunks", with and without trailers.
    """

    def __init__(self) -> None:
        self._left = 0
        self._line = b""
        self._part = _CHUNK_HEAD
        self.whole = False

    def unpack(self, data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            if self._left:
                piece = data[at : at + min(self._left, STEP)]
                self._left -= len(piece)
                at += len(piece)
                yield piece
            else:
                end = data.find(b"\n", at) + 1 or len(data)
                self._line += data[at:end]
                at = end
                self._take_line()

    def _take_line(self) -> None:
        if len(self._line) > MAX_CHUNK_LINE:
            raise Damaged
        if not self._line.endswith(b"\n"):
            return
        found = self._part.fullmatch(self._line)
        if found is None:
            raise Damaged
        self._line = b""
        if self._part is _CHUNK_HEAD:
            self._left = int(found[1], 16)
            self._part = _CHUNK_END if self._left else _CHUNK_TRAILER
        elif self._part is _CHUNK_END:
            self._part = _CHUNK_HEAD
        elif self._part is _CHUNK_TRAILER and found[0] == b"\r\n":
            self._part, self.whole = _NOTHING, True


class _Deflate:
    """Blocks that are stored (RFC 1951, 3.2.4)."""

    def __init__(self, window: int) -> None:
        self._stream = zlib.compressobj(zlib.Z_NO_COMPRESSION, wbits=window)

    def pack(self, data: bytes) -> bytes:
        return self._stream.compress(data) + self._stream.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._stream.flush()


class _BrotliPacker:
    """Meta-blocks that are not compressed (RFC 7932, 9.1 and 9.2), in the smallest common window, 64 KiB."""

    def __init__(self) -> None:
        self._before = 1  # bits in front of the first meta-block: the window's size, a zero

    def pack(self, data: bytes) -> bytes:
        out = bytearray()
        for block in portions(data, _BROTLI_BLOCK) if data else ():
            # ISLAST 0, MNIBBLES 0 for four, MLEN - 1, ISUNCOMPRESSED 1; then zeros up to the next byte.
            head = (len(block) - 1) << 3 | 1 << 19
            out += (head << self._before).to_bytes(3, "little") + block
            self._before = 0
        return bytes(out)

    def end(self) -> bytes:
        return bytes([0b11 << self._before])  # ISLAST, ISLASTEMPTY


class _ZstdPacker:
    """One frame of raw blocks, with a window of 128 KiB (RFC 8878, 3.1.1)."""

    def __init__(self) -> None:
        self._head = b"\x28\xb5\x2f\xfd\x00\x38"

    def pack(self, data: bytes) -> bytes:
        blocks = portions(data, _ZSTD_BLOCK) if data else ()
        return self._begin() + b"".join(map(_zstd_block, blocks))

    def end(self) -> bytes:
        return self._begin() + _zstd_block(b"", last=True)

    def _begin(self) -> bytes:
        head, self._head = self._head, b""
        return head


def _zstd_block(data: bytes, *, last: bool = False) -> bytes:
    return (len(data) << 3 | last).to_bytes(3, "little") + data


def _stretch(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """Unpack up to the end of `data` or of the stream. A full step may leave more inside than it shows."""
    full = True
    try:
        while (data or full) and not stream.eof:
            piece = stream.decompress(data, STEP)
            data, full = stream.unconsumed_tail, len(piece) == STEP
            if piece:
                yield piece
    except zlib.error:
        raise Damaged from None
