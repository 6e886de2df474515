"""What is sent on is built from what was judged."""

from mitmproxy import http

from mediator import outgoing
from mediator.judgement import Forward, Refusal
from tests.mediator.test_judgement import link


def request(version: bytes = b"HTTP/2.0", *more: tuple[bytes, bytes]) -> http.Request:
    headers = ((b"x", b"1"), *more)
    authority = b"api.example.test"
    return http.Request("", 0, b"GET", b"https", authority, b"/a", version, headers, None, None, 0, None)


def test_a_request_is_judged_and_its_head_built_anew() -> None:
    here = link()
    judged = outgoing.judged(request(), here)
    assert isinstance(judged, Forward)
    head = outgoing.head(request(), judged, here, chunked=True)
    assert tuple(head.headers.fields) == ((b"x", b"1"), (b"transfer-encoding", b"chunked"))
    assert (head.host, head.port, head.path, head.authority) == (
        "api.example.test",
        443,
        "/a",
        "api.example.test",
    )
    assert "transfer-encoding" not in outgoing.head(request(), judged, here, chunked=False).headers


def test_headers_that_can_be_read_in_two_ways_are_refused() -> None:
    judged = outgoing.judged(
        request(b"HTTP/1.1", (b"Content-Length", b"1"), (b"Content-Length", b"2")), link()
    )
    assert isinstance(judged, Refusal)
    assert judged.status == 400
