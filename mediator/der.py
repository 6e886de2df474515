"""DER (X.690), as much as certificates and stores of a known shape take. Bytes from values; nothing is read.

Always: what is written is what `cryptography.x509` would write for the same values (a test compares them).
"""

from datetime import UTC, datetime
from enum import IntEnum
from typing import Final

LONG: Final = 0x80  # from here on a length says first how many bytes it has
_GENERALIZED_FROM: Final = 2050  # RFC 5280, 4.1.2.5: years before it have two digits


class Tag(IntEnum):
    """The types that occur."""

    BOOLEAN = 0x01
    INTEGER = 0x02
    BIT_STRING = 0x03
    OCTET_STRING = 0x04
    OBJECT_IDENTIFIER = 0x06
    UTF8_STRING = 0x0C
    UTC_TIME = 0x17
    GENERALIZED_TIME = 0x18
    BMP_STRING = 0x1E
    SEQUENCE = 0x30
    SET = 0x31
    PLAIN_0 = 0x80
    """Of a context, and primitive."""
    PLAIN_2 = 0x82
    PLAIN_7 = 0x87
    CONTEXT_0 = 0xA0
    CONTEXT_3 = 0xA3


TRUE: Final = bytes((Tag.BOOLEAN, 1, 0xFF))


def element(tag: Tag, *content: bytes) -> bytes:
    """Return one element; what is constructed has its elements one after the other."""
    whole = b"".join(content)
    size = len(whole)
    if size < LONG:
        return bytes((tag, size)) + whole
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes((tag, LONG | len(length))) + length + whole


def sequence(*content: bytes) -> bytes:
    """Return a SEQUENCE of elements."""
    return element(Tag.SEQUENCE, *content)


def integer(value: int) -> bytes:
    """Return an INTEGER that is not negative."""
    return element(Tag.INTEGER, value.to_bytes(value.bit_length() // 8 + 1))


def bits(content: bytes, unused: int = 0) -> bytes:
    """Return a BIT STRING; `unused` bits at its end are none of it."""
    return element(Tag.BIT_STRING, bytes((unused,)), content)


def identifier(dotted: str) -> bytes:
    """Return an OBJECT IDENTIFIER."""
    first, second, *rest = map(int, dotted.split("."))
    content = bytearray()
    for number in (40 * first + second, *rest):
        septets = [number & 0x7F]
        while number := number >> 7:
            septets.append(number & 0x7F | 0x80)
        content += bytes(reversed(septets))
    return element(Tag.OBJECT_IDENTIFIER, bytes(content))


def time(when: datetime) -> bytes:
    """Return a Time of RFC 5280: whole seconds, in UTC."""
    utc = when.astimezone(UTC)
    if utc.year < _GENERALIZED_FROM:
        return element(Tag.UTC_TIME, f"{utc:%y%m%d%H%M%SZ}".encode())
    return element(Tag.GENERALIZED_TIME, f"{utc:%Y%m%d%H%M%SZ}".encode())
