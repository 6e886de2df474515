"""Anchors of the local log, made without a socket: every signature in them is a real one."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from demo.translog import certificates
from demo.translog.log import key_hash
from demo.translog.notes import b64
from demo.translog.service import Translog
from hark.anchor import answer, body, entry
from hark.anchor.entry import Signed
from hark.anchor.trusted_root import TrustedRoot, parse
from hark.bundle.anchor import Anchor, artifact, certify
from hark.bundle.tree_head import SigningKey, TreeHead

ARTIFACT: Final = b"what is anchored"
NOON: Final = datetime(2026, 5, 4, 12, tzinfo=UTC)
URL: Final = "https://log.example:3000"
WHO: Final = "recorder@translog.example"


class Made(NamedTuple):
    """An anchor, and the key that is to be expected of it."""

    signed: Signed
    key: bytes

    def data(self, **changes: Any) -> bytes:
        """The sigstore bundle, with fields of its own changed."""
        return entry.write(self.signed._replace(**changes))

    def of_entry(self, **changes: Any) -> bytes:
        """The same, with fields of its entry changed."""
        return self.data(entry=self.signed.entry._replace(**changes))

    def of_proof(self, **changes: Any) -> bytes:
        """The same, with fields of the inclusion proof changed."""
        proof = self.signed.entry.proof
        assert proof is not None
        return self.of_entry(proof=proof._replace(**changes))


def local(folder: Path, url: str = URL) -> Translog:
    """Both logs, the authorities and the issuer, at noon; `log.clock` moves them."""
    folder.mkdir(exist_ok=True)
    return Translog(folder, url, clock=lambda: NOON)


def root_of(log: Translog) -> TrustedRoot:
    """What believes them."""
    return parse(log.trusted_root.read_bytes())


def stamp(log: Translog, message: bytes) -> bytes:
    """A time stamp over `message`."""
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

    asked = TimestampRequestBuilder().hash_algorithm(HashAlgorithm.SHA256).data(message).build()
    return log.stamps.answer(asked.as_bytes(), log.clock())


def request_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A request for a certificate, as Fulcio takes it."""
    bare = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return bare.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def certificate(log: Translog, key: ec.EllipticCurvePrivateKey) -> bytes:
    """What the certificate authority issues for WHO."""
    answered = log.certify(log.token(WHO), request_of(key))
    pem = answered["signedCertificateEmbeddedSct"]["chain"]["certificates"][0]
    return x509.load_pem_x509_certificate(pem.encode()).public_bytes(serialization.Encoding.DER)


def make(
    log: Translog, what: bytes = ARTIFACT, *, version: int = 2, identity: bool = False, lie: str = ""
) -> Made:
    """Anchor `what`, by a key or under an identity; `lie` is what the log is to get wrong."""
    key = certificates.new_key()
    der = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    held = certificate(log, key) if identity else b""
    signature = key.sign(what, ec.ECDSA(hashes.SHA256()))
    digest = hashes.Hash(hashes.SHA256())
    digest.update(what)
    claim = body.Claim(digest.finalize(), signature, b"" if identity else der, held)
    return Made(logged(log, claim, version, lie), claim.key)


def logged(log: Translog, claim: body.Claim, version: int = 2, lie: str = "") -> Signed:
    """The entry for a claim that holds, with a stamp where the log says no time."""
    log.lie(f"v{version}", lie)
    if version == 1:
        taken = answer.from_v1(json.dumps(log.add_v1(json.loads(body.request_v1(claim)))).encode())
    else:
        taken = answer.from_v2(json.dumps(log.add_v2(json.loads(body.request_v2(claim)))).encode())
    log.lie(f"v{version}")
    stamps = (stamp(log, claim.signature),) if version == 2 else ()
    hint = b64(key_hash(claim.key)) if claim.key else ""
    return Signed(claim.signature, claim.digest, claim.certificate, hint, taken, stamps)


def anchor_of(log: Translog, head: TreeHead, signer: SigningKey, **how: Any) -> Anchor:
    """What a footer holds: the tree head anchored, and the anchoring key certified."""
    made = make(log, artifact(head), **how)
    return Anchor(made.data(), made.key, certify(signer, head, made.key) if made.key else b"")


def later(log: Translog, **by: float) -> None:
    """Move every clock of the local services."""
    moment = log.clock() + timedelta(**by)
    log.clock = lambda: moment
