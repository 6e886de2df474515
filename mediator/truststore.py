"""A PKCS #12 store (RFC 7292) of certificates that are trusted, as a JVM reads it. Bytes from bytes.

Nothing in it is secret, so it is neither encrypted nor has it a MAC, and any password opens it: both take
longer than all else, and importing what makes them several times as long again. Who could change the file
could as well replace it. A JVM that finds one certificate that it cannot read takes none of a store, so what
is not whole is left out. Not looked at: what stands inside names, keys and extensions.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from mediator import der

_DATA: Final = der.identifier("1.2.840.113549.1.7.1")
_CERTIFICATE_BAG: Final = der.identifier("1.2.840.113549.1.12.10.1.3")
_X509: Final = der.identifier("1.2.840.113549.1.9.22.1")
_FRIENDLY_NAME: Final = der.identifier("1.2.840.113549.1.9.20")
_TRUSTED_FOR_ANYTHING: Final = der.sequence(
    der.identifier(
        "2.16.840.1.113894.746875.1.1"
    ),  # Oracle's trustedKeyUsage: without it a JVM trusts nothing
    der.element(der.Tag.SET, der.identifier("2.5.29.37.0")),
)


def store(certificates: Iterable[bytes]) -> bytes:
    """Return the store that holds those that are whole of these, in DER, as root0, root1 and so on."""
    bags = (_bag(f"root{number}", one) for number, one in enumerate(filter(is_whole, certificates)))
    return der.sequence(der.integer(3), _content(der.sequence(_content(der.sequence(*bags)))))


def is_whole(certificate: bytes) -> bool:
    """Tell whether it has the parts of a certificate (RFC 5280, 4.1), none of them cut, and nothing else."""
    try:
        ((kind, start, end),) = _elements(certificate, 0, len(certificate))
        outer = [*_elements(certificate, start, end)]
        fields = [tag for tag, _, _ in _elements(certificate, *outer[0][1:])]
    except (IndexError, ValueError):
        return False
    if fields[:1] == [der.Tag.CONTEXT_0]:  # version: the first has none
        del fields[0]
    return kind == der.Tag.SEQUENCE and [tag for tag, _, _ in outer] == _OUTER and fields[:6] == _FIELDS


_OUTER: Final = [der.Tag.SEQUENCE, der.Tag.SEQUENCE, der.Tag.BIT_STRING]
_FIELDS: Final = [der.Tag.INTEGER, *[der.Tag.SEQUENCE] * 5]
"""Serial number, algorithm, issuer, validity, subject, public key."""


def _elements(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield tag, begin and end of what each element holds. Raises ValueError, IndexError where one is cut."""
    while at < end:
        tag, size, at = data[at], data[at + 1], at + 2
        if size >= der.LONG:
            begin = at + size - der.LONG
            size, at = int.from_bytes(data[at:begin]), begin
        if at + size > end:
            raise ValueError("it is cut")
        yield tag, at, at + size
        at += size


def _content(data: bytes) -> bytes:
    return der.sequence(_DATA, _explicit(der.element(der.Tag.OCTET_STRING, data)))


def _explicit(inner: bytes) -> bytes:
    return der.element(der.Tag.CONTEXT_0, inner)


def _bag(name: str, certificate: bytes) -> bytes:
    held = der.sequence(_X509, _explicit(der.element(der.Tag.OCTET_STRING, certificate)))
    called = der.element(der.Tag.BMP_STRING, name.encode("utf-16-be"))
    attributes = (
        der.sequence(_FRIENDLY_NAME, der.element(der.Tag.SET, called)),
        _TRUSTED_FOR_ANYTHING,
    )
    return der.sequence(_CERTIFICATE_BAG, _explicit(held), der.element(der.Tag.SET, *sorted(attributes)))
