"""The codings of an answer's body, undone for the search alone: gzip, deflate and identity, up to three deep.

Always: every depth is looked at. What cannot be undone (another coding, bytes that are not what they say, a
bomb) raises `PackedError`: an answer that cannot be searched is not passed while credentials are held. So
that honest servers choose what can be undone, `accepted` leaves nothing else in a request. No IO.

Not done here: brotli and zstd, whose libraries put no bound on what one piece unpacks to.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

MAX_CODINGS: Final = 3  # nobody packs twice; the attack is to pack once more than is looked at
STEP: Final = 1 << 20  # unpacked at a time: a bomb is never held whole
MAX_RATIO: Final = 1200  # deflate makes 1032 of one byte at most; only packing twice makes more
FREE: Final = 1 << 20  # small answers may do so: they cost nothing
_GZIP: Final = zlib.MAX_WBITS | 16
_GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32
_RAW: Final = -zlib.MAX_WBITS
_PLAIN: Final = frozenset((b"", b"identity"))
_PACKED: Final = frozenset((b"gzip", b"x-gzip", b"deflate"))
_FRAMING: Final = frozenset((b"", b"identity", b"chunked"))

type Headers = tuple[tuple[bytes, bytes], ...]
type Look = Callable[[bytes], object]
"""Is given all bytes of one depth, in order. MAY raise: the search is over then."""


class PackedError(Exception):
    """The answer cannot be searched; the text says why, and quotes nothing of it."""


class Unpacker(Protocol):
    """Undoes one coding."""

    def unpack(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` unpacks to, `STEP` bytes at most each. Raises zlib.error."""
        ...


def codings_of(headers: Headers) -> tuple[bytes, ...]:
    """Return the codings of a body in the order in which they are undone. Raises PackedError."""
    if any(coding not in _FRAMING for coding in _listed(headers, b"transfer-encoding")):
        raise PackedError("it is packed by its transfer coding, and hark could not search it for secrets")
    found = [coding for coding in _listed(headers, b"content-encoding") if coding not in _PLAIN]
    if any(coding not in _PACKED for coding in found):
        raise PackedError("it is packed otherwise than by gzip or deflate, and hark could not search it")
    if len(found) > MAX_CODINGS:
        raise PackedError(f"it is packed more than {MAX_CODINGS} times, and hark could not search it")
    return tuple(reversed(found))


def accepted(value: bytes) -> bytes:
    """Return an Accept-Encoding header with only what can be undone here."""
    kept = [
        part.strip()
        for part in value.split(b",")
        if part.partition(b";")[0].strip().lower() in _PACKED | {b"identity"}
    ]
    return b", ".join(kept) or b"identity"


class Unpacking:
    """One body, unpacked in every way that a reader of its codings could."""

    def __init__(self, codings: tuple[bytes, ...], look: Callable[[], Look]) -> None:
        self._meter = _Meter()
        self._depth = _Depth(codings, look, self._meter)

    def feed(self, data: bytes) -> None:
        """Take a piece as it came. Raises PackedError, and what a look raises."""
        self._meter.arrived += len(data)
        self._depth.unpack(data)


class _Meter:
    """What arrived and what was made of it."""

    def __init__(self) -> None:
        self.arrived = 0
        self._made = 0

    def made(self, size: int) -> None:
        self._made += size
        if self._made > FREE + MAX_RATIO * self.arrived:
            raise PackedError("it unpacks to far more than was sent, and hark did not search it to its end")


class _Depth:
    """Bytes that are packed by `codings`, and the ways in which they may be read."""

    def __init__(self, codings: tuple[bytes, ...], look: Callable[[], Look], meter: _Meter) -> None:
        self._packed = bool(codings)
        self._meter = meter
        self._ways = [
            (unpacker, look(), _Depth(codings[1:], look, meter))
            for unpacker in (_unpackers(codings[0]) if codings else ())
        ]

    def unpack(self, data: bytes) -> None:
        if not self._packed:
            return
        failed: PackedError | None = None
        alive = []
        for way in self._ways:
            try:
                self._follow(way, data)
            except zlib.error:
                continue
            except PackedError as error:
                failed = error
                continue
            alive.append(way)
        self._ways = alive
        if not alive:
            raise failed or PackedError("it is not packed as it says, and hark could not search it")

    def _follow(self, way: tuple[Unpacker, Look, "_Depth"], data: bytes) -> None:
        unpacker, look, below = way
        for piece in unpacker.unpack(data):
            self._meter.made(len(piece))
            look(piece)
            below.unpack(piece)


class _Members:
    """gzip: one member after another, with zeros between them, as programs read it."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)

    def unpack(self, data: bytes) -> Iterator[bytes]:
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

    def unpack(self, data: bytes) -> Iterator[bytes]:
        yield from _stretch(self._stream, data)
        if self._stream.unused_data:
            raise zlib.error("bytes behind the end")


def _stretch(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """Unpack up to the end of `data` or of the stream. A full step may leave more inside than it shows."""
    full = True
    while (data or full) and not stream.eof:
        piece = stream.decompress(data, STEP)
        data, full = stream.unconsumed_tail, len(piece) == STEP
        if piece:
            yield piece


def _unpackers(coding: bytes) -> tuple[Unpacker, ...]:
    """Return the readings of a coding: `deflate` means zlib, and some servers and clients take it raw."""
    if coding == b"deflate":
        return _Single(_GZIP_OR_ZLIB), _Single(_RAW)
    return (_Members(),)


def _listed(headers: Headers, name: bytes) -> Iterable[bytes]:
    return (
        coding.strip().lower()
        for field, value in headers
        if field.lower() == name
        for coding in value.split(b",")
    )
