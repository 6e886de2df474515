"""The services behind one address, and the lies that they tell when a test asks for it.

What always holds: keys are made anew at each start and kept in memory; what verifiers need of them stands in
the folder's `trusted_root.json`, which outlives the service. An answer is honest unless `lie` named the
service it comes from.
"""

import json
import os
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from demo.translog import certificates, entries, lies, log, notes, requests, timestamps, trust

SERVICES: Final = ("v1", "v2", "tsa", "ca")
WITNESS: Final = "witness.translog.example/w1"


class Translog:
    """Two logs, a certificate authority, a timestamp authority and an issuer of tokens."""

    def __init__(
        self, folder: Path, url: str, version: int = 2, clock: Callable[[], datetime] = certificates.now_utc
    ) -> None:
        self.url = url
        self.clock = clock
        self.lies: dict[str, str] = {}
        self.silent = threading.Event()
        """Set once a client waits for an answer that does not come."""
        self.tsa_url = f"{url}/api/v1/timestamp"
        self.fulcio_url = url
        self.trusted_root = folder / "trusted_root.json"
        self.signing_config = folder / "signing_config.json"
        self.trust_config = folder / "trust_config.json"
        self._make(urlsplit(url).netloc)
        self._write(version)

    def _make(self, name: str) -> None:
        now = self.clock()
        self.issuer = certificates.Issuer(f"{self.url}/oidc")
        self.authority = certificates.Authority(self.issuer, now)
        root_key, stamp_key = certificates.new_key(), certificates.new_key()
        root = certificates.root_certificate("translog timestamp root", root_key, now)
        stamper = certificates.below(root, root_key, "translog timestamps", stamp_key, now, stamps=True)
        self.stamps = timestamps.Authority(stamp_key, [stamper, root])
        self.v1 = log.Log(
            notes.ecdsa_signer(name, certificates.new_key()), f"{name} - {int(log.TREE_ID, 16)}"
        )
        self.v2 = log.Log(notes.ed25519_signer(name, Ed25519PrivateKey.generate()), name)
        self.witness_key = Ed25519PrivateKey.generate()
        self._fill(int(now.timestamp()))

    def _fill(self, seconds: int) -> None:
        """A few entries of nobody's, so that a proof has something in it."""
        for number in range(3):
            digest, signature, public = requests.signed(b"somebody else's %d" % number)
            self.v1.add(entries.body_v1(requests.v1(digest, signature, public)), seconds)
            self.v2.add(entries.body_v2(requests.v2(digest, signature, public)), seconds)

    def _write(self, version: int) -> None:
        start = self.clock() - timedelta(hours=1)
        ct = notes.spki(self.authority.ct_key)
        ecdsa = entries.DETAILS
        tlogs = [
            trust.log_instance(self.url, self.v1.signer.spki, ecdsa, self.v1.signer.key_id, start),
            trust.log_instance(self.url, self.v2.signer.spki, "PKIX_ED25519", self.v2.signer.key_id, start),
        ]
        root = trust.trusted_root(
            tlogs,
            [trust.authority(self.url, self.authority.chain, start)],
            [trust.log_instance(f"{self.url}/ct", ct, ecdsa, log.key_hash(ct), start)],
            [trust.authority(self.tsa_url, self.stamps.chain, start)],
        )
        config = trust.signing_config(self.url, version, start)
        _save(self.trusted_root, root)
        _save(self.signing_config, config)
        _save(self.trust_config, {"mediaType": trust.BOTH, "trustedRoot": root, "signingConfig": config})

    def token(self, identity: str = "recorder@translog.example", lifetime: float = 300) -> str:
        """An identity token, good for `lifetime` seconds."""
        return self.issuer.token(identity, self.clock(), timedelta(seconds=lifetime))

    def lie(self, service: str, how: str = "") -> None:
        """Have one of `SERVICES` answer as one of `lies.HOW` says; without `how`, honestly again."""
        if service not in SERVICES or how not in {"", *lies.HOW}:
            raise ValueError(f"no such service or lie: {service} {how}")
        self.lies[service] = how

    @property
    def witness_vkey(self) -> str:
        """The verifier key of the witness that `witnessed` puts under checkpoints."""
        return notes.verifier_key(WITNESS, notes.COSIGNATURE, notes.raw(self.witness_key))

    def witnessed(self) -> None:
        """Have both logs' checkpoints cosigned from now on."""
        for one in (self.v1, self.v2):
            one.cosigners = [self._cosign]

    def _cosign(self, checkpoint: str) -> str:
        text = checkpoint.partition("\n\n")[0] + "\n"
        return notes.cosign(WITNESS, self.witness_key, text, int(self.clock().timestamp()))

    def add_v1(self, proposed: dict[str, Any]) -> dict[str, Any]:
        """Take an entry in, in the first shape: the answer, under its name."""
        index = self.v1.add(entries.body_v1(proposed), int(self.clock().timestamp()))
        index, proven = lies.told(self.v1, index, self.lies.get("v1", ""))
        return {self.v1.uuid(index): self.v1.entry_v1(index, proven)}

    def add_v2(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take an entry in, in the second shape: the answer."""
        index = self.v2.add(entries.body_v2(request), int(self.clock().timestamp()))
        index, proven = lies.told(self.v2, index, self.lies.get("v2", ""))
        return self.v2.entry_v2(index, proven)

    def certify(self, token: str, pem: bytes) -> dict[str, Any]:
        """Fulcio's answer to a signing request."""
        request = x509.load_pem_x509_csr(pem)
        chain = self.authority.issue(token, request, self.clock())
        issued = [one.public_bytes(serialization.Encoding.PEM).decode() for one in chain]
        return {"signedCertificateEmbeddedSct": {"chain": {"certificates": issued}}}


def _save(path: Path, value: object) -> None:
    """Whole or not at all."""
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(value, indent=2) + "\n")
    os.replace(draft, path)
