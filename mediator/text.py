"""Bytes of the agent or of a server, as text that a record may hold: always valid UTF-8, bounded where asked.

What is not UTF-8 is shown as `\\xNN`; the exact bytes stand in the raw fields, where a kind has one. Control
characters are kept: whoever shows the text to a person escapes them (`hark inspect`).
"""

from typing import Final

MAX_NAME_SHOWN: Final = 1024  # a name longer than this names nothing; what follows is counted, not kept
_PLAIN: Final = frozenset(range(0x21, 0x7F)) - {0x2E, 0x5C}  # without the dot and the backslash


def as_text(raw: bytes | str) -> str:
    """Return `raw` as valid UTF-8 text; bytes outside it are escaped."""
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "backslashreplace")


def clipped(raw: bytes | str, ceiling: int = MAX_NAME_SHOWN) -> str:
    """Return `as_text(raw)`, cut at `ceiling` characters with a word about what was left out."""
    text = as_text(raw[: ceiling * 4])
    if len(raw) <= ceiling and len(text) <= ceiling:
        return text
    return f"{text[:ceiling]}... ({len(raw)} in all)"


def label_text(label: bytes) -> str:
    """Return one DNS label so that two different labels never read alike: all but plain ASCII is `\\xNN`."""
    return "".join(chr(byte) if byte in _PLAIN else f"\\x{byte:02x}" for byte in label)
