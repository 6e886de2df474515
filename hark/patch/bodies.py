"""The content codings of a body undone chunk by chunk, within a bound: what each chunk brought of the text.

What always holds: the chunks together are the text, and there are as many as came; more than `MAX_TEXT` is
refused before it is held. A text that breaks off is taken as far as it came, if the answer broke off too.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from hark.bundle.fields import Pairs
from hark.errors import PatchError
from hark.packers import Damaged, Unpacker, unpackers
from hark.visible import visible_bytes

MAX_TEXT: Final = 64 << 20  # bytes of a body that a patch may be made on
MAX_CODINGS: Final = 3
_KNOWN: Final = frozenset((b"gzip", b"x-gzip", b"deflate", b"br", b"zstd"))
_PLAIN: Final = frozenset((b"", b"identity"))


def codings(headers: Pairs) -> list[bytes]:
    """Return the content codings that headers name, in the order in which they were applied."""
    named = [
        coding.strip().lower()
        for name, value in headers
        if name.lower() == b"content-encoding"
        for coding in value.split(b",")
    ]
    return [coding for coding in named if coding not in _PLAIN]


def unpacked(named: Sequence[bytes], chunks: Sequence[bytes], *, whole: bool) -> list[bytes]:
    """Return the text that each chunk brought. Raises PatchError."""
    if sum(map(len, chunks)) > MAX_TEXT:
        raise PatchError(f"the body has more than {MAX_TEXT} bytes, which is more than a patch is made on")
    unknown = [coding for coding in named if coding not in _KNOWN]
    if unknown:
        raise PatchError(f'the body is packed by "{visible_bytes(unknown[0][:40])}", which hark cannot undo')
    if len(named) > MAX_CODINGS:
        raise PatchError(f"the body is packed more than {MAX_CODINGS} times")
    texts = list(chunks)
    for coding in reversed(named):
        texts = _undone(coding, texts, whole=whole)
    return texts


def _undone(coding: bytes, chunks: Sequence[bytes], *, whole: bool) -> list[bytes]:
    """Undo one coding in the first way that its bytes can be read."""
    if not any(chunks):
        return list(chunks)
    for unpacker in unpackers(coding):
        try:
            texts = _by(unpacker, chunks)
        except Damaged:
            continue
        if unpacker.whole or not whole:
            return texts
    raise PatchError(
        f"the body is not packed by {coding.decode()}, as its headers say, so it cannot be patched"
    )


def _by(unpacker: Unpacker, chunks: Iterable[bytes]) -> list[bytes]:
    texts: list[bytes] = []
    room = MAX_TEXT
    for chunk in chunks:
        pieces = []
        for piece in unpacker.unpack(chunk) if chunk else ():
            room -= len(piece)
            if room < 0:
                raise PatchError(f"the body unpacks to more than {MAX_TEXT} bytes, which no patch is made on")
            pieces.append(piece)
        texts.append(b"".join(pieces))
    return texts
