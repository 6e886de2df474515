"""What a client sends to the logs: the two shapes of a request, and bundles made of the answers.

It is how the tests' entries are made; hark has a client of its own (`hark anchor`).
"""

import hashlib
from typing import Any, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from demo.translog import certificates, notes
from demo.translog.entries import DETAILS
from demo.translog.notes import b64

PEM: Final = "-----BEGIN {0}-----\n{1}\n-----END {0}-----\n"


def signed(data: bytes, key: ec.EllipticCurvePrivateKey | None = None) -> tuple[bytes, bytes, bytes]:
    """Digest, signature and public key (DER) for some data; without a key, by one that is then forgotten."""
    key = key or certificates.new_key()
    return hashlib.sha256(data).digest(), key.sign(data, ec.ECDSA(hashes.SHA256())), notes.spki(key)


def v1(digest: bytes, signature: bytes, material: bytes, label: str = "PUBLIC KEY") -> dict[str, Any]:
    """A hashedrekord 0.0.1; `label` says what the material is, as PEM does."""
    text = b64(material)
    lines = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    public = {"content": b64(PEM.format(label, lines).encode())}
    return {
        "apiVersion": "0.0.1",
        "kind": "hashedrekord",
        "spec": {
            "data": {"hash": {"algorithm": "sha256", "value": digest.hex()}},
            "signature": {"content": b64(signature), "publicKey": public},
        },
    }


def v2(digest: bytes, signature: bytes, material: bytes, name: str = "publicKey") -> dict[str, Any]:
    """A request for a hashedrekord 0.0.2; `name` is `publicKey` or `x509Certificate`."""
    verifier = {name: {"rawBytes": b64(material)}, "keyDetails": DETAILS}
    signature_ = {"content": b64(signature), "verifier": verifier}
    return {"hashedRekordRequestV002": {"digest": b64(digest), "signature": signature_}}
