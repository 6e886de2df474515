"""Packed bytes in short pieces, for decoders that copy what stands behind the end of a stream.

Always: the pieces together are the bytes. A body may be nothing but ends: gzip's shortest stream has 20
bytes, zstd's 9, and the libraries give back what follows each as a copy. Given whole, one megabyte of them is
minutes of work; given in pieces, the copies are short, whatever the body is.
"""

from collections.abc import Iterator
from typing import Final

GIVEN: Final = 1 << 14  # bytes; at this size the copies cost less than making the next decoder


def portions(data: bytes, size: int = GIVEN) -> Iterator[bytes]:
    """Yield `data` in pieces of `size` bytes, the last one shorter."""
    if len(data) <= size:
        yield data
        return
    for at in range(0, len(data), size):
        yield data[at : at + size]
