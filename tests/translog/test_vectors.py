"""The stored vectors, judged by sigstore's own verifier; kept keys by what it has for their parts."""

import base64
import json
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from sigstore._internal.trust import KeyringPurpose
from sigstore.errors import Error
from sigstore.models import Bundle, TransparencyLogEntry, TrustedRoot
from sigstore.verify import Verifier
from sigstore.verify.policy import Identity
from sigstore_models.rekor.v1 import TransparencyLogEntry as Entry

from tests.translog.vectors import DATA, FOLDER, WHO

CASES = sorted(path for path in FOLDER.iterdir() if path.is_dir())
CERTIFIED = [case for case in CASES if not case.name.startswith("managed")]
SHARED = {
    "checkpoint-wrong-roothash_fail",
    "happy-path-v0.1",
    "happy-path-v0.3",
    "inclusion-proof-corrupted-hash_fail",
    "managed-key-happy-path",
    "managed-key-no-key_fail",
    "managed-key-wrong-key_fail",
    "rekor2-checkpoint-cosigned",
    "rekor2-checkpoint-missing-size_fail",
    "rekor2-happy-path",
    "rekor2-no-inclusion-proof_fail",
    "rekor2-timestamp-payload-mismatch_fail",
    "set-invalid-signature_fail",
}


def root(case: Path) -> TrustedRoot:
    return TrustedRoot.from_file(str(case / "trusted_root.json"))


def test_there_is_a_case_for_each_that_clients_are_held_against() -> None:
    assert {case.name for case in CASES} == SHARED
    assert (FOLDER / "a.txt").read_bytes() == DATA


@pytest.mark.parametrize("case", CERTIFIED, ids=lambda case: case.name)
def test_sigstore_says_what_the_name_says(case: Path) -> None:
    def verify() -> None:
        bundle = Bundle.from_json((case / "bundle.sigstore.json").read_bytes())
        Verifier(trusted_root=root(case)).verify_artifact(DATA, bundle, Identity(identity=WHO))

    if case.name.endswith("_fail"):
        with pytest.raises(Error):
            verify()
    else:
        verify()


@pytest.mark.parametrize("name", ["managed-key-happy-path", "managed-key-wrong-key_fail"])
def test_a_kept_keys_signature_is_logged_and_is_its_own_or_not(name: str) -> None:
    case = FOLDER / name
    raw = json.loads((case / "bundle.sigstore.json").read_bytes())
    entry = TransparencyLogEntry(Entry.from_dict(raw["verificationMaterial"]["tlogEntries"][0]))
    entry._verify(root(case).rekor_keyring(KeyringPurpose.VERIFY))
    key = serialization.load_pem_public_key((case / "key.pub").read_bytes())
    assert isinstance(key, ec.EllipticCurvePublicKey)
    signature = base64.b64decode(raw["messageSignature"]["signature"])
    if name.endswith("_fail"):
        with pytest.raises(InvalidSignature):
            key.verify(signature, DATA, ec.ECDSA(hashes.SHA256()))
    else:
        key.verify(signature, DATA, ec.ECDSA(hashes.SHA256()))
