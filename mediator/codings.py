"""The codings of a body undone: gzip, deflate, brotli and zstd, up to three deep. No IO.

Always: `Unpacking` shows every depth to whoever looks, and nothing is changed; `Repacking` undoes all of
them, has the text changed and packs it again the same way, piece by piece. What cannot be undone (another
coding, bytes that are not what they say, a bomb) raises `PackedError`: a body that cannot be searched is not
passed while credentials are held. So that honest servers choose what can be undone, `accepted` leaves nothing
else in a request.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from hark.packers import Damaged, Packer, Unpacker, packer, unpackers
from mediator.text import clipped

MAX_CODINGS: Final = 3  # nobody packs twice; the attack is to pack once more than is looked at
MAX_RATIO: Final = 1200  # deflate makes 1032 of one byte at most; beyond that it is packed twice, or a bomb
MANY: Final = 16 << 20  # bytes, some seconds of one processor at the worst, in slices (`mediator.sliced`)
MANY_RATIO: Final = 64  # beyond `MANY`: text has 3 to 30. So no read of 256 KiB makes more than that
FREE: Final = 8 << 20  # brotli and zstd make so much of a few bytes, and honest texts do not
_PLAIN: Final = frozenset((b"", b"identity"))
_PACKED: Final = frozenset((b"gzip", b"x-gzip", b"deflate", b"br", b"zstd"))
AWS_CHUNKED: Final = b"aws-chunked"
"""Chunks with a checksum behind them, as AWS's programs send what they upload to S3."""
_FRAMING: Final = frozenset((b"", b"identity", b"chunked"))
_OF_MESSAGES: Final = (b"grpc-encoding", b"connect-content-encoding")
"""Of RPCs over HTTP: not the body is packed, but each message in it."""
OFFERS_OF_MESSAGES: Final = frozenset((b"grpc-accept-encoding", b"connect-accept-encoding"))
"""Headers of a request that offer such. Left out where answers are searched: without them none is taken."""

type Headers = tuple[tuple[bytes, bytes], ...]
type Look = Callable[[bytes], object]
"""Is given all bytes of one depth, in order. MAY raise: the search is over then."""


class PackedError(Exception):
    """The answer cannot be searched; the text says why, and quotes nothing of it."""


def codings_of(headers: Headers, *, sent: bool = False) -> tuple[bytes, ...]:
    """Return the codings of a body in the order in which they are undone. Raises PackedError.

    `sent`: of a request's, which may be in `AWS_CHUNKED` as well.
    """
    known = _PACKED | {AWS_CHUNKED} if sent else _PACKED
    for name, _ in headers:
        if name[-9:].lower() == b"-encoding":
            break
    else:
        return ()  # as of most: every name that is looked for below ends so
    for name in _OF_MESSAGES:
        within = next((coding for coding in _listed(headers, name) if coding not in _PLAIN), None)
        if within is not None:
            raise PackedError(
                f"each message in it is packed by `{clipped(within)}`, and hark could not search it"
            )
    if any(coding not in _FRAMING for coding in _listed(headers, b"transfer-encoding")):
        raise PackedError("it is packed by its transfer coding, and hark could not search it for secrets")
    found = [coding for coding in _listed(headers, b"content-encoding") if coding not in _PLAIN]
    unknown = next((coding for coding in found if coding not in known), None)
    if unknown is not None:
        raise PackedError(f"it is packed by `{clipped(unknown)}`, which hark could not search for secrets")
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
        self._meter = Meter()
        self._depth = _Depth(codings, look, self._meter)

    def feed(self, data: bytes) -> None:
        """Take a piece as it came. Raises PackedError, and what a look raises."""
        self._meter.arrived += len(data)
        self._depth.unpack(data)


