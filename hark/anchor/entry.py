"""A sigstore bundle as values: a signature over an artifact, the log's entry for it, and stamps.

Media types `application/vnd.dev.sigstore.bundle+json;version=0.1` to 0.3 and `...bundle.v0.3+json` are read;
what hark writes is the last. What always holds: there is exactly one entry and one signature over an
artifact; a bundle of another content (an envelope) is MalformedError. Nothing is checked against anything
else here (`hark.anchor.judge`).
"""

from typing import Final, NamedTuple

from hark.anchor import jsonform
from hark.anchor.jsonform import MalformedError, Object
from hark.anchor.outcome import MANY

MAX_BUNDLE: Final = 1 << 20  # bytes of JSON; the public logs' have 10 kB
MEDIA_TYPE: Final = "application/vnd.dev.sigstore.bundle.v0.3+json"
OLDER: Final = tuple(f"application/vnd.dev.sigstore.bundle+json;version=0.{n}" for n in (1, 2, 3))
WITH_PROMISE: Final = OLDER[0]
"""The first format, which had nothing but the log's promise for an entry."""


class Proof(NamedTuple):
    """Where the entry is in the log's tree, and the checkpoint that the tree has."""

    leaf: int
    size: int
    root: bytes
    path: tuple[bytes, ...]
    checkpoint: str


class Entry(NamedTuple):
    """The log's entry."""

    number: int
    """The log's own number of it, which may count trees that came before."""
    log_id: bytes
    kind: str
    version: str
    time: int
    """When the log says that it took the entry in; 0 where it says nothing."""
    promise: bytes
    """The signed entry timestamp of a log of version 1; may be empty."""
    proof: Proof | None
    body: bytes
    """What the leaf holds."""


class Signed(NamedTuple):
    """One signature, and what vouches for it."""

    signature: bytes
    digest: bytes
    """SHA-256 of the artifact, as the bundle says; may be empty."""
    certificate: bytes
    """In DER; empty where the bundle leaves the key to the reader."""
    hint: str
    """Which key that is."""
    entry: Entry
    stamps: tuple[bytes, ...]
    """RFC 3161 responses over the signature."""
    promised: bool = False
    """Whether the format is the first one."""


def parse(data: bytes) -> Signed:
    """Read one. Raises MalformedError."""
    bundle = jsonform.load(data, "the sigstore bundle", MAX_BUNDLE)
    media = jsonform.text(bundle, "mediaType")
    if media != MEDIA_TYPE and media not in OLDER:
        raise MalformedError("the sigstore bundle is of a type that is not known here")
    material = jsonform.child(bundle, "verificationMaterial")
    if "dsseEnvelope" in bundle:
        raise MalformedError(
            "the sigstore bundle holds an envelope (DSSE), not a signature over the artifact"
        )
    message = jsonform.child(bundle, "messageSignature")
    entries = jsonform.children(material, "tlogEntries", MANY)
    if len(entries) != 1:
        raise MalformedError(f"the sigstore bundle has {len(entries)} log entries, not one")
    return Signed(
        jsonform.octets(message, "signature"),
        _digest(message),
        _certificate(material),
        _hint(material),
        parse_entry(entries[0]),
        _stamps(material),
        media == WITH_PROMISE,
    )


def _digest(message: Object) -> bytes:
    if message.get("messageDigest") is None:
        return b""
    digest = jsonform.child(message, "messageDigest")
    if digest.get("algorithm") != "SHA2_256":
        raise MalformedError("the sigstore bundle's digest is not SHA-256")
    return jsonform.octets(digest, "digest")


def _certificate(material: Object) -> bytes:
    if "certificate" in material:
        return jsonform.octets(jsonform.child(material, "certificate"), "rawBytes")
    if "x509CertificateChain" in material:
        chain = jsonform.children(jsonform.child(material, "x509CertificateChain"), "certificates", MANY)
        if not chain:
            raise MalformedError("the sigstore bundle's chain of certificates is empty")
        return jsonform.octets(chain[0], "rawBytes")  # whoever issued it is the trust root's affair
    return b""


