"""Whatever signs a request is named, and so is what it signs."""

import pytest

from hark.bundle.events import LlmResponseEnd
from hark.policy.model import Surface
from mediator.schemes import signed_otherwise
from mediator.transcript import Headers
from tests.mediator.rig import API, PLACEHOLDER, VALUE, pair, secret

V4 = b"AWS4-HMAC-SHA256 Credential=x/20300101/r/s3/aws4_request, SignedHeaders=host, Signature=0a"


def names(headers: Headers, path: bytes = b"/", *, again: bool = False) -> list[str]:
    return list(dict.fromkeys(scheme for scheme, _ in signed_otherwise(headers, path, again=again)))


@pytest.mark.parametrize(
    ("value", "scheme"),
    [
        (b"SharedKey account:x", "Azure Shared Key"),
        (b"SharedKeyLite account:x", "Azure Shared Key Lite"),
        (b"GOOG4-HMAC-SHA256 Credential=x", "Google Cloud Storage HMAC"),
        (b"GOOG1 x:y", "Google Cloud Storage HMAC"),
        (b'OAuth oauth_consumer_key="x", oauth_signature="y"', "OAuth 1"),
        (b'Hawk id="x", mac="y"', "Hawk"),
        (b'Signature keyId="x",signature="y"', "HTTP signatures"),
        (b"AWS x:y", "AWS Signature Version 2"),
        (b"AWS4-ECDSA-P256-SHA256 Credential=x", "AWS Signature Version 4A"),
        (b"DPoP x", "DPoP"),
        (b"OSS4-HMAC-SHA256 Credential=x,Signature=y", "OSS4-HMAC-SHA256, a signature"),
        (b"OSS x:y", "Alibaba Cloud OSS"),
        (b"ACS3-HMAC-SM3 Credential=x", "ACS3-HMAC-SM3, a signature"),
        (b"SDK-HMAC-SHA256 Access=x, SignedHeaders=host, Signature=y", "Huawei Cloud"),
        (b"bce-auth-v1/x/2030-01-01T00:00:00Z/1800/host/0a", "Baidu Cloud"),
        (b"q-sign-algorithm=sha1&q-ak=x&q-signature=y", "Tencent Cloud COS"),
        (b"EG1-HMAC-SHA256 client_token=x;signature=y", "Akamai EdgeGrid"),
        (b'hmac username="x", algorithm="hmac-sha256"', "hmac, a signature"),
        (b"Custom key=x, Signature=y", "Custom, a signature"),
        (V4.lower(), "AWS Signature Version 4 in a spelling of its own"),
    ],
)
def test_a_scheme_is_known_by_name_or_by_what_signs_it(value: bytes, scheme: str) -> None:
    assert (scheme, value) in list(signed_otherwise(((b"Authorization", value),), b"/", again=False))


@pytest.mark.parametrize(
    "value",
    [b"Bearer x", b"Basic x", b"OAuth token", b"token x", b"", b"Key key=x", b"Bearer sha-x/hmac", V4],
)
def test_what_is_not_signed_otherwise_is_not_taken_for_it(value: bytes) -> None:
    assert names(((b"Authorization", value),), b"/?signature_wanted=no", again=value is V4) == []


@pytest.mark.parametrize(
    ("query", "scheme"),
    [
        (b"X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature=0a", "Google Cloud Storage HMAC"),
        (b"AWSAccessKeyId=x&Expires=1&Signature=y", "a signature in its query"),
        (b"OSSAccessKeyId=x&Signature=y", "a signature in its query"),
        (b"oauth_consumer_key=x&oauth_signature=y", "OAuth 1"),
        (b"X-Amz-Algorithm=AWS4-ECDSA-P256-SHA256&X-Amz-Signature=y", "AWS Signature Version 4A, or"),
    ],
)
def test_a_signature_in_a_query_is_known(query: bytes, scheme: str) -> None:
    ((found, part),) = signed_otherwise((), b"/a?" + query, again=False)
    assert found.startswith(scheme)
    assert part == query
    assert names((), b"/a?" + query, again=True) == []  # the control: signed again


def test_what_an_http_signature_covers_is_told_and_nothing_else() -> None:
    headers = (
        (b"Signature", b"s=:AA==:"),
        (b"Signature-Input", b's=("authorization" "@query");keyid="k"'),
        (b"Authorization", b"Bearer covered"),
        (b"X-Key", b"not covered"),
    )
    parts = [part for _, part in signed_otherwise(headers, b"/a?b=c", again=False)]
    assert parts == [headers[0][1], headers[1][1], b"Bearer covered", b"/a?b=c"]
    draft = b'Signature keyId="k",headers="(request-target) x-key",signature="AA=="'
    parts = [
        part for _, part in signed_otherwise(((b"Authorization", draft), headers[3]), b"/a", again=False)
    ]
    assert parts == [draft, b"not covered", b"/a"]


HIDDEN = f"Bearer {PLACEHOLDER}"
SIGNED = {"Signature": "s=:AA==:", "Signature-Input": 's=("authorization");keyid="k"'}


@pytest.mark.parametrize(
    ("path", "headers", "words"),
    [
        ("/", {"Authorization": f"DPoP {PLACEHOLDER}", "DPoP": "e30.e30.AA"}, "by DPoP"),
        ("/", {"Authorization": f"OSS4-HMAC-SHA256 Credential={PLACEHOLDER},Signature=0a"}, "by OSS4-HMAC-"),
        ("/", {"Authorization": HIDDEN} | SIGNED, "by HTTP signatures"),
        (
            "/",
            {"Signature": "s=:AA==:", "Signature-Input": f's=("host");keyid="{PLACEHOLDER}"'},
            "by HTTP sig",
        ),
        (f"/?AWSAccessKeyId={PLACEHOLDER}&Signature=y", {}, "by a signature in its query"),
    ],
)
def test_a_placeholder_in_what_is_signed_is_refused_by_the_schemes_name(
    path: str, headers: dict[str, str], words: str
) -> None:
    held = secret(VALUE, API, surfaces=(Surface.HEADER, Surface.QUERY))
    with pair(secrets=(held,)) as (rig, upstream), rig.https() as client:
        client.request("GET", path, headers=headers)
        answer = client.getresponse()
        page = answer.read().decode()
        assert (answer.status, upstream.seen) == (403, [])
    assert words in page
    assert "which hark cannot redo" in page


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {"Authorization": HIDDEN, "Signature-Input": 's=("host");keyid="k"', "Signature": "s=:AA==:"}),
        (f"/?key={PLACEHOLDER}&sig=1", {}),
        ("/?signature=1", {"Authorization": HIDDEN}),
    ],
)
def test_the_control_a_placeholder_beside_what_is_signed_is_replaced(
    path: str, headers: dict[str, str]
) -> None:
    held = secret(VALUE, API, surfaces=(Surface.HEADER, Surface.QUERY))
    with pair(secrets=(held,)) as (rig, upstream), rig.https() as client:
        client.request("GET", path, headers=headers)
        assert client.getresponse().status == 200
        rig.recorder.wait_for(LlmResponseEnd)
    assert held.value in upstream.seen[0].path + str(upstream.seen[0].header("authorization"))
