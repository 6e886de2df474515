"""As much of DER as a timestamp and a certificate's log promise need: encoding, and reading a request."""

from datetime import datetime
from typing import Final

SHA256: Final = "2.16.840.1.101.3.4.2.1"


def tlv(tag: int, *parts: bytes) -> bytes:
    """One element."""
    content = b"".join(parts)
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(size)]) + size + content


def sequence(*parts: bytes) -> bytes:
    """SEQUENCE."""
    return tlv(0x30, *parts)


def set_of(*parts: bytes) -> bytes:
    """SET OF, in the order that DER wants."""
    return tlv(0x31, *sorted(parts))


def integer(value: int) -> bytes:
    """INTEGER, of numbers that are not negative."""
    return tlv(0x02, value.to_bytes(value.bit_length() // 8 + 1))


def octets(value: bytes) -> bytes:
    """OCTET STRING."""
    return tlv(0x04, value)


def text(value: str) -> bytes:
    """UTF8String."""
    return tlv(0x0C, value.encode())


def moment(value: datetime) -> bytes:
    """GeneralizedTime, to the second; `value` is UTC."""
    return tlv(0x18, value.strftime("%Y%m%d%H%M%SZ").encode())


def tagged(number: int, *parts: bytes) -> bytes:
    """[number], constructed."""
    return tlv(0xA0 | number, *parts)


def oid(dotted: str) -> bytes:
    """OBJECT IDENTIFIER."""
    first, second, *rest = map(int, dotted.split("."))
    return tlv(0x06, *map(_base128, (40 * first + second, *rest)))


def _base128(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(0x80 | number & 0x7F)
    return bytes(reversed(digits))


def algorithm(dotted: str) -> bytes:
    """AlgorithmIdentifier without parameters."""
    return sequence(oid(dotted))


def read(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """The elements that follow one another in `data`: tag, content, and the element as it stands.

    Raises ValueError where they do not fill it.
    """
    found, at = [], 0
    while at < len(data):
        start, tag, size = at, data[at], data[at + 1] if at + 1 < len(data) else -1
        at += 2
        if size & 0x80 and size > 0:
            wide = size & 0x7F
            size = int.from_bytes(data[at : at + wide])
            at += wide
        if size < 0 or at + size > len(data):
            raise ValueError("an element is longer than what holds it")
        found.append((tag, data[at : at + size], data[start : at + size]))
        at += size
    return found
