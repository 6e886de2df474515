"""A certificate authority like Fulcio's: ten minutes for whoever shows a token, promised to a CT log.

What always holds: a certificate is issued for the name in a token that `Issuer` signed and that has not run
out, over the key whose holder signed the request; it holds a signed certificate timestamp over itself
without it (RFC 6962, section 3). The CT log is a key: no tree of certificates is kept.
"""

import base64
import hashlib
import json
import struct
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from demo.translog import der, notes

LIFETIME: Final = timedelta(minutes=10)  # as Fulcio's
ISSUER: Final = ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
ISSUER_V2: Final = ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
PROMISE: Final = ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
AUDIENCE: Final = "sigstore"


def new_key() -> ec.EllipticCurvePrivateKey:
    """A P-256 key, the only kind that this authority deals with."""
    return ec.generate_private_key(ec.SECP256R1())


def named(common: str) -> x509.Name:
    """A subject of this demo's."""
    organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "hark translog")
    return x509.Name([organization, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def root_certificate(common: str, key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    """A root of its own."""
    return _builder(named(common), named(common), key, key, now, depth=1).sign(key, hashes.SHA256())


def below(
    root: x509.Certificate,
    root_key: ec.EllipticCurvePrivateKey,
    common: str,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    *,
    stamps: bool = False,
) -> x509.Certificate:
    """A certificate under a root: one that may issue, or one for timestamps."""
    builder = _builder(named(common), root.subject, key, root_key, now, depth=None if stamps else 0)
    purpose = ExtendedKeyUsageOID.TIME_STAMPING if stamps else ExtendedKeyUsageOID.CODE_SIGNING
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=stamps)
    return builder.sign(root_key, hashes.SHA256())


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    now: datetime,
    *,
    depth: int | None,
) -> x509.CertificateBuilder:
    issues = depth is not None
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = (
        x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=3650))
        .add_extension(usage(issues=issues), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(authority, critical=False)
    )
    if not issues:
        return builder
    return builder.add_extension(x509.BasicConstraints(ca=True, path_length=depth), critical=True)


def usage(*, issues: bool) -> x509.KeyUsage:
    """Signs certificates, or anything else."""
    return x509.KeyUsage(
        digital_signature=not issues,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=issues,
        crl_sign=issues,
        encipher_only=False,
        decipher_only=False,
    )


class Issuer:
    """Signs identity tokens (ES256) and reads them back."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.key = new_key()

    def token(self, identity: str, now: datetime, lifetime: timedelta = timedelta(minutes=5)) -> str:
        """A token for a name."""
        issued = int(now.timestamp())
        claims = {"iss": self.url, "sub": identity, "aud": AUDIENCE, "iat": issued}
        claims["exp"] = issued + int(lifetime.total_seconds())
        parts = ({"alg": "ES256", "typ": "JWT"}, claims)
        signed = ".".join(_unpadded(json.dumps(part).encode()) for part in parts)
        r, s = utils.decode_dss_signature(self.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{_unpadded(r.to_bytes(32) + s.to_bytes(32))}"

    def identity(self, token: str, now: datetime) -> str:
        """The name in a token that is good; ValueError says why it is not."""
        signed, _, last = token.rpartition(".")
        signature = _padded(last)
        pair = utils.encode_dss_signature(int.from_bytes(signature[:32]), int.from_bytes(signature[32:]))
        try:
            self.key.public_key().verify(pair, signed.encode(), ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise ValueError("the token is not one of this issuer's") from None
        claims = json.loads(_padded(signed.partition(".")[2]))
        if claims["aud"] != AUDIENCE or claims["exp"] <= now.timestamp():
            raise ValueError("the token has run out, or is for something else")
        return str(claims["sub"])


def _unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _padded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Authority:
    """Issues; `chain` is the issuing certificate and the root's."""

    def __init__(self, issuer: Issuer, now: datetime) -> None:
        root_key = new_key()
        root = root_certificate("translog root", root_key, now)
        self.issuer = issuer
        self.key = new_key()
        self.ct_key = new_key()
        self.chain = [below(root, root_key, "translog authority", self.key, now), root]

    def issue(
        self, token: str, request: x509.CertificateSigningRequest, now: datetime
    ) -> list[x509.Certificate]:
        """The certificate that a token and a request earn, and its chain."""
        identity = self.issuer.identity(token, now)
        if not request.is_signature_valid:
            raise ValueError("the request is not signed by the key that it is for")
        bare = self._certificate(identity, request, now)
        draft = bare.sign(
            self.key, hashes.SHA256()
        )  # what the CT log is shown, and then the same with its word
        promise = x509.UnrecognizedExtension(PROMISE, der.octets(self._promise(draft, now)))
        issued = bare.add_extension(promise, critical=False).sign(self.key, hashes.SHA256())
        return [issued, *self.chain]

    def _certificate(
        self, identity: str, request: x509.CertificateSigningRequest, now: datetime
    ) -> x509.CertificateBuilder:
        mail = "@" in identity
        name = x509.RFC822Name(identity) if mail else x509.UniformResourceIdentifier(identity)
        url = self.issuer.url
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (
            x509.CertificateBuilder(
                self.chain[0].subject, x509.Name([]), request.public_key(), x509.random_serial_number()
            )
            .not_valid_before(now)
            .not_valid_after(now + LIFETIME)
            .add_extension(usage(issues=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(request.public_key()), critical=False)
            .add_extension(authority, critical=False)
            .add_extension(x509.SubjectAlternativeName([name]), critical=True)
            .add_extension(x509.UnrecognizedExtension(ISSUER, url.encode()), critical=False)
            .add_extension(x509.UnrecognizedExtension(ISSUER_V2, der.text(url)), critical=False)
        )

    def _promise(self, draft: x509.Certificate, now: datetime) -> bytes:
        """A SignedCertificateTimestampList of one."""
        stamp = int(now.timestamp() * 1000)
        tbs = draft.tbs_certificate_bytes
        key_hash = hashlib.sha256(notes.spki(self.key)).digest()
        entry = key_hash + len(tbs).to_bytes(3) + tbs
        signed = struct.pack(">BBQH", 0, 0, stamp, 1) + entry + struct.pack(">H", 0)
        signature = self.ct_key.sign(signed, ec.ECDSA(hashes.SHA256()))
        log_id = hashlib.sha256(notes.spki(self.ct_key)).digest()
        sct = b"\x00" + log_id + struct.pack(">QH", stamp, 0) + b"\x04\x03" + _sized(signature)
        return _sized(_sized(sct))


def _sized(data: bytes) -> bytes:
    return struct.pack(">H", len(data)) + data


def now_utc() -> datetime:
    """The time, to the second."""
    return datetime.now(UTC).replace(microsecond=0)
