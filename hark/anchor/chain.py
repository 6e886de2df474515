"""Certificates of identities, as Fulcio issues them: whose chain, at what time, and on whose record.

What always holds: a certificate counts only if an authority of the trust root issued it, if every certificate
of the chain was valid at the time that the anchor proves, if it is for signing code, and if a certificate log
of the trust root has signed for it. What the identity may be is the reader's to say: any will do here.
"""

from datetime import UTC, datetime
from hashlib import sha256
from struct import pack
from typing import Any, Final

from hark.anchor.jsonform import MalformedError
from hark.anchor.outcome import MANY
from hark.anchor.trusted_root import Authority, Log

MAX_CERTIFICATE: Final = 64 << 10  # Fulcio's have 2 kB
ISSUER: Final = ("1.3.6.1.4.1.57264.1.8", "1.3.6.1.4.1.57264.1.1")
"""Fulcio's extensions for whoever vouched for the identity: DER text, and the older one, bare."""
USERNAME: Final = "1.3.6.1.4.1.57264.1.7"
"""Fulcio's kind of subject that is neither an address nor a URI."""
UTF8_STRING: Final = 0x0C  # X.690, 8.1.2 and table 1 of X.680
SHORT: Final = 0x80  # from this length on, another byte holds it (X.690, 8.1.3)
LATE: Final = ("extensions", "issuer", "subject", "not_valid_before_utc", "not_valid_after_utc")
"""What the library reads when it is asked for, and not when it loads a certificate."""
MAX_TEXT: Final = 0xFF  # bytes of an identity or issuer; Fulcio's have under 200


class UnknownAuthorityError(Exception):
    """No authority of the trust root has the name of the certificate's issuer."""


def load(der: bytes) -> Any:
    """Read a certificate."""
    from cryptography.x509 import load_der_x509_certificate

    if len(der) > MAX_CERTIFICATE:
        raise MalformedError(f"the certificate is larger than {MAX_CERTIFICATE} bytes")
    try:
        certificate = load_der_x509_certificate(der)
        for read_late in LATE:
            getattr(certificate, read_late)
        certificate.public_key()
    except Exception as error:  # noqa: BLE001 - hostile DER: the library names no root of its errors
        raise MalformedError(f"the certificate cannot be read ({type(error).__name__})") from None
    return certificate


