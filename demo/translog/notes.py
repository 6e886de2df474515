"""Signed notes, checkpoints and cosignatures as C2SP specifies them: how the log and the witness sign.

What always holds: a key id is computed from name and key as the specification says for its type; for ECDSA
it is the beginning of the key's own hash and the name is not in it. Nothing is verified here but what a
witness must (`demo.translog.witness`); verifying is hark's, and of other hands.
"""

import base64
import hashlib
import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

DASH: Final = "\u2014"
ED25519: Final = 1  # signature types of signed-note
COSIGNATURE: Final = 4

Key = ec.EllipticCurvePrivateKey | Ed25519PrivateKey


class Signer(NamedTuple):
    """A name and a key that sign notes."""

    name: str
    key_id: bytes
    """All 32 bytes; a note holds the first four."""
    spki: bytes
    """The public key as trusted roots hold it."""
    sign: Callable[[bytes], bytes]


def b64(data: bytes) -> str:
    """Base64, as all these formats have it."""
    return base64.b64encode(data).decode()


def spki(key: Key) -> bytes:
    """The public half as DER."""
    return key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def raw(key: Ed25519PrivateKey) -> bytes:
    """The public half as 32 bytes."""
    return key.public_key().public_bytes_raw()


def typed_id(name: str, kind: int, public: bytes) -> bytes:
    """The key id for a type of signature that has the name in it."""
    return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()


def verifier_key(name: str, kind: int, public: bytes) -> str:
    """A public key as one line of text: name, key id, type and key."""
    key_id = typed_id(name, kind, public)[:4].hex()
    return f"{name}+{key_id}+{b64(bytes([kind]) + public)}"


def ed25519_signer(name: str, key: Ed25519PrivateKey) -> Signer:
    """One that signs as Rekor v2 does."""
    return Signer(name, typed_id(name, ED25519, raw(key)), spki(key), key.sign)


def ecdsa_signer(name: str, key: ec.EllipticCurvePrivateKey) -> Signer:
    """One that signs as Rekor v1 does."""
    public = spki(key)
    return Signer(
        name, hashlib.sha256(public).digest(), public, lambda data: key.sign(data, ec.ECDSA(hashes.SHA256()))
    )


def body(origin: str, size: int, root: bytes) -> str:
    """The text of a checkpoint that is signed."""
    return f"{origin}\n{size}\n{b64(root)}\n"


def line(name: str, key_id: bytes, signature: bytes) -> str:
    """One signature line."""
    return f"{DASH} {name} {b64(key_id[:4] + signature)}\n"


def checkpoint(signer: Signer, origin: str, size: int, root: bytes) -> str:
    """A whole signed checkpoint."""
    text = body(origin, size, root)
    return f"{text}\n{line(signer.name, signer.key_id, signer.sign(text.encode()))}"


def cosign(name: str, key: Ed25519PrivateKey, text: str, seconds: int) -> str:
    """The line of a witness under the checkpoint whose text is `text`, at a time."""
    message = f"cosignature/v1\ntime {seconds}\n{text}"
    key_id = typed_id(name, COSIGNATURE, raw(key))
    return line(name, key_id, struct.pack(">Q", seconds) + key.sign(message.encode()))
