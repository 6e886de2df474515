"""What looks like a token is named, wherever the pieces are cut; what is our own or short is not."""

import gzip
import zlib

import brotli  # type: ignore[import-untyped]
import pytest

from mediator.sightings import MAX_UNPACKED, cookies_in, sighting_in

VALUE = b"0123456789abcdef"
BODIES = {
    "application/json": b'{"x": 1, "accessToken": "%s", "api_key" : "%s", "token": "short"}' % (VALUE, VALUE),
    "application/x-www-form-urlencoded": b"access_token=%s&scope=repo&a_secret=%s&token=short"
    % (VALUE, VALUE),
    "text/xml": b"<r><AccessKeyId>%s</AccessKeyId>\n<SessionToken> %s </SessionToken></r>" % (VALUE, VALUE),
}
NAMES = {
    "application/json": {("json", "accessToken"), ("json", "api_key")},
    "application/x-www-form-urlencoded": {("form", "access_token"), ("form", "a_secret")},
    "text/xml": {("xml", "AccessKeyId"), ("xml", "SessionToken")},
}
PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "identity": bytes}


def seen_in(kind: str, coding: str, body: bytes, size: int = 1 << 20) -> set[tuple[str, str]]:
    seen: set[tuple[str, str]] = set()
    headers = ((b"Content-Type", kind.encode()), (b"Content-Encoding", coding.encode()))
    sighting = sighting_in(headers, lambda where, name: seen.add((where, name)))
    assert sighting is not None
    out = b"".join(sighting.feed(body[at : at + size]) for at in range(0, len(body), size))
    assert out + sighting.finish() == body
    return seen


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("coding", PACKERS)
@pytest.mark.parametrize("kind", BODIES)
def test_tokens_are_named_in_every_kind_and_coding_and_pass(kind: str, coding: str, size: int) -> None:
    assert seen_in(kind, coding, PACKERS[coding](BODIES[kind]), size) == NAMES[kind]


def test_of_a_packed_body_no_more_is_unpacked_than_a_login_has() -> None:
    text = BODIES["application/json"]
    assert (
        seen_in("application/json", "gzip", gzip.compress(text + b" " * (MAX_UNPACKED << 3) + text))
        == (NAMES["application/json"])
    )
    late = b" " * (MAX_UNPACKED + (2 << 20)) + text
    assert seen_in("application/json", "gzip", gzip.compress(late)) == set()
    assert seen_in("application/json", "identity", late) == NAMES["application/json"]  # the control


def test_what_is_not_packed_as_it_says_passes_unseen() -> None:
    assert seen_in("application/json", "gzip", BODIES["application/json"]) == set()
    packed = ((b"Content-Type", b"application/json"), (b"Content-Encoding", b"rot13"))
    assert sighting_in(packed, lambda *_: None) is None
    assert sighting_in(((b"Content-Type", b"text/html"),), lambda *_: None) is None


def test_a_placeholder_is_not_named() -> None:
    body = b'{"token": "sk-harkAbCdEfGhIjKlMnOpQrStUvWx"}'
    assert seen_in("application/json", "identity", body) == set()


def test_cookies_long_enough_to_be_a_session_are_named() -> None:
    headers = (
        (b"Set-Cookie", b"sid=0123456789abcdef; Path=/"),
        (b"set-cookie", b"theme=dark"),
        (b"cookie", b"no=0123456789abcdef0"),
    )
    assert list(cookies_in(headers)) == ["sid"]
