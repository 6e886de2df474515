"""What is signed again is what botocore signs with the real key; other signatures are refused by name."""

import datetime
import hashlib
import random
from urllib.parse import quote, urlsplit

import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hark.bundle.events import LlmResponseEnd, SecretInjected
from hark.policy.model import HostRule, Secret
from mediator.authority import Destination
from mediator.credentials import Broker, InjectedTarget, Refused
from mediator.signing import Claim, Signing, Unsigned, ambiguous, claimed, signed_again
from mediator.transcript import Headers
from tests.mediator.rig import API, pair

STAND_IN = ("AKIAharkAbCdEfGhIjKlMnOpQrStUvWx", "harkAbCdEfGhIjKlMnOpQrStUvWxAbCdEfGhIjKl")
REAL = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzEXAMPLEKEY")
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001  # as botocore has it
SIGNERS = {
    "headers": auth.SigV4Auth,
    "s3": auth.S3SigV4Auth,
    "query": auth.SigV4QueryAuth,
    "s3-query": auth.S3SigV4QueryAuth,
}


@pytest.fixture(autouse=True)
def _at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "get_current_datetime", lambda *_, **__: NOW)


def signed(
    kind: str,
    keys: tuple[str, str],
    method: str,
    url: str,
    headers: dict[str, str],
    body: bytes,
    token: str | None,
) -> tuple[bytes, Headers]:
    request = AWSRequest(method=method, url=url, headers=dict(headers), data=body or None)
    if "X-Amz-Trailer" in headers:
        request.context["checksum"] = {"request_algorithm": {"in": "trailer"}}
    service = "s3" if "s3" in kind else "execute-api"
    SIGNERS[kind](Credentials(*keys, token), service, "eu-west-1").add_auth(request)
    ready = request.prepare()
    place = urlsplit(ready.url)
    fields = [(n.encode(), v if isinstance(v, bytes) else str(v).encode()) for n, v in ready.headers.items()]
    path = place.path + (f"?{place.query}" if place.query else "")
    return path.encode(), (*fields, (b"Host", place.netloc.encode()))


def lowered(headers: Headers) -> list[tuple[bytes, bytes]]:
    return sorted((name.lower(), value) for name, value in headers)


def text(rng: random.Random, letters: str, most: int) -> str:
    return "".join(rng.choice(letters) for _ in range(rng.randint(0, most)))


@pytest.mark.parametrize("kind", SIGNERS)
@pytest.mark.parametrize("seed", range(150))
def test_it_is_what_botocore_signs_with_the_real_key(kind: str, seed: int) -> None:
    rng = random.Random(f"{kind} {seed}")
    path = "/".join(
        quote(text(rng, "ab c%é~:+", 5), safe=rng.choice(["", "~:+"])) for _ in range(rng.randint(1, 4))
    )
    query = "&".join(
        f"{quote(text(rng, 'Xab-~', 3) + 'k')}={quote(text(rng, 'ab /+&', 5), safe='')}" for _ in range(3)
    )
    url = f"https://x.eu-west-1.amazonaws.com/{path}?{query if rng.random() < 0.7 else ''}"
    method = rng.choice(["GET", "PUT", "POST", "DELETE"])
    body = text(rng, "abc{}", 30).encode() if "query" not in kind else b""
    headers = {"Content-Type": "application/json", "X-Amz-Meta-A": "  a   b "} if rng.random() < 0.5 else {}
    token = "tok/+" + text(rng, "ab", 30) if rng.random() < 0.5 else None
    given, fields = signed(kind, STAND_IN, method, url, headers, body, token)
    claim = claimed(fields, given)
    assert claim is not None
    assert claim.key_id.decode() == STAND_IN[0]
    swapped = tuple((name, value.replace(STAND_IN[0].encode(), REAL[0].encode())) for name, value in fields)
    request = Unsigned(method.encode(), given.replace(STAND_IN[0].encode(), REAL[0].encode()), swapped, body)
    again = signed_again(request, Signing(claim, REAL[1].encode()))
    wanted = signed(kind, REAL, method, url, headers, body, token)
    assert (again[0], lowered(again[1])) == (wanted[0], lowered(wanted[1]))


