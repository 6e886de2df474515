"""What the log takes in: hashedrekord entries, checked and put into their canonical form.

What always holds: an entry is taken only if its signature is good over its digest, by the key or by the
certificate's key in it, as Rekor does; keys are ECDSA on P-256 and digests SHA-256, all else is refused. The
canonical body is JSON in the order of RFC 8785, which for what stands in it is that of its sorted keys.
"""

import base64
import binascii
import json
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from demo.translog.notes import b64

DETAILS: Final = "PKIX_ECDSA_P256_SHA_256"
PREHASHED: Final = ec.ECDSA(utils.Prehashed(hashes.SHA256()))


class RefusedError(ValueError):
    """The log does not take this in."""


def canonical(value: object) -> bytes:
    """JSON as it is hashed and signed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def body_v1(proposed: dict[str, Any]) -> bytes:
    """The canonical body of a proposed hashedrekord 0.0.1."""
    if (proposed.get("kind"), proposed.get("apiVersion")) != ("hashedrekord", "0.0.1"):
        raise RefusedError("only hashedrekord 0.0.1 is taken")
    spec = _at(proposed, "spec")
    signature, hashed = _at(spec, "signature"), _at(spec, "data", "hash")
    if hashed.get("algorithm") != "sha256":
        raise RefusedError("only sha256 is taken")
    digest = bytes.fromhex(_text(hashed, "value"))
    pem, key = _from_pem(_bytes(_at(signature, "publicKey"), "content"))
    check(key, _bytes(signature, "content"), digest)
    return canonical(
        {
            "apiVersion": "0.0.1",
            "kind": "hashedrekord",
            "spec": {
                "data": {"hash": {"algorithm": "sha256", "value": digest.hex()}},
                "signature": {"content": signature["content"], "publicKey": {"content": b64(pem)}},
            },
        }
    )


def body_v2(request: dict[str, Any]) -> bytes:
    """The canonical body of a request for a hashedrekord 0.0.2."""
    wanted = _at(request, "hashedRekordRequestV002")
    signature = _at(wanted, "signature")
    verifier = _at(signature, "verifier")
    if verifier.get("keyDetails") != DETAILS:
        raise RefusedError(f"only {DETAILS} is taken")
    name = "x509Certificate" if "x509Certificate" in verifier else "publicKey"
    material = _bytes(_at(verifier, name), "rawBytes")
    digest = _bytes(wanted, "digest")
    check(_from_der(material, name), _bytes(signature, "content"), digest)
    kept = {"keyDetails": DETAILS, name: {"rawBytes": b64(material)}}
    record = {
        "data": {"algorithm": "SHA2_256", "digest": b64(digest)},
        "signature": {"content": signature["content"], "verifier": kept},
    }
    spec = {"hashedRekordV002": record}
    return canonical({"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": spec})


def check(key: object, signature: bytes, digest: bytes) -> None:
    """Refuse what the key did not sign."""
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise RefusedError("only keys on P-256 are taken")
    if len(digest) != 32:
        raise RefusedError("a SHA-256 digest has 32 bytes")
    try:
        key.verify(signature, digest, PREHASHED)
    except InvalidSignature:
        raise RefusedError("the signature is not good over the digest") from None


def _from_pem(pem: bytes) -> tuple[bytes, object]:
    """The material as the log writes it, and the key in it."""
    if b"BEGIN CERTIFICATE" in pem:
        certificate = x509.load_pem_x509_certificate(pem)
        return certificate.public_bytes(serialization.Encoding.PEM), certificate.public_key()
    key = serialization.load_pem_public_key(pem)
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, form), key


def _from_der(material: bytes, name: str) -> object:
    if name == "publicKey":
        return serialization.load_der_public_key(material)
    return x509.load_der_x509_certificate(material).public_key()


def _at(value: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        value = value.get(name)  # type: ignore[assignment]
        if not isinstance(value, dict):
            raise RefusedError(f"there is no {name}")
    return value


def _text(value: dict[str, Any], name: str) -> str:
    if not isinstance(found := value.get(name), str):
        raise RefusedError(f"there is no {name}")
    return found


def _bytes(value: dict[str, Any], name: str) -> bytes:
    try:
        return base64.b64decode(_text(value, name), validate=True)
    except binascii.Error:
        raise RefusedError(f"{name} is not base64") from None
