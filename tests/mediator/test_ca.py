"""The run's authority: in memory, back-dated, trusted by real TLS for exactly the judged name."""

import pickle
import ssl
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from mediator.ca import RunCA

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = ("a.test", "xn--bcher-kva.test", "a" * 63 + ".example.test")


def read(certificate: bytes) -> x509.Certificate:
    return x509.load_der_x509_certificate(certificate)


def handshake(ca: RunCA, leaf_host: str, asked: str, tmp: str) -> None:
    key = ca.leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with open(tmp, "wb") as file:
        file.write(key + ssl.DER_cert_to_PEM_cert(ca.leaf(leaf_host)).encode())
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(tmp)
    client_side = ssl.create_default_context(cadata=ca.pem().decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_side.wrap_bio(to_client, to_server, server_hostname=asked)
    server = server_side.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue


def test_a_strict_client_trusts_the_leaf_for_its_name(tmp_path: object) -> None:
    ca = RunCA.create(datetime.now(UTC))
    handshake(ca, "api.example.test", "api.example.test", f"{tmp_path}/pem")
    handshake(ca, "192.0.2.1", "192.0.2.1", f"{tmp_path}/pem")
    handshake(ca, "a" * 63 + ".example.test", "a" * 63 + ".example.test", f"{tmp_path}/pem")


def test_a_client_does_not_trust_it_for_another_name(tmp_path: object) -> None:
    ca = RunCA.create(datetime.now(UTC))
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(ca, "api.example.test", "evil.test", f"{tmp_path}/pem")


def test_certificates_are_valid_for_a_client_whose_clock_is_behind() -> None:
    ca = RunCA.create(NOW)
    for certificate in map(read, (ca.certificate, ca.leaf("api.example.test"))):
        assert certificate.not_valid_before_utc <= NOW - timedelta(days=29)
        assert certificate.not_valid_after_utc > NOW + timedelta(days=300)
        assert certificate.not_valid_after_utc - certificate.not_valid_before_utc < timedelta(days=398)


@pytest.mark.parametrize("year", [1970, 2026, 2049, 2051])
def test_the_authoritys_certificate_is_what_another_writer_makes_of_its_values(year: int) -> None:
    ca = RunCA.create(datetime(year, 12, 3, 4, 5, 6, 789, tzinfo=UTC))
    found = read(ssl.PEM_cert_to_DER_cert(ca.pem().decode()))
    builder = (
        _begun(found)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(*_SIGNS_CERTIFICATES), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(found.public_key()), critical=False)
    )
    _same(found, builder)
    assert found.subject.rfc4514_string() == "CN=hark run CA,O=hark"
    assert ca.pem() == found.public_bytes(Encoding.PEM)
    found.verify_directly_issued_by(found)


@pytest.mark.parametrize("year", [1970, 2026, 2049, 2051])
@pytest.mark.parametrize("host", [*NAMES, "192.0.2.1", "2001:db8::7"])
def test_a_leaf_is_what_another_writer_makes_of_its_values(year: int, host: str) -> None:
    ca = RunCA.create(datetime(year, 12, 3, 4, 5, 6, 789, tzinfo=UTC))
    found, above = read(ca.leaf(host)), read(ca.certificate)
    key_id = above.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    named = x509.IPAddress(ip_address(host)) if host[-1].isdigit() else x509.DNSName(host)
    builder = (
        _begun(found)
        .add_extension(x509.SubjectAlternativeName([named]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(True, *[False] * 8), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(found.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key_id), critical=False)
    )
    _same(found, builder)
    shown = host if len(host) <= 64 else "hark"
    assert found.subject.rfc4514_string() == f"CN={shown},O=hark"
    assert found.public_key() == ca.leaf_key.public_key()
    found.verify_directly_issued_by(above)


_SIGNS_CERTIFICATES = (*[False] * 5, True, True, False, False)


def _begun(found: x509.Certificate) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .serial_number(found.serial_number)
        .subject_name(found.subject)
        .issuer_name(found.issuer)
        .not_valid_before(found.not_valid_before_utc)
        .not_valid_after(found.not_valid_after_utc)
        .public_key(found.public_key())
    )


def _same(found: x509.Certificate, builder: x509.CertificateBuilder) -> None:
    made = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    assert found.tbs_certificate_bytes == made.tbs_certificate_bytes
    assert found.signature_algorithm_oid == made.signature_algorithm_oid


def test_certificates_are_made_without_what_takes_long_to_load() -> None:
    code = """
import sys
from datetime import UTC, datetime
from mediator.ca import RunCA
ca = RunCA.create(datetime.now(UTC))
ca.pem()
ca.leaf("a.test")
print(*sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    for name in ("cryptography.x509", "cryptography.hazmat.primitives.ciphers"):
        assert name not in said.split()


def test_a_leaf_is_made_once_a_host() -> None:
    ca = RunCA.create(NOW)
    assert ca.leaf("a.test") is ca.leaf("a.test")
    assert read(ca.leaf("a.test")).serial_number != read(ca.leaf("b.test")).serial_number


def test_two_runs_share_nothing() -> None:
    one, two = RunCA.create(NOW), RunCA.create(NOW)
    assert one.pem() != two.pem()
    assert read(one.certificate).public_key() != read(two.certificate).public_key()


def test_the_bundle_keeps_the_hosts_roots_and_adds_the_runs() -> None:
    ca, host = RunCA.create(NOW), RunCA.create(NOW)
    found = x509.load_pem_x509_certificates(ca.trust_bundle(host.pem()))
    assert found == [read(ca.certificate), read(host.certificate)]


def test_an_authority_gives_its_key_to_nobody() -> None:
    ca = RunCA.create(NOW)
    assert "key" not in repr(ca).lower()
    with pytest.raises(TypeError):
        pickle.dumps(ca)


def test_an_authority_cannot_be_made_to_sign_another() -> None:
    constraints = read(RunCA.create(NOW).certificate).extensions.get_extension_for_class(
        x509.BasicConstraints
    )
    assert constraints.critical
    assert constraints.value.path_length == 0


@pytest.mark.parametrize("years", [3, -3])
def test_a_replays_certificates_are_valid_at_the_recorded_time_and_at_the_real_one(years: int) -> None:
    real = NOW + timedelta(days=365 * years)
    ca = RunCA.create(NOW, real)
    for certificate in map(read, (ca.certificate, ca.leaf("api.example.test"))):
        for when in (NOW, real):
            assert certificate.not_valid_before_utc <= when - timedelta(days=29)
            assert certificate.not_valid_after_utc >= when + timedelta(days=29)
    plain = read(RunCA.create(NOW).certificate)
    assert plain.not_valid_after_utc < real or plain.not_valid_before_utc > real
