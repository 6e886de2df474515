"""The agent's half over real sockets and TLS: what the server gets, and what is recorded of it."""

import threading

import pytest

from hark.bundle.events import (
    EgressDecision,
    LlmRequest,
    LlmResponseEnd,
    RequestChunk,
    SecretInjected,
)
from tests.fakes.upstream import Call, early
from tests.mediator.rig import API, PLACEHOLDER, VALUE, pair, plain, raw, secret


def test_a_chunked_upload_is_recorded_piece_by_piece_and_not_held() -> None:
    got_first = threading.Event()
    with pair() as (rig, upstream), rig.https() as client:

        @upstream.on("/up")
        @early
        def upload(call: Call) -> None:
            pieces = call.pieces()
            assert next(pieces) == b"one"
            got_first.set()
            call.record.body = b"".join(pieces)
            call.reply(200, b"done")

        client.putrequest("POST", "/up")
        client.putheader("Transfer-Encoding", "chunked")
        client.endheaders()
        client.send(b"3\r\none\r\n")
        assert got_first.wait(10)
        client.send(b"3\r\ntwo\r\n0\r\n\r\n")
        assert client.getresponse().read() == b"done"
        rig.recorder.wait_for(LlmResponseEnd)
    (request,) = rig.recorder.of(LlmRequest)
    assert (request.streaming, request.body) == (True, b"")
    chunks = rig.recorder.of(RequestChunk)
    assert b"".join(chunk.data for chunk in chunks) == b"onetwo"
    assert [chunk.seq for chunk in chunks] == list(range(len(chunks)))
    assert [chunk.last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


def test_a_body_over_one_mebibyte_follows_in_pieces_and_is_whole() -> None:
    body = bytes(range(256)) * 8192
    with pair() as (rig, upstream), rig.https() as client:
        client.request("PUT", "/big", body=body)
        assert client.getresponse().read() == b"PUT /big %d" % len(body)
        rig.recorder.wait_for(LlmResponseEnd)
    assert upstream.seen[0].body == body
    assert b"".join(chunk.data for chunk in rig.recorder.of(RequestChunk)) == body


def test_a_body_of_exactly_one_mebibyte_stays_in_its_request() -> None:
    body = b"x" * (1 << 20)
    with pair() as (rig, _), rig.https() as client:
        client.request("PUT", "/", body=body)
        client.getresponse().read()
    assert rig.recorder.of(LlmRequest)[0].body == body
    assert rig.recorder.of(RequestChunk) == []


def test_expect_100_continue_is_answered_at_once() -> None:
    with pair() as (rig, upstream), rig.tls(API) as sock:
        head = f"POST / HTTP/1.1\r\nHost: {API}\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        sock.sendall(head.encode())
        assert sock.recv(100).startswith(b"HTTP/1.1 100 ")
        sock.sendall(b"ok")
        assert b"200 OK" in sock.recv(4096)
        rig.recorder.wait_for(LlmResponseEnd)
    assert upstream.seen[0].header("expect") is None
    assert (b"Expect", b"100-continue") in rig.recorder.of(LlmRequest)[0].raw_headers


def test_bytes_outside_utf8_in_a_header_pass_and_leave_the_record_readable() -> None:
    with plain() as (rig, _):
        sock = rig.dial(rig.address(API), 80)
        head = f"GET /caf\udce9 HTTP/1.1\r\nHost: {API}\r\nX-Odd: \udcff\udcfe\r\nConnection: close\r\n\r\n"
        got = raw(sock, head.encode("utf-8", "surrogateescape"))
        sock.close()
        (request,) = rig.recorder.wait_for(LlmRequest)
    assert b"200 OK" in got
    assert (b"X-Odd", b"\xff\xfe") in request.raw_headers
    assert request.headers["X-Odd"] == "\\xff\\xfe"
    assert request.path == "/caf\\xe9"


def test_a_placeholder_becomes_the_value_for_its_host_and_stays_a_placeholder_on_the_record() -> None:
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.https() as client:
        client.request("GET", "/", headers={"Authorization": f"Bearer {PLACEHOLDER}"})
        assert client.getresponse().status == 200
        rig.recorder.wait_for(LlmResponseEnd)
        summary = rig.mediator.summary()
    assert upstream.seen[0].header("authorization") == f"Bearer {VALUE}"
    (request,) = rig.recorder.of(LlmRequest)
    assert request.headers["Authorization"] == f"Bearer {PLACEHOLDER}"
    (injected,) = rig.recorder.of(SecretInjected)
    assert (injected.ref, injected.placeholder, injected.host) == ("secrets.API_KEY", PLACEHOLDER, API)
    assert len(injected.value_hash) == 32
    assert VALUE.encode() not in rig.recorder.bytes()
    assert summary.secrets == (("secrets.API_KEY", f"{API}:443", 1),)


@pytest.mark.parametrize(
    ("path", "headers", "body"),
    [
        ("/?key=" + PLACEHOLDER, {}, b""),
        ("/?key=" + "".join(f"%{ord(c):02x}" for c in PLACEHOLDER), {}, b""),
        ("/", {}, b"x" + PLACEHOLDER.encode()),
        ("/", {"X-" + PLACEHOLDER: "1"}, b""),
        ("/", {"Authorization": PLACEHOLDER.encode().hex()}, b""),
    ],
    ids=["query", "percent", "body", "header-name", "hex"],
)
def test_a_placeholder_that_would_leave_unresolved_does_not_leave(
    path: str, headers: dict[str, str], body: bytes
) -> None:
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.https() as client:
        client.request("POST", path, body=body, headers=headers)
        answer = client.getresponse()
        page = answer.read()
        assert answer.status == 403
        assert b"placeholder" in page
        assert upstream.seen == []
        assert not rig.recorder.of(EgressDecision)[-1].allowed


def test_a_placeholder_in_a_streamed_body_stops_it_wherever_the_pieces_are_cut() -> None:
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.tls(API) as sock:

        @upstream.on("/up")
        def upload(call: Call) -> None:
            call.reply(200, b"done")

        head = f"POST /up HTTP/1.1\r\nHost: {API}\r\nTransfer-Encoding: chunked\r\n\r\n"
        first, second = PLACEHOLDER[:10].encode(), PLACEHOLDER[10:].encode()
        sock.sendall(head.encode() + b"%x\r\nab%s\r\n" % (len(first) + 2, first))
        rig.recorder.wait_for(RequestChunk)
        got = raw(sock, b"%x\r\n%s\r\n" % (len(second), second))
    assert got.startswith(b"HTTP/1.1 403")
    assert b"".join(chunk.data for chunk in rig.recorder.of(RequestChunk)) == b"ab"
    assert not rig.recorder.of(EgressDecision)[-1].allowed
    assert [end.error != "" for end in rig.recorder.of(LlmResponseEnd)] == [True]
    assert [seen.body for seen in upstream.seen if seen.body != b""] in ([], [b"ab"])


@pytest.mark.parametrize(
    ("trailer", "words"),
    [
        ("Host: evil.test", b"Host stands in a trailer, where it must not"),
        ("Content-Length: 5", b"Content-Length stands in a trailer"),
        ("Authorization: Bearer x", b"Authorization stands in a trailer"),
        (f"X-Key: {PLACEHOLDER}", b"stands in a trailer, where it is not substituted"),
    ],
)
def test_a_trailer_that_may_not_leave_ends_its_request(trailer: str, words: bytes) -> None:
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.tls(API) as sock:

        def upload(call: Call) -> None:
            call.reply(200, b"done")

        upstream.routes["/up"] = upload
        head = f"POST /up HTTP/1.1\r\nHost: {API}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        got = raw(sock, f"{head}2\r\nab\r\n0\r\n{trailer}\r\n\r\n".encode())
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        assert not rig.recorder.of(EgressDecision)[-1].allowed
    assert got.startswith(b"HTTP/1.1 403 ")
    assert words in got
    assert end.error.startswith("refused: ")
    assert not any(name.startswith("trailer:") for seen in upstream.seen for name, _ in seen.headers)
    assert rig.fatal == []
