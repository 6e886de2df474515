"""Writes tests/vectors/transparency: bundles of logged signatures, in folders whose names say the verdict.

    python -m tests.translog.vectors

A folder that ends in `_fail` holds what a verifier must refuse, and its README why; every other must be
taken. Beside the bundle stand the trusted root of the log that made it and, where a key is to be brought
along, the key. All are over `a.txt`. The cases are those that sigstore's clients are held against; these were
made by the log in demo/translog, with keys that were forgotten at once.
"""

import base64
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from sigstore.models import ClientTrustConfig
from sigstore.oidc import IdentityToken
from sigstore.sign import SigningContext

from demo import translog
from demo.translog import certificates, lies, log, notes, requests
from demo.translog.timestamps import Authority

FOLDER: Final = Path(__file__).parent.parent / "vectors" / "transparency"
DATA: Final = b"a run of an agent, as far as these vectors go\n"
WHO: Final = "recorder@translog.example"
V01: Final = "application/vnd.dev.sigstore.bundle+json;version=0.1"
V03: Final = "application/vnd.dev.sigstore.bundle.v0.3+json"

Bundle = dict[str, Any]


def signed(one: translog.Translog, version: int) -> Bundle:
    """A bundle by sigstore's own client, with a certificate."""
    config = ClientTrustConfig.from_json(one.trust_config.read_text())
    config.force_tlog_version = version
    config._inner.signing_config.rekor_tlog_urls[0].major_api_version = version
    with SigningContext.from_trust_config(config).signer(IdentityToken(one.token(WHO))) as signer:
        return json.loads(signer.sign_artifact(DATA).to_json())


def managed(one: translog.Translog, key: ec.EllipticCurvePrivateKey) -> Bundle:
    """A bundle by a key that its holder keeps; the log's first shape gives it its time."""
    digest, signature, public = requests.signed(DATA, key)
    ((_, answer),) = one.add_v1(requests.v1(digest, signature, public)).items()
    hint = notes.b64(log.key_hash(public))
    message = {"messageDigest": {"algorithm": "SHA2_256", "digest": notes.b64(digest)}}
    return {
        "mediaType": V03,
        "verificationMaterial": {"publicKey": {"hint": hint}, "tlogEntries": [log.tlog_entry(answer)]},
        "messageSignature": message | {"signature": notes.b64(signature)},
    }


def pem(key: ec.EllipticCurvePrivateKey) -> str:
    """The public half, as key.pub holds it."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def entry(bundle: Bundle) -> dict[str, Any]:
    """Its one log entry."""
    return bundle["verificationMaterial"]["tlogEntries"][0]


def old(bundle: Bundle) -> None:
    """Write it as the format's first version has it."""
    material = bundle["verificationMaterial"]
    material["x509CertificateChain"] = {"certificates": [material.pop("certificate")]}
    bundle["mediaType"] = V01


def corrupt(bundle: Bundle) -> None:
    """Turn a bit of the proof."""
    hashes = entry(bundle)["inclusionProof"]["hashes"]
    hashes[0] = notes.b64(lies.flipped(base64.b64decode(hashes[0])))


def elsewhere(one: log.Log) -> Callable[[Bundle], None]:
    """Put another checkpoint of the same log under it: of an earlier tree."""

    def change(bundle: Bundle) -> None:
        earlier = log.Log(one.signer, one.origin)
        earlier.bodies = one.bodies[:2]
        entry(bundle)["inclusionProof"]["checkpoint"]["envelope"] = earlier.checkpoint()

    return change


def sizeless(bundle: Bundle) -> None:
    """Take the size out of the checkpoint."""
    checkpoint = entry(bundle)["inclusionProof"]["checkpoint"]
    origin, _, rest = checkpoint["envelope"].split("\n", 2)
    checkpoint["envelope"] = f"{origin}\n{rest}"


def unpromised(bundle: Bundle) -> None:
    """Damage the signed entry timestamp, whose DER stays whole."""
    promise = entry(bundle)["inclusionPromise"]
    signature = base64.b64decode(promise["signedEntryTimestamp"])
    promise["signedEntryTimestamp"] = notes.b64(signature[:-1] + bytes([signature[-1] ^ 1]))


def unproved(bundle: Bundle) -> None:
    """Take the proof out."""
    del entry(bundle)["inclusionProof"]


def misstamped(stamps: Authority, one: translog.Translog) -> Callable[[Bundle], None]:
    """Put a good timestamp over something else in it."""
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

    def change(bundle: Bundle) -> None:
        asked = TimestampRequestBuilder().hash_algorithm(HashAlgorithm.SHA256)
        request = asked.data(b"another signature").nonce(nonce=True).build()
        stamp = notes.b64(stamps.answer(request.as_bytes(), one.clock()))
        material = bundle["verificationMaterial"]
        material["timestampVerificationData"] = {"rfc3161Timestamps": [{"signedTimestamp": stamp}]}

    return change


def save(name: str, why: str, bundle: Bundle, one: translog.Translog, key: str = "") -> None:
    """Write one case."""
    folder = FOLDER / name
    folder.mkdir()
    (folder / "README").write_text(f"{why}\n")
    (folder / "bundle.sigstore.json").write_text(json.dumps(bundle, indent=1) + "\n")
    shutil.copy(one.trusted_root, folder / "trusted_root.json")
    if key:
        (folder / "key.pub").write_text(key)


def make(one: translog.Translog) -> None:
    """Write every case."""
    cases: dict[str, tuple[int, str, list[Callable[[Bundle], None]]]] = {
        "happy-path-v0.1": (1, "The first version of the bundle format, from a Rekor v1.", [old]),
        "happy-path-v0.3": (1, "From a Rekor v1.", []),
        "checkpoint-wrong-roothash_fail": (
            1,
            "The checkpoint is well signed and of another tree: its root is not the proof's.",
            [elsewhere(one.v1)],
        ),
        "inclusion-proof-corrupted-hash_fail": (1, "One bit of one hash of the proof is turned.", [corrupt]),
        "set-invalid-signature_fail": (1, "The signed entry timestamp is not good.", [unpromised]),
        "rekor2-happy-path": (2, "From a Rekor v2: the time is a timestamp authority's.", []),
        "rekor2-checkpoint-missing-size_fail": (2, "The checkpoint has no line for its size.", [sizeless]),
        "rekor2-no-inclusion-proof_fail": (2, "There is no proof, and none may be fetched.", [unproved]),
        "rekor2-timestamp-payload-mismatch_fail": (
            2,
            "The timestamp is good, and over another signature.",
            [misstamped(one.stamps, one)],
        ),
    }
    for name, (version, why, changes) in cases.items():
        bundle = signed(one, version)
        for change in changes:
            change(bundle)
        save(name, why, bundle, one)
    one.witnessed()
    why = "A witness that no verifier knows has cosigned the checkpoint: its line is passed over."
    save("rekor2-checkpoint-cosigned", why, signed(one, 2), one)
    own, other = certificates.new_key(), certificates.new_key()
    bundle = managed(one, own)
    save("managed-key-happy-path", "Signed by the key in key.pub, from a Rekor v1.", bundle, one, pem(own))
    save("managed-key-wrong-key_fail", "Signed by another key than key.pub.", bundle, one, pem(other))
    save("managed-key-no-key_fail", "Signed by a key, and no key is given to verify by.", bundle, one)


def main() -> None:
    """Write the folder anew."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    (FOLDER / "a.txt").write_bytes(DATA)
    with tempfile.TemporaryDirectory() as name, translog.serving(Path(name)) as one:
        make(one)


if __name__ == "__main__":
    main()