class Text(Protocol):
    """What is done with the text of a body."""

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what may pass now."""
        ...

    def finish(self) -> bytes:
        """Return the rest."""
        ...


class Repacking:
    """One body whose text is changed on its way. What comes out may be longer or shorter."""

    def __init__(self, codings: tuple[bytes, ...], text: Text) -> None:
        self._meter = Meter()
        self._undone = [_Undoing(coding, self._meter) for coding in codings]
        self._text = text
        self._packers: list[Packer] = [packer(coding) for coding in reversed(codings)]
        self._any = False

    def feed(self, data: bytes) -> bytes:
        """Take a piece as it came and return what may pass. Raises PackedError, and what `text` raises."""
        self._any = True
        self._meter.arrived += len(data)
        return b"".join(self._packed(self._text.feed(piece)) for piece in self._plain(data, 0))

    def push(self, text: bytes) -> bytes:
        """Pack a piece of the text that was held back by whoever changes it."""
        return self._packed(text)

    def finish(self) -> bytes:
        """Return the rest. Raises PackedError where the body breaks off, and what `text` raises."""
        rest = self._text.finish()
        if not self._any:
            return rest
        if not all(undoing.whole for undoing in self._undone):
            raise PackedError("it breaks off within what it is packed by")
        for packing in self._packers:
            rest = (packing.pack(rest) if rest else b"") + packing.end()
        return rest

    def _plain(self, data: bytes, depth: int) -> Iterator[bytes]:
        if depth == len(self._undone):
            yield data
            return
        for piece in self._undone[depth].unpack(data):
            yield from self._plain(piece, depth + 1)

    def _packed(self, text: bytes) -> bytes:
        for packing in self._packers:
            if text:
                text = packing.pack(text)
        return text


class _Undoing:
    """One coding undone in the one way in which its bytes can be read, which the first of them decide."""

    def __init__(self, coding: bytes, meter: "Meter") -> None:
        self._ways = list(unpackers(coding))
        self._meter = meter
        self._seen = b""

    @property
    def whole(self) -> bool:
        """Tell whether nothing is missing."""
        return not self._seen or self._ways[0].whole

    def unpack(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` unpacks to. Raises PackedError."""
        first, self._seen = not self._seen, self._seen or data[:1]
        if first and len(self._ways) > 1 and not _looks_like_zlib(data):
            del self._ways[0]
        try:
            for piece in self._ways[0].unpack(data):
                self._meter.made(len(piece))
                yield piece
        except Damaged:
            raise PackedError("it is not packed as it says, and hark could not search it") from None


class Meter:
    """What arrived and what was made of it, within bounds."""

    def __init__(self) -> None:
        self.arrived = 0
        self._made = 0

    def made(self, size: int) -> None:
        """Take that so many bytes more came out. Raises PackedError."""
        self._made += size
        many = self._made > MANY and self._made > MANY_RATIO * self.arrived
        if many or self._made > FREE + MAX_RATIO * self.arrived:
            raise PackedError("it unpacks to far more than was sent, and hark did not search it to its end")


class _Depth:
    """Bytes that are packed by `codings`, and the ways in which they may be read."""

    def __init__(self, codings: tuple[bytes, ...], look: Callable[[], Look], meter: Meter) -> None:
        self._packed = bool(codings)
        self._meter = meter
        self._ways = [
            (unpacker, look(), _Depth(codings[1:], look, meter))
            for unpacker in (unpackers(codings[0]) if codings else ())
        ]

    def unpack(self, data: bytes) -> None:
        if not self._packed:
            return
        failed: PackedError | None = None
        alive = []
        for way in self._ways:
            try:
                self._follow(way, data)
            except Damaged:
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


def _looks_like_zlib(data: bytes) -> bool:
    """Tell zlib (RFC 1950, 2.2: method 8, header divisible by 31) or gzip, as raw deflate never begins."""
    return data[:1] == b"\x1f" or (
        data[0] & 0x0F == 8 and (len(data) < 2 or int.from_bytes(data[:2]) % 31 == 0)
    )


def _listed(headers: Headers, name: bytes) -> Iterable[bytes]:
    return (
        coding.strip().lower()
        for field, value in headers
        if field.lower() == name
        for coding in value.split(b",")
    )
