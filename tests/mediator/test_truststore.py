"""The store for a JVM: each root in it, nothing that would have it refused, read by another and by Java."""

import os
import shutil
import ssl
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs12

from mediator import trust, truststore
from mediator.ca import RunCA

DERS = [RunCA.create(datetime(2026, 3, day, tzinfo=UTC)).certificate for day in (1, 2, 3)]
ROOTS = [x509.load_der_x509_certificate(root) for root in DERS]


def test_each_root_has_a_name_and_no_key() -> None:
    loaded = pkcs12.load_pkcs12(truststore.store(DERS), b"changeit")
    assert loaded.key is None
    assert [one.certificate for one in loaded.additional_certs] == ROOTS
    assert [one.friendly_name for one in loaded.additional_certs] == [b"root0", b"root1", b"root2"]


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\x30",
        DERS[1][:-1],
        DERS[1] + b"\x00",
        DERS[1].replace(b"\x30\x82", b"\x30\x81", 1),
        b"\x31" + DERS[1][1:],
        b"\x30\x03\x02\x01\x00",
        b"\x04" * 400,
    ],
)
def test_what_is_no_certificate_is_left_out(damaged: bytes) -> None:
    assert not truststore.is_whole(damaged)
    loaded = pkcs12.load_pkcs12(truststore.store([DERS[0], damaged, DERS[2]]), b"changeit")
    assert [one.certificate for one in loaded.additional_certs] == [ROOTS[0], ROOTS[2]]


def test_every_root_of_this_machine_is_whole() -> None:
    blocks = trust.certificates(trust.host_roots({}))
    ders = [ssl.PEM_cert_to_DER_cert(block.decode()) for block in blocks]
    assert all(map(truststore.is_whole, ders))


def listed(path: Path) -> str:
    keytool = shutil.which("keytool")
    if keytool is None:
        pytest.skip("no JVM is installed")
    words = [keytool, "-list", "-keystore", str(path), "-storetype", "PKCS12", "-storepass", "changeit"]
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env).stdout


def test_a_jvm_trusts_each(tmp_path: Path) -> None:
    (tmp_path / "store.p12").write_bytes(truststore.store(DERS))
    assert listed(tmp_path / "store.p12").count("trustedCertEntry") == len(DERS)


def test_a_jvm_takes_nothing_of_a_store_with_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(truststore, "is_whole", bool)
    (tmp_path / "store.p12").write_bytes(truststore.store([DERS[0], DERS[1][:-1]]))
    assert "trustedCertEntry" not in listed(tmp_path / "store.p12")
