"""Bodies as clients and servers pack them: compressed, piece by piece, as `hark.packers` itself does not."""

import sys
import zlib
from typing import TYPE_CHECKING, Protocol

import brotli  # type: ignore[import-untyped]

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd


class Packer(Protocol):
    """Applies one coding."""

    def pack(self, data: bytes) -> bytes:
        """Return `data` packed, all of it."""
        ...

    def end(self) -> bytes:
        """Return the end."""
        ...


def packer(coding: bytes) -> Packer:
    """Return what packs by `coding`."""
    match coding:
        case b"br":
            return _Brotli()
        case b"zstd":
            return _Zstd()
        case _:
            return _Deflate(zlib.MAX_WBITS | (16 if coding == b"gzip" else 0))


class _Deflate:
    def __init__(self, window: int) -> None:
        self._stream = zlib.compressobj(1, wbits=window)

    def pack(self, data: bytes) -> bytes:
        return self._stream.compress(data) + self._stream.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._stream.flush()


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Compressor(quality=1)

    def pack(self, data: bytes) -> bytes:
        return bytes(self._stream.process(data) + self._stream.flush())

    def end(self) -> bytes:
        return bytes(self._stream.finish())


class _Zstd:
    def __init__(self) -> None:
        self._stream = zstd.ZstdCompressor(level=1)

    def pack(self, data: bytes) -> bytes:
        return self._stream.compress(data, zstd.ZstdCompressor.FLUSH_BLOCK)

    def end(self) -> bytes:
        return self._stream.flush(zstd.ZstdCompressor.FLUSH_FRAME)
