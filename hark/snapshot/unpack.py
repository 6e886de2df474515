"""The compressed copy of a bundle as a stream of bounded pieces. Nothing is trusted: it may be a bomb."""

import sys
from typing import Final

from blake3 import blake3

from hark.errors import BundleError
from hark.snapshot.archive import Source

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

WINDOW_LOG: Final = 27  # of zstd: 128 MB, more than any level that hark writes with asks for
_PIECE: Final = 1 << 20


class Unpacking(Source):
    """One zstd frame, decompressed as far as it is asked for."""

    def __init__(self, data: bytes) -> None:
        limits: dict[int, int] = {zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
        self._stream = zstd.ZstdDecompressor(options=limits)
        self._input: bytes | None = data
        self._ready = bytearray()
        self._hasher = blake3()

    def take(self, size: int) -> bytes:
        """The next bytes, fewer at the end."""
        while len(self._ready) < size and not self._stream.eof:
            piece = self._more(max(_PIECE, size - len(self._ready)))
            if not piece and self._stream.needs_input:
                break  # the frame breaks off
            self._ready += piece
        taken = bytes(self._ready[:size])
        del self._ready[:size]
        self._hasher.update(taken)
        return taken

    def _more(self, most: int) -> bytes:
        given, self._input = self._input or b"", b""
        try:
            return self._stream.decompress(given, most)
        except zstd.ZstdError as error:
            raise BundleError(f"the snapshot is not compressed as it should be: {error}") from None

    def finish(self) -> bytes:
        """Return the hash of all that was taken. Raises BundleError unless that was everything."""
        if self._ready or not self._stream.eof or self._stream.unused_data:
            raise BundleError("the snapshot goes on after its end, or has none")
        return self._hasher.digest()
