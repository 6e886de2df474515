"""Trust: the caller's roots stay trusted, and every program is told of the merged bundle in its own way."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hark.errors import PolicyError
from mediator import trust
from mediator.ca import RunCA

CA = RunCA.create(datetime(2026, 3, 1, tzinfo=UTC))


def test_the_callers_own_roots_win_over_the_systems(tmp_path: Path) -> None:
    mine = tmp_path / "company.pem"
    mine.write_bytes(CA.pem())
    assert trust.host_roots({"SSL_CERT_FILE": str(mine)}) == CA.pem()


@pytest.mark.parametrize("content", [None, b"", b"not a certificate"])
def test_roots_of_the_callers_that_are_no_use_are_refused_and_not_replaced(
    content: bytes | None, tmp_path: Path
) -> None:
    mine = tmp_path / "company.pem"
    if content is not None:
        mine.write_bytes(content)
    with pytest.raises(PolicyError, match="SSL_CERT_FILE"):
        trust.host_roots({"SSL_CERT_FILE": str(mine)})


def test_without_the_callers_the_first_system_bundle_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tmp_path / "system.pem"
    system.write_bytes(CA.pem())
    monkeypatch.setattr(trust, "SYSTEM_BUNDLES", (str(tmp_path / "absent"), str(system)))
    assert trust.host_roots({}) == CA.pem()
    monkeypatch.setattr(trust, "SYSTEM_BUNDLES", ())
    assert trust.host_roots({}) == b""


def test_the_bundle_is_shown_at_every_real_path_once(tmp_path: Path) -> None:
    real = tmp_path / "ca-certificates.crt"
    real.write_bytes(CA.pem())
    link = tmp_path / "cert.pem"
    link.symlink_to(real)
    mine = tmp_path / "company.pem"
    mine.write_bytes(CA.pem())
    paths = trust.bundle_paths({"SSL_CERT_FILE": str(mine)}, [str(link), str(real), str(tmp_path / "absent")])
    assert paths == (str(real), str(mine))


def test_every_program_is_told_in_its_own_variable() -> None:
    found = trust.variables("/etc/ssl/certs/ca-certificates.crt", "/run/hark/java.p12")
    assert set(found) == {
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "GIT_SSL_CAINFO",
        "CARGO_HTTP_CAINFO",
        "DENO_CERT",
        "PIP_CERT",
        "AWS_CA_BUNDLE",
        "JAVA_TOOL_OPTIONS",
    }
    assert "-Djavax.net.ssl.trustStore=/run/hark/java.p12" in found["JAVA_TOOL_OPTIONS"]
    assert "JAVA_TOOL_OPTIONS" not in trust.variables("/x", java_options=("-Dx=y",))


def test_a_jvm_is_told_what_it_is_told_besides() -> None:
    told = trust.variables("/x", "/run/hark/java.p12", ("-Dx=y",))["JAVA_TOOL_OPTIONS"]
    assert told.split()[-1] == "-Dx=y"


def test_the_java_store_holds_every_root() -> None:
    from cryptography.hazmat.primitives.serialization import pkcs12

    store = trust.java_store(CA.trust_bundle(RunCA.create(datetime(2026, 3, 1, tzinfo=UTC)).pem()))
    loaded = pkcs12.load_pkcs12(store, trust.JAVA_STORE_PASSWORD.encode())
    assert loaded.key is None
    assert len(loaded.additional_certs) == 2


def test_importing_it_loads_neither_mitmproxy_nor_cryptography() -> None:
    code = (
        "import sys, mediator.trust, mediator.ca\n"
        "bad = [m for m in ('mitmproxy', 'asyncio', 'cryptography.x509', 'OpenSSL') if m in sys.modules]\n"
        "sys.exit(','.join(bad) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
