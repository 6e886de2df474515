"""Keep real credentials out of answers: the plain bytes and what gzip or deflate hides. No IO.

Always: an answer that gives a credential back is cut before the bytes that complete it pass. The unpacked
form is only looked at; the agent gets the bytes that the server sent.
"""

import zlib
from typing import Final

from mediator.credentials import Broker
from mediator.scan import FoundError, StreamScan
from mediator.transcript import Headers

MAX_UNPACKED_STEP: Final = 1 << 20  # a bomb is unpacked in pieces and never held whole
_EITHER: Final = zlib.MAX_WBITS | 32  # gzip or zlib, as the first bytes say


class EchoScan:
    """One answer's scan."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._plain = broker.incoming()
        self._packed: zlib._Decompress | None = None
        self._inner: StreamScan = broker.incoming()

    def head(self, headers: Headers) -> None:
        """Look at headers or trailers. Raises FoundError."""
        for name, value in headers:
            found = self._broker.real_value_in(name + b": " + value)
            if found is not None:
                raise FoundError(found)
            if name.lower() == b"content-encoding" and self._broker.holds_any:
                self._packed = _unpacker(value)

    def body(self, data: bytes) -> bytes:
        """Take a piece and return what may pass. Raises FoundError."""
        if self._packed is not None:
            self._look_inside(data)
        return self._plain.feed(data)

    def finish(self) -> bytes:
        """Return what was held back."""
        return self._plain.finish()

    def _look_inside(self, data: bytes) -> None:
        while data and self._packed is not None:
            try:
                unpacked = self._packed.decompress(data, MAX_UNPACKED_STEP)
            except zlib.error:
                self._packed = None  # not what it said it was: no client will unpack it either
                return
            self._inner.feed(unpacked)
            data = self._packed.unconsumed_tail


def _unpacker(encoding: bytes) -> "zlib._Decompress | None":
    if encoding.strip().lower() in (b"gzip", b"x-gzip", b"deflate"):
        return zlib.decompressobj(_EITHER)
    return None
