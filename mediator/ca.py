"""One certificate authority a run: its key exists in this process's memory and nowhere else.

Certificates are valid from long before the run: a client whose clock is behind, or is a replay's, takes them.
A replay's, and a fork's, are valid at the recorded time and at the real one: a program may read either.
All leaves share one key, since each proves the same thing: that hark answers here. Importing this is cheap,
and so are creating an authority and a leaf, which agents wait for: certificates are written out here, without
what loads `cryptography.x509`.
"""

from __future__ import annotations

import binascii
import ipaddress
import os
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from hark.policy.host import is_address
from hark.sums import sha1
from mediator import der

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurveSignatureAlgorithm,
    )

BACKDATED: Final = timedelta(days=30)
VALID: Final = timedelta(days=330)
"""Counted from the run. With `BACKDATED` it stays below the 398 days that some clients take at most."""
BEYOND: Final = timedelta(days=30)
"""What is left at the end of a run that reaches over more: then that limit has to give."""
COMMON_NAME_MAX: Final = 64  # X.520; a longer name stands in the subjectAltName alone
PEM_LINE: Final = 48  # bytes, 64 characters: RFC 7468
_CALLED: Final = ("hark", "hark run CA")
_ECDSA_SHA256: Final = der.sequence(der.identifier("1.2.840.10045.4.3.2"))
_P256: Final = der.sequence(der.identifier("1.2.840.10045.2.1"), der.identifier("1.2.840.10045.3.1.7"))
_SERVER_AUTH: Final = der.identifier("1.3.6.1.5.5.7.3.1")
_COORDINATE: Final = 32  # bytes, on that curve


class Span(NamedTuple):
    """When certificates are valid."""

    first: datetime
    last: datetime

    @classmethod
    def of(cls, now: datetime, until: datetime) -> Span:
        """Return that of a run that begins at `now` and may be as late, or as early, as `until`."""
        return cls(min(now, until) - BACKDATED, max(now + VALID, until + BEYOND))


class RunCA:
    """The run's authority. `repr` and pickle give no key away."""

    def __init__(self, key: EllipticCurvePrivateKey, certificate: bytes, span: Span) -> None:
        """`certificate` is the authority's own, in DER."""
        self._key = key
        self._span = span
        self._der = certificate
        self._leaves: dict[str, bytes] = {}

    @classmethod
    def create(cls, now: datetime, until: datetime | None = None) -> RunCA:
        """Make an authority as of `now` (timezone-aware), for a run that may be as late as `until`."""
        key, span = _new_key(), Span.of(now, until or now)
        return cls(key, _signed(_authority(key, span), key), span)

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, in DER."""
        return self._der

    @cached_property
    def leaf_key(self) -> EllipticCurvePrivateKey:
        """The key that every leaf has."""
        return _new_key()

    def __repr__(self) -> str:
        return "RunCA()"

    def __reduce__(self) -> str:
        raise TypeError("a run's certificate authority is never pickled")

    def pem(self) -> bytes:
        """Return the authority's certificate."""
        pieces = (self._der[at : at + PEM_LINE] for at in range(0, len(self._der), PEM_LINE))
        lines = b"".join(map(binascii.b2a_base64, pieces))
        return b"-----BEGIN CERTIFICATE-----\n" + lines + b"-----END CERTIFICATE-----\n"

    def trust_bundle(self, roots_pem: bytes) -> bytes:
        """Return this run's root and then the host's: what the agent's programs are shown as the roots."""
        return self.pem() + roots_pem

    def leaf(self, host: str) -> bytes:
        """Return the certificate of an allowed canonical host, in DER. As many as the policy has are kept."""
        known = self._leaves.get(host)
        if known is None:
            known = self._leaves[host] = self._issue(host)
        return known

    def _issue(self, host: str) -> bytes:
        named = _name_in_der(_CALLED[0], host if len(host) <= COMMON_NAME_MAX else "hark")
        whose, signs = _point(self.leaf_key), _key_id(_point(self._key))
        extensions = (
            _extension("2.5.29.17", der.sequence(_alternative(host)), critical=False),  # subjectAltName
            _extension("2.5.29.19", der.sequence(), critical=True),  # basicConstraints: no authority
            _extension("2.5.29.15", der.bits(b"\x80", unused=7), critical=True),  # keyUsage: digitalSignature
            _extension("2.5.29.37", der.sequence(_SERVER_AUTH), critical=False),  # extKeyUsage
            _extension("2.5.29.14", der.element(der.Tag.OCTET_STRING, _key_id(whose)), critical=False),
            _extension("2.5.29.35", der.sequence(der.element(der.Tag.PLAIN_0, signs)), critical=False),
        )
        return _signed(_to_be_signed(whose, named, self._span, extensions), self._key)


