"""One certificate authority a run: its key exists in this process's memory and nowhere else.

Certificates are valid from long before the run: a client whose clock is behind, or is a replay's, takes them.
A replay's, and a fork's, are valid at the recorded time and at the real one: a program may read either.
All leaves share one key, since each proves the same thing: that hark answers here. Importing this is cheap;
`cryptography.x509` is loaded when an authority is created.
"""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from hark.policy.host import is_address
from mediator import lean

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder

BACKDATED: Final = timedelta(days=30)
VALID: Final = timedelta(days=330)
"""Counted from the run. With `BACKDATED` it stays below the 398 days that some clients take at most."""
BEYOND: Final = timedelta(days=30)
"""What is left at the end of a run that reaches over more: then that limit has to give."""
COMMON_NAME_MAX: Final = 64  # X.520; a longer name stands in the subjectAltName alone


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

    def __init__(self, key: EllipticCurvePrivateKey, certificate: Certificate, span: Span) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        self._key = key
        self._span = span
        self.certificate = certificate
        self.leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._leaves: dict[str, Certificate] = {}

    @classmethod
    def create(cls, now: datetime, until: datetime | None = None) -> RunCA:
        """Make an authority as of `now` (timezone-aware), for a run that may be as late as `until`."""
        lean.load_certificates()
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        name, span = _name("hark run CA"), Span.of(now, until or now)
        builder = (
            _dated(x509.CertificateBuilder(), span)
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(key, builder.sign(key, hashes.SHA256()), span)

    def __repr__(self) -> str:
        return "RunCA()"

    def __reduce__(self) -> str:
        raise TypeError("a run's certificate authority is never pickled")

    def pem(self) -> bytes:
        """Return the authority's certificate."""
        from cryptography.hazmat.primitives.serialization import Encoding

        return self.certificate.public_bytes(Encoding.PEM)

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
            .add_extension(_key_usage(signs_certificates=False), critical=True)
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
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "hark"),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
