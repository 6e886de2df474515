"""Public keys of logs, witnesses, authorities and signers: read from DER, and asked whether a signature is
theirs.

What always holds: a key of a kind or size that no log uses is MalformedError, never skipped; a signature that
cannot be read is one that is not good. `cryptography` is imported when a key is read: who has no anchor does
not pay for it.
"""

from hashlib import sha256
from typing import Any, Final

from hark.anchor.jsonform import MalformedError, base64

MAX_KEY: Final = 1024  # bytes of DER; RSA with 4096 bits has 550
CURVES: Final = {"secp256r1": "SHA256", "secp384r1": "SHA384", "secp521r1": "SHA512"}


class PublicKey:
    """A key, and how it signs: ECDSA with the curve's hash, Ed25519, or RSA with PKCS 1 v1.5 and SHA-256."""

    __slots__ = ("_key", "der")

    def __init__(self, der: bytes) -> None:
        """Read a SubjectPublicKeyInfo, or the RSAPublicKey that older logs publish."""
        self.der: Final = der
        self._key = _loaded(der)

    def is_p256(self) -> bool:
        """Tell whether it is an ECDSA key on P-256: what hark anchors with."""
        curve = getattr(self._key, "curve", None)
        return curve is not None and curve.name == "secp256r1"

    def has_signed(self, message: bytes, signature: bytes) -> bool:
        """Tell whether `signature` is this key's over `message`."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

        try:
            if isinstance(self._key, ec.EllipticCurvePublicKey):
                hashing = getattr(hashes, CURVES[self._key.curve.name])()
                self._key.verify(signature, message, ec.ECDSA(hashing))
            elif isinstance(self._key, rsa.RSAPublicKey):
                self._key.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
            else:
                self._key.verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


def _loaded(der: bytes) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    if len(der) > MAX_KEY:
        raise MalformedError(f"a public key is larger than {MAX_KEY} bytes")
    try:
        key = load_der_public_key(der)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise MalformedError("a public key cannot be read") from None
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in CURVES:
        return key
    if isinstance(key, ed25519.Ed25519PublicKey) or (
        isinstance(key, rsa.RSAPublicKey) and key.key_size >= 2048
    ):
        return key
    raise MalformedError("a public key is of a kind that no log uses")


def from_ed25519(raw: bytes) -> PublicKey:
    """Return the key of 32 bytes, as verifier keys of notes hold it."""
    if len(raw) != 32:
        raise MalformedError("an Ed25519 key has 32 bytes")
    return PublicKey(ED25519_PREFIX + raw)


ED25519_PREFIX: Final = bytes.fromhex(
    "302a300506032b6570032100"
)  # SubjectPublicKeyInfo of RFC 8410 around 32 bytes


def from_pem(data: bytes) -> PublicKey:
    """Return the key of a PEM file."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

    try:
        key = load_pem_public_key(data)
        der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except Exception as error:  # noqa: BLE001 - the library has no root of its own errors, and the bytes are anyone's
        raise MalformedError(f"a public key cannot be read: {type(error).__name__}") from None
    return PublicKey(der)


def hint(der: bytes) -> str:
    """Return what a sigstore bundle calls a key that it does not hold; nothing for no key."""
    return base64(sha256(der).digest()) if der else ""