def _alternative(host: str) -> bytes:
    """Return the host as a GeneralName (RFC 5280, 4.2.1.6)."""
    if is_address(host):
        return der.element(der.Tag.PLAIN_7, ipaddress.ip_address(host).packed)
    return der.element(der.Tag.PLAIN_2, host.encode("ascii"))


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _signed(to_be_signed: bytes, key: EllipticCurvePrivateKey) -> bytes:
    return der.sequence(to_be_signed, _ECDSA_SHA256, der.bits(key.sign(to_be_signed, _ecdsa_sha256())))


def _ecdsa_sha256() -> EllipticCurveSignatureAlgorithm:
    """Return what `ec.ECDSA(SHA256())` is, without the twenty-five modules that its `__init__` loads."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    class Ecdsa(ec.ECDSA):
        algorithm = hashes.SHA256()
        deterministic_signing = False

        def __init__(self) -> None:
            pass

    return Ecdsa()


def _authority(key: EllipticCurvePrivateKey, span: Span) -> bytes:
    """Return the authority's own certificate as it is signed: it may sign leaves, and no more."""
    point = _point(key)
    extensions = (
        _extension("2.5.29.19", der.sequence(der.TRUE, der.integer(0)), critical=True),  # basicConstraints
        _extension("2.5.29.15", der.bits(b"\x06", unused=1), critical=True),  # keyUsage: keyCertSign, cRLSign
        _extension("2.5.29.14", der.element(der.Tag.OCTET_STRING, _key_id(point)), critical=False),
    )
    return _to_be_signed(point, _name_in_der(*_CALLED), span, extensions)


def _to_be_signed(point: bytes, name: bytes, span: Span, extensions: tuple[bytes, ...]) -> bytes:
    """Return what the authority signs (RFC 5280, 4.1), for a key given as its point."""
    return der.sequence(
        der.element(der.Tag.CONTEXT_0, der.integer(2)),  # v3
        der.integer(int.from_bytes(os.urandom(20)) >> 1),  # at most 20 octets, and positive
        _ECDSA_SHA256,
        _name_in_der(*_CALLED),
        der.sequence(der.time(span.first), der.time(span.last)),
        name,
        der.sequence(_P256, der.bits(point)),
        der.element(der.Tag.CONTEXT_3, der.sequence(*extensions)),
    )


def _point(key: EllipticCurvePrivateKey) -> bytes:
    numbers = key.public_key().public_numbers()
    return b"\x04" + numbers.x.to_bytes(_COORDINATE) + numbers.y.to_bytes(_COORDINATE)


def _key_id(point: bytes) -> bytes:
    found: bytes = sha1(point, usedforsecurity=False).digest()  # RFC 5280, 4.2.1.2 (1)
    return found


def _extension(called: str, value: bytes, *, critical: bool) -> bytes:
    wrapped = der.element(der.Tag.OCTET_STRING, value)
    return der.sequence(der.identifier(called), *((der.TRUE,) if critical else ()), wrapped)


def _name_in_der(organization: str, common: str) -> bytes:
    parts = (("2.5.4.10", organization), ("2.5.4.3", common))
    return der.sequence(
        *(
            der.element(
                der.Tag.SET,
                der.sequence(der.identifier(called), der.element(der.Tag.UTF8_STRING, text.encode())),
            )
            for called, text in parts
        )
    )
