"""What the local log makes, judged by sigstore's own client and verifier; and what it forges when told to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sigstore.errors import VerificationError
from sigstore.models import Bundle, ClientTrustConfig, TrustedRoot
from sigstore.oidc import IdentityToken
from sigstore.sign import SigningContext
from sigstore.verify import Verifier
from sigstore.verify.policy import Identity

from demo import translog

WHO = "recorder@translog.example"
DATA = b"the root of a run"
FORGED = ("entry", "root", "proof", "checkpoint")


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[translog.Translog]:
    with translog.serving(tmp_path, version=request.param) as log:
        log.used = f"v{request.param}"
        yield log


def sign(log: translog.Translog, who: str = WHO) -> Bundle:
    config = ClientTrustConfig.from_json(log.trust_config.read_text())
    with SigningContext.from_trust_config(config).signer(IdentityToken(log.token(who))) as signer:
        return Bundle.from_json(signer.sign_artifact(DATA).to_json())


def verify(log: translog.Translog, bundle: Bundle, data: bytes = DATA, who: str = WHO) -> None:
    verifier = Verifier(trusted_root=TrustedRoot.from_file(str(log.trusted_root)))
    verifier.verify_artifact(data, bundle, Identity(identity=who, issuer=f"{log.url}/oidc"))


def test_what_sigstore_signs_with_it_sigstore_verifies(log: translog.Translog) -> None:
    verify(log, sign(log))


def test_a_cosigned_checkpoint_is_still_the_logs(log: translog.Translog) -> None:
    log.witnessed()
    bundle = sign(log)
    assert "witness.translog.example/w1" in bundle.to_json()
    verify(log, bundle)


def test_another_artifact_is_refused(log: translog.Translog) -> None:
    with pytest.raises(VerificationError):
        verify(log, sign(log), data=DATA + b".")


def test_another_identity_is_refused(log: translog.Translog) -> None:
    with pytest.raises(VerificationError):
        verify(log, sign(log, "somebody@translog.example"))


def test_another_log_of_the_same_shape_is_refused(log: translog.Translog, tmp_path: Path) -> None:
    bundle = sign(log)
    (tmp_path / "other").mkdir()
    with translog.serving(tmp_path / "other") as other, pytest.raises(VerificationError):
        verify(other, bundle)


@pytest.mark.parametrize("how", FORGED)
def test_a_lie_is_refused(log: translog.Translog, how: str) -> None:
    log.lie(log.used, how)
    with pytest.raises(VerificationError):
        verify(log, sign(log))


def test_a_promise_by_a_stranger_is_refused(tmp_path: Path) -> None:
    with translog.serving(tmp_path, version=1) as log:
        log.lie("v1", "promise")
        with pytest.raises(VerificationError):
            verify(log, sign(log))
