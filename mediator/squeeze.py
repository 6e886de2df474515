"""A stream without what wraps base64 and hexadecimal text: line breaks, spaces, and their escapes in JSON.

Always: however the stream is cut into pieces, what comes out joined is the same. No IO.
"""

from typing import Final

_DROPPED: Final = b" \t\r\n\v\f\\"  # JSON within JSON doubles its backslashes; PHP writes a slash as `\/`
_ESCAPES: Final = (b"\\n", b"\\r")


class Squeeze:
    """One stream."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Take a piece and return what is left of it. A backslash at its end waits for what it escapes."""
        piece = self._held + piece
        self._held = piece[-1:] if piece.endswith(b"\\") else b""
        return squeezed(piece[: len(piece) - len(self._held)])


def squeezed(data: bytes) -> bytes:
    """Return `data` without blanks and escapes."""
    if b"\\" in data:
        while b"\\\\" in data:  # else what is left of `\\n` would escape the letter behind it
            data = data.replace(b"\\\\", b"\\")
        for escape in _ESCAPES:
            data = data.replace(escape, b"")
    return data.translate(None, _DROPPED)
