"""A timestamp authority of RFC 3161: it signs the time at which it was shown a hash.

What always holds: the hash and the nonce are those of the request, to the byte; only SHA-256 is taken. The
answer is CMS SignedData with the attributes that RFC 5816 asks for. The clock is handed in.
"""

import hashlib
from datetime import datetime
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from demo.translog import der

TYPE: Final = "application/timestamp-reply"
POLICY: Final = "1.3.6.1.4.1.57264.2"
SIGNED_DATA: Final = "1.2.840.113549.1.7.2"
TST_INFO: Final = "1.2.840.113549.1.9.16.1.4"
CONTENT_TYPE: Final = "1.2.840.113549.1.9.3"
MESSAGE_DIGEST: Final = "1.2.840.113549.1.9.4"
SIGNING_CERTIFICATE: Final = "1.2.840.113549.1.9.16.2.47"
ECDSA_SHA256: Final = "1.2.840.10045.4.3.2"

INTEGER, BOOLEAN, OBJECT, SEQUENCE = 0x02, 0x01, 0x06, 0x30


class Request(NamedTuple):
    """What is asked of the authority."""

    imprint: bytes
    """The whole MessageImprint, as it stands in the request."""
    nonce: bytes
    """The element, or nothing."""
    certificates: bool


def parse(data: bytes) -> Request:
    """Read a TimeStampReq; ValueError says what is wrong with it."""
    whole = der.read(data)
    if len(whole) != 1 or whole[0][0] != SEQUENCE:
        raise ValueError("not a timestamp request")
    version, imprint, *rest = der.read(whole[0][1])
    if version[1] != b"\x01":
        raise ValueError("a timestamp request of another version")
    algorithm, hashed = der.read(imprint[1])
    if der.read(algorithm[1])[0][2] != der.oid(der.SHA256) or len(hashed[1]) != 32:
        raise ValueError("only SHA-256 is taken")
    nonce = next((element for tag, _, element in rest if tag == INTEGER), b"")
    return Request(imprint[2], nonce, any(tag == BOOLEAN and content != b"\x00" for tag, content, _ in rest))


class Authority:
    """Signs; `chain` is its own certificate and the root's, in this order."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, chain: list[x509.Certificate]) -> None:
        self.key = key
        self.chain = chain
        self.serial = 0

    def answer(self, data: bytes, now: datetime) -> bytes:
        """The TimeStampResp for a TimeStampReq."""
        request = parse(data)
        self.serial += 1
        info = der.sequence(
            der.integer(1),
            der.oid(POLICY),
            request.imprint,
            der.integer(self.serial),
            der.moment(now),
            request.nonce,
        )
        granted = der.sequence(der.integer(0))
        signed = self._signed_data(info, certificates=request.certificates)
        return der.sequence(granted, der.sequence(der.oid(SIGNED_DATA), der.tagged(0, signed)))

    def _signed_data(self, info: bytes, *, certificates: bool) -> bytes:
        own = self.chain[0].public_bytes(serialization.Encoding.DER)
        return der.sequence(
            der.integer(3),
            der.set_of(der.algorithm(der.SHA256)),
            der.sequence(der.oid(TST_INFO), der.tagged(0, der.octets(info))),
            der.tagged(0, own) if certificates else b"",
            der.set_of(self._signer_info(info, own)),
        )

    def _signer_info(self, info: bytes, own: bytes) -> bytes:
        issuer, serial = self.chain[0].issuer.public_bytes(), der.integer(self.chain[0].serial_number)
        names = der.sequence(der.sequence(der.tagged(4, issuer)), serial)
        certificate = der.sequence(der.octets(hashlib.sha256(own).digest()), names)
        attributes = (
            _attribute(CONTENT_TYPE, der.oid(TST_INFO)),
            _attribute(MESSAGE_DIGEST, der.octets(hashlib.sha256(info).digest())),
            _attribute(SIGNING_CERTIFICATE, der.sequence(der.sequence(certificate))),
        )
        signature = self.key.sign(der.set_of(*attributes), ec.ECDSA(hashes.SHA256()))
        return der.sequence(
            der.integer(1),
            der.sequence(issuer, serial),
            der.algorithm(der.SHA256),
            der.tagged(0, *sorted(attributes)),
            der.algorithm(ECDSA_SHA256),
            der.octets(signature),
        )


def _attribute(kind: str, value: bytes) -> bytes:
    return der.sequence(der.oid(kind), der.set_of(value))