def key_of(certificate: Any) -> bytes:
    """Return the certificate's key as DER."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    der: bytes = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return der


def issuer_of(certificate: Any, authorities: tuple[Authority, ...], time: int) -> Any:
    """Return the certificate of whoever issued it, after checking the chain at `time`."""
    known = False
    for authority in authorities:
        chain = [load(der) for der in authority.chain]
        if certificate.issuer != chain[0].subject:
            continue
        known = True
        if authority.period.has(time) and _leads_to(certificate, chain, time):
            return chain[0]
    if not known:
        raise UnknownAuthorityError
    raise MalformedError(
        "the certificate was not issued by an authority of the trust root, or not valid at that time"
    )


def _leads_to(certificate: Any, chain: list[Any], time: int) -> bool:
    from cryptography.x509 import ExtendedKeyUsage
    from cryptography.x509.verification import (
        Criticality,
        ExtensionPolicy,
        PolicyBuilder,
        Store,
        VerificationError,
    )

    anyone = (ExtendedKeyUsage, Criticality.NON_CRITICAL, None)  # for code, not for TLS: checked below
    policy = (
        PolicyBuilder()
        .store(Store([chain[-1]]))
        .time(datetime.fromtimestamp(time, UTC))
        .extension_policies(
            ca_policy=ExtensionPolicy.webpki_defaults_ca().may_be_present(*anyone),
            ee_policy=ExtensionPolicy.webpki_defaults_ee().may_be_present(*anyone),
        )
    )
    try:
        policy.build_client_verifier().verify(certificate, chain[:-1])
    except (VerificationError, ValueError, TypeError):
        return False
    except Exception as error:
        if type(error).__module__.startswith("cryptography"):  # names of odd kinds have errors of their own
            return False
        raise
    return True


def check_usage(certificate: Any) -> None:
    """Refuse a certificate that is not for signing code."""
    from cryptography.x509 import ExtendedKeyUsage, ExtensionNotFound, KeyUsage
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        signs = certificate.extensions.get_extension_for_class(KeyUsage).value.digital_signature
        uses = certificate.extensions.get_extension_for_class(ExtendedKeyUsage).value
    except ExtensionNotFound:
        raise MalformedError("the certificate does not say what it is for") from None
    if not signs or ExtendedKeyUsageOID.CODE_SIGNING not in uses:
        raise MalformedError("the certificate is not for signing code")


def check_logged(certificate: Any, issuer: Any, logs: tuple[Log, ...]) -> None:
    """Refuse a certificate that no log of the trust root has signed for (RFC 6962, section 3.2)."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509 import ExtensionNotFound, PrecertificateSignedCertificateTimestamps

    try:
        found = certificate.extensions.get_extension_for_class(PrecertificateSignedCertificateTimestamps)
    except ExtensionNotFound:
        raise MalformedError("no log of certificates has signed for the certificate") from None
    body = certificate.tbs_precertificate_bytes
    signed = sha256(key_of(issuer)).digest() + len(body).to_bytes(3) + body
    for receipt in list(found.value)[:MANY]:
        at = round(receipt.timestamp.replace(tzinfo=UTC).timestamp() * 1000)
        more = receipt.extension_bytes
        # Version 1 of a receipt, a certificate's, for one that is made from a precertificate.
        message = pack(">BBQH", 0, 0, at, 1) + signed + len(more).to_bytes(2) + more
        for log in logs:
            named = receipt.log_id == log.log_id and isinstance(receipt.signature_hash_algorithm, SHA256)
            if named and log.period.has(at // 1000) and log.key.has_signed(message, receipt.signature):
                return
    raise MalformedError("no log of certificates in the trust root has signed for the certificate")


def identity(certificate: Any) -> tuple[str, str]:
    """Return whose certificate it is, and who vouched for that: text of the file, not yet made visible.

    Where the certificate does not say who vouched, that is empty.
    """
    from cryptography.x509 import ExtensionNotFound, SubjectAlternativeName

    try:
        names = list(certificate.extensions.get_extension_for_class(SubjectAlternativeName).value)
    except ExtensionNotFound:
        names = []
    if len(names) != 1:
        raise MalformedError("the certificate does not name one identity")
    return _name(names[0]), _vouched(certificate)


def _name(name: Any) -> str:
    from cryptography.x509 import OtherName, RFC822Name, UniformResourceIdentifier

    if isinstance(name, RFC822Name | UniformResourceIdentifier):
        return str(name.value)
    if isinstance(name, OtherName) and name.type_id.dotted_string == USERNAME:
        return _utf8(name.value)
    raise MalformedError("the certificate names an identity of a kind that no authority for code gives")


def _vouched(certificate: Any) -> str:
    raw = {one.oid.dotted_string: getattr(one.value, "value", b"") for one in certificate.extensions}
    for oid in ISSUER:
        data = raw.get(oid)
        if isinstance(data, bytes) and data:
            return _utf8(data) if oid == ISSUER[0] else _text(data)
    return ""


def _utf8(der: bytes) -> str:
    """Read DER's UTF8String of at most 255 bytes."""
    short, long = der[2:], der[3:]
    if len(short) < SHORT and der[:2] == bytes([UTF8_STRING, len(short)]):
        return _text(short)
    if SHORT <= len(long) <= MAX_TEXT and der[:3] == bytes([UTF8_STRING, SHORT | 1, len(long)]):
        return _text(long)
    raise MalformedError("a name in the certificate is not written as text")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise MalformedError("a name in the certificate is not UTF-8") from None
