"""One certificate authority a run: its key exists in this process's memory and nowhere else.

Certificates are valid from long before the run: a client whose clock is behind, or is a replay's, takes them.
A replay's, and a fork's, are valid at the recorded time and at the real one: a program may read either.
All leaves share one key, since each proves the same thing: that hark answers here. Importing this is cheap,
and so is creating an authority, which every agent waits for: its own certificate is written out here. For the
leaves `cryptography.x509` is loaded, when an agent connects.
"""

from __future__ import annotations

import binascii
import ipaddress
import os
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from hark.policy.host import is_address
from mediator import der, lean

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurveSignatureAlgorithm,
    )
    from cryptography.x509 import Certificate, CertificateBuilder

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
        self._leaves: dict[str, Certificate] = {}

    @classmethod
    def create(cls, now: datetime, until: datetime | None = None) -> RunCA:
        """Make an authority as of `now` (timezone-aware), for a run that may be as late as `until`."""
        key, span = _new_key(), Span.of(now, until or now)
        return cls(key, _signed(_to_be_signed(key, span), key), span)

    @cached_property
    def certificate(self) -> Certificate:
        """The authority's own certificate."""
        lean.load_certificates()
        from cryptography import x509

        return x509.load_der_x509_certificate(self._der)

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

    def leaf(self, host: str) -> Certificate:
        """Return the certificate for an allowed canonical host. There are as many as the policy has hosts."""
        known = self._leaves.get(host)
        if known is None:
            known = self._leaves[host] = self._issue(host)
        return known

    def _issue(self, host: str) -> Certificate:
        lean.load_certificates()
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.x509.oid import ExtendedKeyUsageOID

        alternative: x509.GeneralName = x509.DNSName(host)
        if is_address(host):
            alternative = x509.IPAddress(ipaddress.ip_address(host))
        public = self.leaf_key.public_key()
        issuer = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        return (
            _dated(x509.CertificateBuilder(), self._span)
            .subject_name(_name(host if len(host) <= COMMON_NAME_MAX else "hark"))
            .issuer_name(self.certificate.subject)
            .public_key(public)
            .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )


def _dated(builder: CertificateBuilder, span: Span) -> CertificateBuilder:
    from cryptography.x509 import random_serial_number

    return (
        builder.serial_number(random_serial_number()).not_valid_before(span.first).not_valid_after(span.last)
    )


def _name(common: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, _CALLED[0]),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )


def _key_usage() -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


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


def _to_be_signed(key: EllipticCurvePrivateKey, span: Span) -> bytes:
    """Return the authority's certificate as it is signed (RFC 5280, 4.1): it may sign leaves, and no more."""
    from hashlib import sha1

    numbers, name = key.public_key().public_numbers(), _name_in_der(*_CALLED)
    point = b"\x04" + numbers.x.to_bytes(_COORDINATE) + numbers.y.to_bytes(_COORDINATE)
    key_id = sha1(point, usedforsecurity=False).digest()  # RFC 5280, 4.2.1.2 (1)
    extensions = (
        _extension("2.5.29.19", der.sequence(der.TRUE, der.integer(0)), critical=True),  # basicConstraints
        _extension("2.5.29.15", der.bits(b"\x06", unused=1), critical=True),  # keyUsage: keyCertSign, cRLSign
        _extension("2.5.29.14", der.element(der.Tag.OCTET_STRING, key_id), critical=False),
    )
    return der.sequence(
        der.element(der.Tag.CONTEXT_0, der.integer(2)),  # v3
        der.integer(int.from_bytes(os.urandom(20)) >> 1),  # at most 20 octets, and positive
        _ECDSA_SHA256,
        name,
        der.sequence(der.time(span.first), der.time(span.last)),
        name,
        der.sequence(_P256, der.bits(point)),
        der.element(der.Tag.CONTEXT_3, der.sequence(*extensions)),
    )


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
