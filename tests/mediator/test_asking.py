"""The agent's half over real sockets and TLS: what the server gets, and what is recorded of it."""

import base64
import socket
import threading
import time

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
        assert got_first.wait(60)
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
        head = f"GET /caf\u00e9 HTTP/1.1\r\nHost: {API}\r\nX-Odd: \udcff\udcfe\r\nConnection: close\r\n\r\n"
        got = raw(sock, head.encode("utf-8", "surrogateescape"))
        sock.close()
        (request,) = rig.recorder.wait_for(LlmRequest)
    assert b"200 OK" in got
    assert (b"X-Odd", b"\xff\xfe") in request.raw_headers
    assert request.headers["X-Odd"] == "\\xff\\xfe"
    assert request.path == "/caf\u00e9"


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
        ("/" + PLACEHOLDER, {}, b""),
        ("/", {"X-Config": base64.b64encode(f"{PLACEHOLDER}, more".encode()).decode()}, b""),
    ],
    ids=["query", "percent", "body", "header-name", "path", "base64"],
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
    assert b"".join(chunk.data for chunk in rig.recorder.of(RequestChunk)) == b"ab" + PLACEHOLDER.encode()
    assert not rig.recorder.of(EgressDecision)[-1].allowed
    assert [end.error != "" for end in rig.recorder.of(LlmResponseEnd)] == [True]
    assert [seen.body for seen in upstream.seen if seen.body != b""] in ([], [b"ab"])