def test_a_hash_of_the_body_is_that_of_what_is_sent() -> None:
    _, fields = signed("headers", STAND_IN, "PUT", "https://s3.test/", {}, b"a", None)
    fields = (*fields, (b"X-Amz-Content-SHA256", hashlib.sha256(b"a").hexdigest().encode()))
    claim = claimed(fields, b"/")
    assert claim is not None
    _, headers = signed_again(Unsigned(b"PUT", b"/", fields, b"changed"), Signing(claim, b"k"))
    assert dict(headers)[b"X-Amz-Content-SHA256"] == hashlib.sha256(b"changed").hexdigest().encode()


@pytest.mark.parametrize(
    ("payload", "needs_body", "by_chunk"),
    [
        (b"", True, False),
        (b"UNSIGNED-PAYLOAD", False, False),
        (b"STREAMING-UNSIGNED-PAYLOAD-TRAILER", False, False),
        (b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", False, True),
        (b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", False, True),
    ],
)
def test_what_a_request_says_of_its_body_decides_how_it_can_be_signed(
    payload: bytes, needs_body: bool, by_chunk: bool
) -> None:
    claim = Claim(b"id", (b"d", b"r", b"s3"), (b"host",), False, payload)
    assert (claim.needs_body, claim.by_chunk) == (needs_body, by_chunk)


def test_a_header_without_a_signature_claims_none() -> None:
    assert claimed(((b"Authorization", b"Bearer x"),), b"/?X-Amz-Date=1") is None


def keys(*hosts: str) -> tuple[Secret, Secret]:
    rules = tuple(map(HostRule.parse, hosts))
    return Secret("ID", REAL[0], STAND_IN[0], rules), Secret("KEY", REAL[1], STAND_IN[1], rules, sigv4="ID")


@pytest.mark.parametrize("kind", ["headers", "s3", "s3-query"])
def test_a_real_request_reaches_the_server_signed_with_the_real_key(kind: str) -> None:
    body = b"" if "query" in kind else b"some body"
    with pair(secrets=keys(API)) as (rig, upstream), rig.https() as client:
        path, fields = signed(kind, STAND_IN, "PUT", f"https://{API}/a%20b?c=d", {}, body, None)
        client.request("PUT", path.decode(), body, {n.decode(): v.decode() for n, v in fields})
        assert client.getresponse().status == 200
        rig.recorder.wait_for(LlmResponseEnd)
    wanted, expected = signed(kind, REAL, "PUT", f"https://{API}/a%20b?c=d", {}, body, None)
    (seen,) = upstream.seen
    assert seen.path.encode() == wanted
    authorization = dict(lowered(expected)).get(b"authorization")
    assert seen.header("authorization") == (None if authorization is None else authorization.decode())
    assert {event.ref for event in rig.recorder.of(SecretInjected)} == {"secrets.ID", "secrets.KEY"}
    assert REAL[1].encode() not in rig.recorder.bytes()


def test_an_upload_with_a_checksum_behind_it_reaches_the_server_signed() -> None:
    """What AWS's programs do by themselves with a file: its length is known, and its checksum comes last."""
    body = b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"
    more = {"X-Amz-Trailer": "x-amz-checksum-crc32", "X-Amz-Decoded-Content-Length": "5"}
    more["Content-Encoding"] = "aws-chunked"
    with pair(secrets=keys(API)) as (rig, upstream), rig.https() as client:
        path, fields = signed("s3", STAND_IN, "PUT", f"https://{API}/a", more, body, None)
        client.request("PUT", path.decode(), body, {n.decode(): v.decode() for n, v in fields})
        assert client.getresponse().status == 200
        rig.recorder.wait_for(LlmResponseEnd)
    _, expected = signed("s3", REAL, "PUT", f"https://{API}/a", more, body, None)
    (seen,) = upstream.seen
    assert seen.header("authorization") == dict(lowered(expected))[b"authorization"].decode()
    assert seen.header("x-amz-content-sha256") == "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
    assert seen.body == body


@pytest.mark.parametrize(
    ("secrets", "headers", "words"),
    [
        (keys("other.example.test"), {}, "is not bound to"),
        (keys(API)[:1], {}, 'write `sigv4 = "ID"`'),
        (keys(API), {"X-Amz-Content-SHA256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}, "each chunk of its body"),
        (keys(API), {"Authorization": f"AWS {STAND_IN[0]}:abc"}, "by AWS Signature Version 2"),
        (keys(API), {"Signature-Input": 'a=("host")', "Signature": STAND_IN[0]}, "by HTTP signatures"),
        (keys(API), {"X-Key": STAND_IN[1], "Authorization": "x"}, "a key that signs, and is put nowhere"),
    ],
)
def test_what_cannot_be_signed_again_is_refused_in_words(
    secrets: tuple[Secret, ...], headers: dict[str, str], words: str
) -> None:
    with pair(secrets=secrets) as (rig, upstream), rig.https() as client:
        path, fields = signed("headers", STAND_IN, "PUT", f"https://{API}/", {}, b"x", None)
        given = {name.decode(): value.decode() for name, value in fields} | headers
        client.request("PUT", path.decode(), b"x", given)
        answer = client.getresponse()
        page = answer.read().decode()
        assert (answer.status, upstream.seen) == (403, [])
    assert words in page


def test_a_key_id_that_is_nobodys_is_left_alone() -> None:
    assert Broker(keys(API)).signer(b"AKIAELSE", Destination(API, 443)) is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((b"Authorization", b"x"), "has authorization more than once"),
        ((b"x-amz-date", b"20300101T000000Z"), "has x-amz-date more than once"),
        ((b"X-Amz-Content-SHA256", b"0" * 64), "has x-amz-content-sha256 more than once"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_what_is_said_twice_is_not_signed(more: tuple[bytes, bytes], words: str, *, first: bool) -> None:
    """Such a request ended the run: one of the two was read, and the other one written."""
    path, fields = signed("s3", STAND_IN, "GET", f"https://{API}/", {}, b"", None)
    claim = claimed(fields, path)
    assert claim is not None
    assert ambiguous(claim, fields) == ""
    assert words in ambiguous(claim, (more, *fields) if first else (*fields, more))


def test_a_signature_that_another_host_would_take_is_not_made() -> None:
    claim = Claim(b"id", (b"d", b"r", b"s3"), (b"x-amz-date",), True, b"x")
    assert ambiguous(claim, ()) == "its signature leaves the host out, so another would take it"


def test_a_presigned_query_takes_the_key_id_and_no_other_secret() -> None:
    other = Secret("OTHER", "other-value-0123456789", "harkother-AbCdEfGhIjKlMnOpQrStUv", keys(API)[0].hosts)
    broker = Broker((*keys(API), other))
    credential = b"X-Amz-Credential=" + STAND_IN[0].encode()
    sent = broker.inject_target(b"/a?x=1&" + credential + b"%2Fd", Destination(API, 443), presigned=True)
    assert isinstance(sent, InjectedTarget)
    assert sent.path == b"/a?x=1&X-Amz-Credential=" + REAL[0].encode() + b"%2Fd"
    for query in (
        b"x=" + other.placeholder.encode(),
        b"Y-" + credential,
        b"%58-Amz-Credential=" + STAND_IN[0].encode(),
    ):
        refused = broker.inject_target(b"/a?" + query, Destination(API, 443), presigned=True)
        assert isinstance(refused, Refused), query