def _hint(material: Object) -> str:
    return jsonform.text(material["publicKey"], "hint") if isinstance(material.get("publicKey"), dict) else ""


def _stamps(material: Object) -> tuple[bytes, ...]:
    data = material.get("timestampVerificationData")
    if data is None:
        return ()
    if not isinstance(data, dict):
        raise MalformedError("timestampVerificationData is not of the right type")
    stamps = jsonform.children(data, "rfc3161Timestamps", MANY)
    return tuple(jsonform.octets(stamp, "signedTimestamp") for stamp in stamps)


def parse_entry(value: Object) -> Entry:
    """Read a TransparencyLogEntry, as a bundle holds it and a log of version 2 answers."""
    kind = jsonform.child(value, "kindVersion")
    promise = value.get("inclusionPromise")
    return Entry(
        jsonform.number(value, "logIndex") if "logIndex" in value else 0,  # protobuf leaves a zero out
        jsonform.octets(jsonform.child(value, "logId"), "keyId"),
        jsonform.text(kind, "kind"),
        jsonform.text(kind, "version"),
        0 if value.get("integratedTime") is None else jsonform.number(value, "integratedTime"),
        b""
        if promise is None
        else jsonform.octets(jsonform.child(value, "inclusionPromise"), "signedEntryTimestamp"),
        None if value.get("inclusionProof") is None else _proof(jsonform.child(value, "inclusionProof")),
        jsonform.octets(value, "canonicalizedBody"),
    )


def _proof(value: Object) -> Proof:
    hashes = value.get("hashes", [])
    if not isinstance(hashes, list) or len(hashes) > 2 * MANY:
        raise MalformedError("the inclusion proof has no list of hashes, or too long a one")
    path = tuple(jsonform.octets({"hash": one}, "hash") for one in hashes)
    checkpoint = value.get("checkpoint")
    return Proof(
        jsonform.number(value, "logIndex") if "logIndex" in value else 0,
        jsonform.number(value, "treeSize"),
        jsonform.octets(value, "rootHash"),
        path,
        jsonform.text(checkpoint, "envelope") if isinstance(checkpoint, dict) else "",
    )


def write(signed: Signed) -> bytes:
    """Write a bundle as hark stores it: no blanks, names in order, protobuf's mapping."""
    material: Object = {
        "tlogEntries": [_entry(signed.entry)],
        "timestampVerificationData": {
            "rfc3161Timestamps": [{"signedTimestamp": jsonform.base64(one)} for one in signed.stamps]
        },
    }
    if signed.certificate:
        material["certificate"] = {"rawBytes": jsonform.base64(signed.certificate)}
    else:
        material["publicKey"] = {"hint": signed.hint}
    message: Object = {"signature": jsonform.base64(signed.signature)}
    if signed.digest:
        message["messageDigest"] = {"algorithm": "SHA2_256", "digest": jsonform.base64(signed.digest)}
    return jsonform.dump(
        {"mediaType": MEDIA_TYPE, "verificationMaterial": material, "messageSignature": message}
    )


def _entry(entry: Entry) -> Object:
    value: Object = {
        "logIndex": str(entry.number),
        "logId": {"keyId": jsonform.base64(entry.log_id)},
        "kindVersion": {"kind": entry.kind, "version": entry.version},
        "canonicalizedBody": jsonform.base64(entry.body),
    }
    if entry.time:
        value["integratedTime"] = str(entry.time)
    if entry.promise:
        value["inclusionPromise"] = {"signedEntryTimestamp": jsonform.base64(entry.promise)}
    if entry.proof is not None:
        value["inclusionProof"] = {
            "logIndex": str(entry.proof.leaf),
            "treeSize": str(entry.proof.size),
            "rootHash": jsonform.base64(entry.proof.root),
            "hashes": [jsonform.base64(one) for one in entry.proof.path],
            "checkpoint": {"envelope": entry.proof.checkpoint},
        }
    return value
