"""What is sent on is built from what was judged."""

import pytest
from mitmproxy import http

from mediator import outgoing
from mediator.judgement import Forward, Refusal
from mediator.outgoing import Framing
from tests.mediator.rig import link_to


def request(version: bytes = b"HTTP/2.0", *more: tuple[bytes, bytes]) -> http.Request:
    headers = ((b"x", b"1"), *more)
    authority = b"api.example.test"
    return http.Request("", 0, b"GET", b"https", authority, b"/a", version, headers, None, None, 0, None)


def test_a_request_is_judged_and_its_head_built_anew() -> None:
    here = link_to()
    judged = outgoing.judged(request(), here)
    assert isinstance(judged, Forward)
    head = outgoing.head(request(), judged, here, Framing(size=None, resized=False, h2=False))
    assert tuple(head.headers.fields) == ((b"x", b"1"), (b"transfer-encoding", b"chunked"))
    assert (head.host, head.port, head.path, head.authority) == (
        "api.example.test",
        443,
        "/a",
        "api.example.test",
    )


@pytest.mark.parametrize(
    ("sent", "framing", "expected"),
    [
        ((), Framing(size=None, resized=False, h2=False), {b"transfer-encoding": b"chunked"}),
        ((), Framing(size=None, resized=False, h2=True), {}),
        ((b"Content-Length", b"9"), Framing(size=None, resized=False, h2=False), {b"Content-Length": b"9"}),
        ((b"Content-Length", b"9"), Framing(size=4, resized=True, h2=False), {b"Content-Length": b"4"}),
        ((b"Content-Length", b"9"), Framing(size=9, resized=False, h2=False), {b"Content-Length": b"9"}),
        (
            (b"Content-Length", b"9"),
            Framing(size=None, resized=True, h2=False),
            {b"transfer-encoding": b"chunked"},
        ),
        ((b"Content-Length", b"9"), Framing(size=None, resized=True, h2=True), {}),
        ((b"Transfer-Encoding", b"chunked"), Framing(size=None, resized=True, h2=False), None),
    ],
)
def test_a_body_is_framed_as_it_is_sent(
    sent: tuple[bytes, bytes] | tuple[()], framing: Framing, expected: dict[bytes, bytes] | None
) -> None:
    headers = (sent,) if sent else ()
    made = outgoing.head(
        request(b"HTTP/2.0", *headers), Forward(b"/", headers, (), False), link_to(), framing
    )
    assert tuple(made.headers.fields) == (headers if expected is None else tuple(expected.items()))


def test_headers_that_can_be_read_in_two_ways_are_refused() -> None:
    judged = outgoing.judged(
        request(b"HTTP/1.1", (b"Content-Length", b"1"), (b"Content-Length", b"2")), link_to()
    )
    assert isinstance(judged, Refusal)
    assert judged.status == 400
