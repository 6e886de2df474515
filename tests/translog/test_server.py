"""The local services by their HTTP: what they show, what they refuse, and the lies that are no answers."""

import base64
import hashlib
import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from rfc3161_client import HashAlgorithm, TimestampRequestBuilder, VerifierBuilder, decode_timestamp_response
from rfc3161_client.errors import VerificationError

from demo import translog
from demo.translog import certificates, lies, merkle, requests
from demo.translog.log import EARLIER


@pytest.fixture
def log(tmp_path):
    with translog.serving(tmp_path) as log:
        yield log


def fetch(url, body=None, kind="application/json", headers=None, timeout=60):
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(url, data, {"content-type": kind, **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_rekor_v1_shows_what_it_took_by_index_and_name(log):
    status, body = fetch(f"{log.url}/api/v1/log/entries", requests.v1(*requests.signed(b"x")))
    ((name, entry),) = json.loads(body).items()
    assert (status, entry["logIndex"]) == (201, EARLIER + 3)
    assert entry["verification"]["inclusionProof"]["logIndex"] == 3
    for path in (f"entries?logIndex={EARLIER + 3}", f"entries/{name}"):
        again = json.loads(fetch(f"{log.url}/api/v1/log/{path}")[1])
        assert again[name]["body"] == entry["body"]
    assert fetch(f"{log.url}/api/v1/log/entries?logIndex={EARLIER + 4}")[0] == 404
    assert fetch(f"{log.url}/api/v1/log/entries/{name[:-1]}x")[0] == 404


def test_rekor_v1_shows_its_tree_and_that_it_goes_on(log):
    before = json.loads(fetch(f"{log.url}/api/v1/log")[1])
    log.add_v1(requests.v1(*requests.signed(b"x")))
    after = json.loads(fetch(f"{log.url}/api/v1/log")[1])
    proof = json.loads(fetch(f"{log.url}/api/v1/log/proof?firstSize=3&lastSize=4")[1])
    roots = [bytes.fromhex(one["rootHash"]) for one in (before, after)]
    assert merkle.consistent(3, 4, *roots, [bytes.fromhex(node) for node in proof["hashes"]])
    assert after["signedTreeHead"].startswith(f"{log.v1.origin}\n4\n")


def test_rekor_v2_shows_checkpoint_tiles_and_entries_that_fit_one_another(log):
    for number in range(300):
        log.v2.add(b"entry %d" % number, 0)
    size, root = fetch(f"{log.url}/api/v2/checkpoint")[1].decode().split("\n")[1:3]
    assert size == "303"
    first = fetch(f"{log.url}/api/v2/tile/0/000")[1]
    rest = fetch(f"{log.url}/api/v2/tile/0/001.p/47")[1]
    hashes_ = [(first + rest)[at : at + 32] for at in range(0, 32 * 303, 32)]
    assert base64.b64encode(merkle.root(hashes_)).decode() == root
    assert fetch(f"{log.url}/api/v2/tile/1/000.p/1")[1] == merkle.root(hashes_[:256])
    bundle, bodies = fetch(f"{log.url}/api/v2/tile/entries/001.p/47")[1], []
    while bundle:
        size = int.from_bytes(bundle[:2])
        bodies.append(bundle[2 : 2 + size])
        bundle = bundle[2 + size :]
    assert [merkle.leaf_hash(body) for body in bodies] == hashes_[256:]
    for path in ("tile/0/001", "tile/0/001.p/48", "tile/entries/002.p/1", "tile/x", "nothing"):
        assert fetch(f"{log.url}/api/v2/{path}")[0] == 404


def changed(version, **how):
    digest, signature, public = requests.signed(b"x")
    digest, signature = how.get("digest", digest), how.get("signature", signature)
    return getattr(requests, version)(digest, signature, how.get("public", public))


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_what_is_not_signed_by_the_key_in_it_is_not_taken(log, version):
    url = f"{log.url}/api/{version}/log/entries"
    _, other, public = requests.signed(b"y")
    assert fetch(url, changed(version))[0] == 201
    for how in (
        {"digest": hashlib.sha256(b"z").digest()},
        {"digest": b"short"},
        {"signature": other},
        {"signature": b""},
        {"public": public},
        {"public": public[:-1]},
    ):
        assert fetch(url, changed(version, **how))[0] == 400
    for body in (b"", b"[]", b"{}", b'{"kind": "rekord"}', b'{"hashedRekordRequestV002": 7}'):
        assert fetch(url, body)[0] == 400


def stamp_request(data=b"signature", algorithm=HashAlgorithm.SHA256):
    return TimestampRequestBuilder().hash_algorithm(algorithm).data(data).nonce(nonce=True).build()


def test_a_timestamp_is_over_the_hash_and_holds_the_nonce(log):
    request = stamp_request()
    status, body = fetch(log.tsa_url, request.as_bytes(), "application/timestamp-query")
    stamp = decode_timestamp_response(body)
    assert (status, stamp.tst_info.nonce) == (201, request.nonce)
    chain = log.stamps.chain
    verifier = VerifierBuilder().tsa_certificate(chain[0]).add_root_certificate(chain[1]).build()
    verifier.verify_message(stamp, b"signature")
    with pytest.raises(VerificationError):
        verifier.verify_message(stamp, b"another")
    assert fetch(log.tsa_url, stamp_request(algorithm=HashAlgorithm.SHA512).as_bytes())[0] == 400
    for garbage in (b"", b"\x30", b"\x30\x82", request.as_bytes()[:-3], b"\x30\x00"):
        assert fetch(log.tsa_url, garbage)[0] == 400


def csr(key=None):
    return x509.CertificateSigningRequestBuilder(x509.Name([])).sign(
        key or certificates.new_key(), hashes.SHA256()
    )


def ask_certificate(log, token, request):
    pem = request if isinstance(request, bytes) else request.public_bytes(serialization.Encoding.PEM)
    body = {"certificateSigningRequest": base64.b64encode(pem).decode()}
    return fetch(f"{log.url}/api/v2/signingCert", body, headers={"authorization": f"Bearer {token}"})


def test_a_certificate_is_for_the_name_in_a_good_token_alone(log):
    status, body = ask_certificate(log, log.token("me@translog.example"), csr())
    chain = json.loads(body)["signedCertificateEmbeddedSct"]["chain"]["certificates"]
    leaf = x509.load_pem_x509_certificate(chain[0].encode())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert (status, names.get_values_for_type(x509.RFC822Name)) == (201, ["me@translog.example"])
    assert leaf.not_valid_after_utc - leaf.not_valid_before_utc == timedelta(minutes=10)
    strange = certificates.Issuer(log.issuer.url).token("me@translog.example", log.clock())
    late = log.token("me@translog.example", -1)
    for token in (strange, late, "", "a.b.c", log.token("me@translog.example")[:-2]):
        assert ask_certificate(log, token, csr())[0] == 400


def test_a_request_that_its_own_key_did_not_sign_earns_nothing(log):
    der = bytearray(csr().public_bytes(serialization.Encoding.DER))
    der[-1] ^= 1
    pem = b"-----BEGIN CERTIFICATE REQUEST-----\n%s\n-----END CERTIFICATE REQUEST-----\n"
    assert ask_certificate(log, log.token(), pem % base64.b64encode(der))[0] == 400


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is the second opinion here")
def test_openssl_believes_the_timestamp_and_no_other(log, tmp_path):
    query, reply, root = (tmp_path / name for name in ("q", "r", "root.pem"))
    (tmp_path / "data").write_bytes(b"signature")
    root.write_bytes(log.stamps.chain[1].public_bytes(serialization.Encoding.PEM))
    ask = ["openssl", "ts", "-query", "-sha256", "-cert", "-data", tmp_path / "data", "-out", query]
    subprocess.run(ask, check=True, capture_output=True)
    reply.write_bytes(fetch(log.tsa_url, query.read_bytes())[1])
    check = ["openssl", "ts", "-verify", "-queryfile", query, "-in", reply, "-CAfile", root]
    assert b"Verification: OK" in subprocess.run(check, check=True, capture_output=True).stdout
    other = bytearray(reply.read_bytes())
    other[-1] ^= 1
    reply.write_bytes(other)
    assert subprocess.run(check, check=False, capture_output=True).returncode != 0


@pytest.mark.parametrize("service", ["v1", "v2", "tsa", "ca"])
def test_lies_that_are_no_answers_and_their_end(log, service):
    url = {"tsa": log.tsa_url, "ca": f"{log.url}/api/v2/signingCert"}.get(
        service, f"{log.url}/api/{service}/log/entries"
    )
    log.lie(service, "500")
    assert fetch(url, b"{}")[0] == 500
    log.lie(service, "garbage")
    assert fetch(url, b"{}") == (201, b"\x00\xff no answer")
    log.lie(service, "hang")
    with pytest.raises(TimeoutError):
        fetch(url, b"{}", timeout=0.3)
    log.lie(service, "endless")
    host, port = url.removeprefix("http://").partition("/")[0].split(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(f"POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
        assert sum(len(client.recv(1 << 16)) for _ in range(40)) > 1 << 16
    log.lie(service)
    assert fetch(url, b"{}")[0] == 400


def test_only_named_services_tell_named_lies(log):
    for service, how in (("v3", "500"), ("v1", "perhaps")):
        with pytest.raises(ValueError, match="no such service or lie"):
            log.lie(service, how)
    assert set(lies.UNANSWERED) & set(lies.ABOUT) == set()