@pytest.mark.parametrize(
    ("trailer", "words"),
    [
        ("Host: evil.test", b"Host stands in a trailer, where it must not"),
        ("Content-Length: 5", b"Content-Length stands in a trailer"),
        ("Authorization: Bearer x", b"Authorization stands in a trailer"),
        (f"X-Key: {PLACEHOLDER}", b"stands in a trailer, where it is not replaced"),
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


@pytest.mark.parametrize("length", ["Content-Length: 2\r\n", "Transfer-Encoding: chunked\r\n"])
def test_a_client_that_does_not_wait_for_100_continue_is_served_too(length: str) -> None:
    body = "ok" if "Length" in length else "2\r\nok\r\n0\r\n\r\n"
    with pair() as (rig, upstream), rig.tls(API) as sock:
        head = f"POST / HTTP/1.1\r\nHost: {API}\r\n{length}Expect: 100-Continue\r\nConnection: close\r\n\r\n"
        got = raw(sock, (head + body).encode())
    assert got.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert got.endswith(b"POST / 2")
    assert [seen.body for seen in upstream.seen] == [b"ok"]


def test_http_1_0_gets_no_100_continue() -> None:
    with plain() as (rig, _):
        sock = rig.dial(rig.address(API), 80)
        head = f"POST / HTTP/1.0\r\nHost: {API}\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        got = raw(sock, head.encode() + b"ok")
        sock.close()
    assert got.startswith(b"HTTP/1.1 200 OK\r\n")


def test_another_expectation_is_not_met() -> None:
    with pair() as (rig, upstream), rig.https() as client:
        client.request("POST", "/", body=b"x", headers={"Expect": "wonders"})
        answer = client.getresponse()
        assert (answer.status, b"expects something other" in answer.read()) == (417, True)
        assert upstream.seen == []


def test_without_tls_an_agent_that_has_said_all_still_gets_its_answer() -> None:
    release = threading.Event()
    with plain() as (rig, upstream):

        @upstream.on("/late")
        def late(call: Call) -> None:
            assert release.wait(60)
            call.reply(200, b"late")

        sock = rig.dial(rig.address(API), 80)
        sock.sendall(f"GET /late HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
        sock.shutdown(socket.SHUT_WR)
        rig.recorder.wait_for(LlmRequest)
        time.sleep(0.05)
        release.set()
        got = raw(sock, b"")
        sock.close()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert got.endswith(b"late")
    assert end.error == ""
    assert rig.fatal == []


def test_requests_sent_before_a_half_close_are_all_answered() -> None:
    with plain() as (rig, _):
        sock = rig.dial(rig.address(API), 80)
        sock.sendall(b"".join(f"GET /{n} HTTP/1.1\r\nHost: {API}\r\n\r\n".encode() for n in range(3)))
        sock.shutdown(socket.SHUT_WR)
        got = raw(sock, b"")
        sock.close()
    assert [f"GET /{n} 0".encode() in got for n in range(3)] == [True] * 3


def test_an_upgrade_to_anything_else_is_refused_in_words_and_an_offer_of_h2c_is_not_taken() -> None:
    with plain() as (rig, upstream), rig.http() as client:
        client.request("GET", "/", headers={"Connection": "Upgrade", "Upgrade": "TLS/1.3"})
        answer = client.getresponse()
        assert (answer.status, b"an upgrade to tls/1.3 is never passed" in answer.read()) == (501, True)
        offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABk"}
        client.request("GET", "/", headers=offer)
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (200, b"GET / 0")
    (seen,) = upstream.seen
    assert [seen.header(name) for name in ("upgrade", "http2-settings", "connection")] == [None] * 3


def test_a_request_in_absolute_form_leaves_in_origin_form() -> None:
    with plain() as (rig, upstream):
        sock = rig.dial(rig.address(API), 80)
        got = raw(sock, f"GET http://{API}/a?b HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())
        sock.close()
    assert got.endswith(b"GET /a?b 0")
    assert [seen.path for seen in upstream.seen] == ["/a?b"]


def _short(length: int, body: bytes, *, trailers: bool) -> tuple[bytes, list[str], list[str]]:
    """Send a request in HTTP/2 that ends early; return status, ends on record, bodies that the server saw."""
    import h2.config
    import h2.connection
    import h2.events

    with pair() as (rig, upstream), rig.tls(API, 443, None, "h2") as sock:
        client = h2.connection.H2Connection(h2.config.H2Configuration(validate_outbound_headers=False))
        client.initiate_connection()
        head = [(":method", "POST"), (":scheme", "https"), (":authority", API), (":path", "/short")]
        client.send_headers(1, [*head, ("content-length", str(length))], end_stream=not trailers)
        if trailers:
            client.send_data(1, body)
            client.send_headers(1, [("x-checksum", "0")], end_stream=True)
        sock.sendall(client.data_to_send())
        status = b""
        while not status:
            for event in client.receive_data(sock.recv(65536)):
                if isinstance(event, h2.events.ResponseReceived):
                    status = dict(event.headers)[b":status"]
        ends = [end.error for end in rig.recorder.wait_for(LlmResponseEnd)]
        return status, ends, [seen.body.decode() for seen in upstream.seen]


@pytest.mark.parametrize("trailers", [False, True])
def test_a_body_shorter_than_announced_is_refused_and_not_left_to_the_server_to_wait_for(
    trailers: bool,
) -> None:
    status, (error,), seen = _short(10, b"abc", trailers=trailers)
    assert status in (b"400", b"403")
    assert error.startswith("refused: its body is shorter than its head says")
    assert seen == []


def test_the_control_a_body_as_long_as_announced_is_sent() -> None:
    status, (error,), seen = _short(3, b"abc", trailers=True)
    assert (status, error, seen) == (b"200", "", ["abc"])


def test_a_client_that_sends_its_request_byte_by_byte_is_served() -> None:
    with plain() as (rig, upstream):
        sock = rig.dial(rig.address(API), 80)
        request = f"POST /slow HTTP/1.1\r\nHost: {API}\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
        for byte in request.encode():
            sock.sendall(bytes([byte]))
            time.sleep(0.001)
        got = raw(sock, b"")
        sock.close()
    assert got.endswith(b"POST /slow 3")
    assert [seen.body for seen in upstream.seen] == [b"abc"]


@pytest.mark.slow
def test_a_client_that_takes_its_answer_slowly_gets_all_of_it_and_slows_the_server_down() -> None:
    sent = [0]
    with plain() as (rig, upstream):

        @upstream.on("/down")
        def down(call: Call) -> None:
            call.begin_chunked("application/octet-stream")
            for _ in range(512):
                call.chunk(b"x" * 65536)
                sent[0] += 65536
            call.chunk(b"")

        sock = rig.dial(rig.address(API), 80)
        sock.sendall(f"GET /down HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())
        first = sock.recv(1)
        time.sleep(0.5)
        assert sent[0] < 24 << 20
        got = first + raw(sock, b"")
        sock.close()
    assert got.count(b"x") == 512 * 65536
