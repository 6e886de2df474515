"""What a log's entry says: hashedrekord 0.0.1 (Rekor version 1) and 0.0.2 (version 2), written and read.

What always holds: an entry names one SHA-256 digest, one signature and one key or certificate, each by its
bytes; anything else in it is MalformedError, and so is another kind.
"""

from typing import Final, NamedTuple

from hark.anchor import jsonform
from hark.anchor.jsonform import MalformedError, Object, base64

KIND: Final = "hashedrekord"
V1: Final = "0.0.1"
V2: Final = "0.0.2"
MAX_BODY: Final = 64 << 10  # one with a certificate has 5 kB
P256: Final = "PKIX_ECDSA_P256_SHA_256"
_PEM_LINE: Final = 64
_KEY: Final = "PUBLIC KEY"
_CERTIFICATE: Final = "CERTIFICATE"


class Claim(NamedTuple):
    """What was signed, how, and by which key (SubjectPublicKeyInfo) or certificate, in DER."""

    digest: bytes
    signature: bytes
    key: bytes = b""
    certificate: bytes = b""


def parse(data: bytes) -> tuple[Claim, str]:
    """Return what the entry claims and the version that it is of."""
    value = jsonform.load(data, "the log's entry", MAX_BODY)
    kind, version = jsonform.text(value, "kind"), jsonform.text(value, "apiVersion")
    spec = jsonform.child(value, "spec")
    if kind == KIND and version == V1:
        return _first(spec), version
    if kind == KIND and version == V2:
        return _second(jsonform.child(spec, "hashedRekordV002")), version
    raise MalformedError("the log's entry is of a kind that is not known here")


def _first(spec: Object) -> Claim:
    digest = jsonform.child(jsonform.child(spec, "data"), "hash")
    signature = jsonform.child(spec, "signature")
    if digest.get("algorithm") != "sha256":
        raise MalformedError("the log's entry is over another hash than SHA-256")
    content = jsonform.octets(signature, "content")
    armoured = jsonform.octets(jsonform.child(signature, "publicKey"), "content")
    try:
        value = bytes.fromhex(jsonform.text(digest, "value"))
    except ValueError:
        raise MalformedError("the log's entry has a digest that is not hexadecimal") from None
    label, der = _unpem(armoured)
    return Claim(value, content, **{"key" if label == _KEY else "certificate": der})


def _second(spec: Object) -> Claim:
    data, signature = jsonform.child(spec, "data"), jsonform.child(spec, "signature")
    verifier = jsonform.child(signature, "verifier")
    if data.get("algorithm") != "SHA2_256":
        raise MalformedError("the log's entry is over another hash than SHA-256")
    named = {"publicKey": "key", "x509Certificate": "certificate"}
    found = [name for name in named if name in verifier]
    if len(found) != 1:
        raise MalformedError("the log's entry does not name one key or certificate")
    name = found[0]
    der = jsonform.octets(jsonform.child(verifier, name), "rawBytes")
    return Claim(jsonform.octets(data, "digest"), jsonform.octets(signature, "content"), **{named[name]: der})


def request_v1(claim: Claim) -> bytes:
    """Write what a log of version 1 is asked to take in."""
    label = _KEY if claim.key else _CERTIFICATE
    text = pem(label, claim.key or claim.certificate)
    return jsonform.dump(
        {
            "apiVersion": V1,
            "kind": KIND,
            "spec": {
                "data": {"hash": {"algorithm": "sha256", "value": claim.digest.hex()}},
                "signature": {"content": base64(claim.signature), "publicKey": {"content": base64(text)}},
            },
        }
    )


def request_v2(claim: Claim) -> bytes:
    """Write what a log of version 2 is asked to take in."""
    name = "publicKey" if claim.key else "x509Certificate"
    verifier = {name: {"rawBytes": base64(claim.key or claim.certificate)}, "keyDetails": P256}
    signature = {"content": base64(claim.signature), "verifier": verifier}
    return jsonform.dump(
        {"hashedRekordRequestV002": {"digest": base64(claim.digest), "signature": signature}}
    )


def pem(label: str, der: bytes) -> bytes:
    """Write DER as PEM."""
    text = base64(der)
    lines = [text[at : at + _PEM_LINE] for at in range(0, len(text), _PEM_LINE)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""]).encode()


def _unpem(data: bytes) -> tuple[str, bytes]:
    lines = data.decode("ascii", "replace").strip().split("\n")
    for label in (_KEY, _CERTIFICATE):
        if (lines[0], lines[-1]) == (f"-----BEGIN {label}-----", f"-----END {label}-----"):
            return label, jsonform.unbase64("".join(lines[1:-1]), "the key of the log's entry")
    raise MalformedError("the log's entry has a key that is no PEM")
