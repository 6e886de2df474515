"""Answers that are packed files themselves (gzip, zstd, zip), looked into as they pass. No IO.

Always: what they hold is searched as a body is, at one depth, and they pass as they came or stop before the
bytes that complete a value. So it is where the body that they are is packed once more on its way. One that
begins as such a file and cannot be looked into does not pass.

Not done here: files within files, and those packed otherwise (bzip2, xz, 7z).
"""

import struct
import zlib
from collections.abc import Callable
from typing import Final

from mediator.codings import Look, Meter, PackedError, Text, Unpacking
from mediator.credentials import Broker
from mediator.scan import StreamSwap

MAGICS: Final = (
    {b"\x1f\x8b\x08": b"gzip", b"\x28\xb5\x2f\xfd": b"zstd"}
    | {bytes((first,)) + b"\x2a\x4d\x18": b"zstd" for first in range(0x50, 0x60)}  # a frame to be skipped
    | dict.fromkeys((b"PK\x03\x04", b"PK\x07\x08", b"PK00"), b"zip")  # in parts it is refused
    | dict.fromkeys((b"\x78\x01", b"\x78\x9c", b"\x78\xda"), b"deflate")  # `x^` may begin a text
)
LONGEST: Final = max(map(len, MAGICS))
MAX_KEPT: Final = 1 << 20  # packed bytes behind the beginning of a value; some dozen decide what it is
_LOCAL: Final = struct.Struct("<4sHHHHHIIIHH")
_ENTRY: Final = b"PK\x03\x04"
_LATER: Final = (b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x08", b"PK\x05\x05")
"""What stands behind the last entry: the directory, in which nothing is packed."""
_ENCRYPTED, _LENGTH_BEHIND = 0x1, 0x8
_STORED, _DEFLATED = 0, 8
_WIDE: Final = 0xFFFFFFFF
_WIDE_EXTRA: Final = 0x0001
_DESCRIPTORS: Final = (16, 12, 24, 20)
_STEP: Final = 1 << 16
_NONE: Final = "it is a packed file that hark could not look into"


def kind_of(first: bytes) -> bytes | None:
    """Return what a body is that begins so; nothing where it is no such file, None where more has to come."""
    for magic, kind in MAGICS.items():
        if first.startswith(magic):
            return kind
    return None if any(magic.startswith(first) for magic in MAGICS) else b""


class Files:
    """One body that may be such a file; `mediator.bodies.Stage` says how it is used."""

    resizes = False
    waiting = False

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._first: bytes | None = b""
        """What has come while it was not known what it is."""
        self._packed: Zip | Unpacking | None = None
        self._inside: list[StreamSwap] = []
        self._kept = b""

    @property
    def is_file(self) -> bool | None:
        """Tell whether it is such a file; None while that is not known."""
        return None if self._first is not None else self._packed is not None

    def unpacks(self, data: bytes) -> bool:
        """Tell whether more than what came may be looked at."""
        return self._packed is not None if self._first is None else kind_of(self._first + data) != b""

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what may pass. Raises FoundError and PackedError."""
        if self._first is not None:
            self._first += data
            kind = kind_of(self._first)
            if kind is None:
                return b""
            data, self._first = self._first, None
            if kind:
                self._packed = Zip(self._look) if kind == b"zip" else Unpacking((kind,), self._look)
        if self._packed is None:
            return data
        self._packed.feed(data)
        self._kept += data
        if not any(swap.holding for swap in self._inside[-1:]):
            return self._passed()
        if len(self._kept) > MAX_KEPT:
            raise PackedError(f"{_NONE}: it goes on for long after what may be the beginning of a secret")
        return b""

    def release(self) -> bytes:
        """Return nothing: none waits for a moment only."""
        return b""

    def finish(self) -> bytes:
        """Return the rest."""
        return (self._first or b"") + self._passed()

    def _passed(self) -> bytes:
        passed, self._kept = self._kept, b""
        return passed

    def _look(self) -> Look:
        self._inside[:] = [*self._inside[-1:], self._broker.stopping(from_agent=False)]
        return self._inside[-1].feed


class Within:
    """The text of a packed body, as a `mediator.codings.Text`, which may be such a file in turn."""

    def __init__(self, text: Text, files: Files) -> None:
        self._text = text
        self._files = files

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what may pass of the text. Raises FoundError and PackedError."""
        self._files.feed(data)
        return self._text.feed(data)

    def finish(self) -> bytes:
        """Return the rest."""
        return self._text.finish()


class Zip:
    """A zip file, entry by entry, as it comes. Raises PackedError, and what a look raises."""

    def __init__(self, look: Callable[[], Look]) -> None:
        self._new_look = look
        self._look: Look = bytes
        self._meter = Meter()
        self._held = bytearray()
        self._next: Callable[[], bool] = self._header
        self._left = 0
        self._behind = False
        self._inflating = zlib.decompressobj(-zlib.MAX_WBITS)

    def feed(self, data: bytes) -> None:
        """Take a piece as it came."""
        self._meter.arrived += len(data)
        self._held += data
        while self._next():
            pass

    def _header(self) -> bool:
        if len(self._held) < _LOCAL.size:
            return False
        magic, _, flags, method, _, _, _, packed, _, name, extra = _LOCAL.unpack_from(self._held)
        if magic in _LATER:
            self._next = self._over
            return True
        if magic != _ENTRY or flags & _ENCRYPTED or method not in (_STORED, _DEFLATED):
            raise PackedError(_NONE)
        if len(self._held) < _LOCAL.size + name + extra:
            return False
        if packed == _WIDE:
            packed = _wide(bytes(self._held[_LOCAL.size + name : _LOCAL.size + name + extra]))
        del self._held[: _LOCAL.size + name + extra]
        self._look, self._left, self._behind = self._new_look(), packed, bool(flags & _LENGTH_BEHIND)
        if method == _DEFLATED:
            self._inflating = zlib.decompressobj(-zlib.MAX_WBITS)
            self._next = self._deflated
        elif self._behind:
            raise PackedError(_NONE)  # where it ends, readers guess
        else:
            self._next = self._stored
        return True

    def _stored(self) -> bool:
        piece = bytes(self._held[: self._left])
        del self._held[: len(piece)]
        self._left -= len(piece)
        if piece:
            self._look(piece)
        if self._left:
            return False
        self._next = self._header
        return True

    def _deflated(self) -> bool:
        data, self._held = bytes(self._held), bytearray()
        try:
            while data and not self._inflating.eof:
                piece = self._inflating.decompress(data, _STEP)
                data = self._inflating.unconsumed_tail
                self._meter.made(len(piece))
                self._look(piece)
        except zlib.error:
            raise PackedError(_NONE) from None
        if not self._inflating.eof:
            return False
        self._held += self._inflating.unused_data
        self._next = self._descriptor if self._behind else self._header
        return True

    def _descriptor(self) -> bool:
        """Pass over lengths and check sum, of which no reader knows how wide they are but by what follows."""
        if len(self._held) < max(_DESCRIPTORS) + 2:
            return False
        size = next((size for size in _DESCRIPTORS if self._held[size : size + 2] == b"PK"), None)
        if size is None:
            raise PackedError(_NONE)
        del self._held[:size]
        self._next = self._header
        return True

    def _over(self) -> bool:
        self._held.clear()
        return False


def _wide(extra: bytes) -> int:
    """Return the packed size of an entry that says it elsewhere (zip64). Raises PackedError."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == _WIDE_EXTRA and size >= 16:
            return int(struct.unpack_from("<Q", extra, at + 12)[0])
        at += 4 + size
    raise PackedError(_NONE)
