"""One exchange over real sockets and TLS: what the server gets, what the agent gets, and what is recorded."""

import gzip
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hark.bundle.events import (
    EgressAttempt,
    EgressDecision,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    RequestChunk,
    SecretInjected,
    Trailers,
)
from tests.fakes.upstream import Call, Upstream, early, serving
from tests.mediator.rig import API, OTHER, Rig, running, secret

VALUE = "sk-real-5e884898da280471"
PLACEHOLDER = "sk-harkAbCdEfGhIjKlMnOpQrStUv"


@contextmanager
def pair(*allow: str, **more: object) -> Iterator[tuple[Rig, Upstream]]:
    """A mediator that allows the API over TLS, and its server."""
    with (
        serving(API) as upstream,
        running(
            API,
            *allow,
            upstreams={API: upstream.address},
            roots=upstream.ca_pem,
            **more,  # type: ignore[arg-type]
        ) as rig,
    ):
        yield rig, upstream


@contextmanager
def plain(**more: object) -> Iterator[tuple[Rig, Upstream]]:
    """The same without TLS on port 80."""
    with (
        serving(API, tls=False) as upstream,
        running(f"{API}:80", upstreams={API: upstream.address}, **more) as rig,  # type: ignore[arg-type]
    ):
        yield rig, upstream


def raw(sock: socket.socket, data: bytes) -> bytes:
    """Send and read until the other side closes."""
    sock.sendall(data)
    got = b""
    try:
        while piece := sock.recv(65536):
            got += piece
    except ConnectionResetError:
        got += b"<reset>"
    return got


def test_a_request_and_its_answer_pass_and_are_recorded_in_order() -> None:
    with pair() as (rig, upstream), rig.https() as client:
        client.request("POST", "/v1?x=1", body=b"hello", headers={"X-A": "1"})
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (200, b"POST /v1?x=1 5")
        rig.recorder.wait_for(LlmResponseEnd)
    assert upstream.seen[0].body == b"hello"
    assert upstream.seen[0].sni == API
    kinds = [type(event) for event in rig.recorder.events[2:]]
    assert kinds == [EgressAttempt, EgressDecision, LlmRequest, LlmResponseChunk, LlmResponseEnd]
    (request,) = rig.recorder.of(LlmRequest)
    assert (request.host, request.method, request.path, request.body) == (API, "POST", "/v1?x=1", b"hello")
    assert (b"X-A", b"1") in request.raw_headers
    assert not request.streaming
    (end,) = rig.recorder.of(LlmResponseEnd)
    assert (end.status, end.chunk_count, end.error, end.exchange) == (200, 1, "", request.exchange)
    assert rig.fatal == []


def test_requests_on_a_kept_connection_are_separate_exchanges_over_one_dial() -> None:
    with pair() as (rig, upstream), rig.https() as client:
        for number in range(3):
            client.request("GET", f"/{number}")
            client.getresponse().read()
        rig.recorder.wait_for(LlmResponseEnd, 3)
    assert upstream.dials == 1
    assert [event.exchange for event in rig.recorder.of(LlmRequest)] == [1, 2, 3]
    assert [event.exchange for event in rig.recorder.of(LlmResponseEnd)] == [1, 2, 3]


def test_nothing_is_dialled_before_a_request_is_judged() -> None:
    with pair() as (rig, upstream), rig.https() as client:
        rig.recorder.wait_for(EgressDecision)
        assert upstream.dials == 0
        client.request("GET", "/", headers={"Host": "evil.test"})
        assert client.getresponse().status == 403
        assert upstream.dials == 0


def test_a_later_request_for_another_host_is_refused_on_a_kept_connection_which_then_goes_on() -> None:
    with pair(OTHER) as (rig, upstream), rig.https() as client:
        client.request("GET", "/ok")
        assert client.getresponse().read() == b"GET /ok 0"
        client.request("GET", "/fronted", headers={"Host": OTHER})
        refused = client.getresponse()
        page = refused.read().decode()
        client.request("GET", "/ok2")
        assert client.getresponse().read() == b"GET /ok2 0"
        ends = rig.recorder.wait_for(LlmResponseEnd, 3)
    assert [(end.status, end.error.startswith("refused: ")) for end in ends] == [
        (200, False),
        (403, True),
        (200, False),
    ]
    assert [request.path for request in rig.recorder.of(LlmRequest)] == ["/ok", "/fronted", "/ok2"]
    assert refused.status == 403
    assert refused.getheader("content-type") == "text/plain; charset=utf-8"
    assert f"the request's host is {OTHER}:443, but the connection was made to {API}:443" in page
    assert [seen.path for seen in upstream.seen] == ["/ok", "/ok2"]
    denied = rig.recorder.of(EgressDecision)[-1]
    assert not denied.allowed
    assert denied in rig.recorder.durable
    assert rig.recorder.of(EgressAttempt)[-1].protocol == "https"


def test_two_host_headers_are_refused_even_where_both_are_allowed() -> None:
    with plain() as (rig, upstream):
        head = f"GET / HTTP/1.1\r\nHost: {API}\r\nHost: {API}\r\n\r\n".encode()
        sock = rig.dial(rig.address(API), 80)
        sock.sendall(head)
        assert sock.recv(100).startswith(b"HTTP/1.1 403")
        sock.close()
        assert upstream.seen == []


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (f"GET http://evil.test/ HTTP/1.1\r\nHost: {API}\r\n\r\n", 403),
        (f"GET https://{API}/ HTTP/1.1\r\nHost: {API}\r\n\r\n", 403),
        (f"CONNECT {API}:80 HTTP/1.1\r\nHost: {API}\r\n\r\n", 403),
        ("GET / HTTP/1.1\r\n\r\n", 403),
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nX: a\r\n b\r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nX: a\0b\r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nTransfer-Encoding: xchunked\r\n\r\n", 400),
        (f"GET / HTTP/3.1\r\nHost: {API}\r\n\r\n", 400),
        ("GET / \r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nNo colon\r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nX: {'a' * 300_000}", 431),
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 501),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_request_that_could_be_read_in_two_ways_is_refused_and_recorded(head: str, status: int) -> None:
    with plain() as (rig, upstream):
        sock = rig.dial(rig.address(API), 80)
        sock.sendall(head.encode())
        answer = sock.recv(4096)
        sock.close()
        assert answer.split(b"\r\n")[0].split()[1] == str(status).encode()
        decisions = rig.recorder.wait_for(EgressDecision, 2)
    assert [event.allowed for event in decisions] == [True, False]
    requests, ends = rig.recorder.of(LlmRequest), rig.recorder.of(LlmResponseEnd)
    assert [request.exchange for request in requests] == [end.exchange for end in ends]
    assert all((end.status, end.error.startswith("refused: ")) == (status, True) for end in ends)
    assert rig.recorder.of(SecretInjected) == []
    assert upstream.seen == []
    assert rig.fatal == []


def test_a_server_sent_event_reaches_the_agent_before_the_server_writes_the_next() -> None:
    received = threading.Event()
    with pair() as (rig, upstream), rig.https() as client:

        @upstream.on("/sse")
        def stream(call: Call) -> None:
            call.begin_chunked("text/event-stream")
            call.chunk(b"data: 1\n\n")
            assert received.wait(10)
            call.chunk(b"data: 2\n\n")
            call.chunk(b"")

        client.request("GET", "/sse")
        answer = client.getresponse()
        assert answer.read1(100) == b"data: 1\n\n"
        assert [event.data for event in rig.recorder.of(LlmResponseChunk)] == [b"data: 1\n\n"]
        received.set()
        assert answer.read() == b"data: 2\n\n"
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    chunks = rig.recorder.of(LlmResponseChunk)
    assert [(chunk.seq, chunk.data) for chunk in chunks] == [(0, b"data: 1\n\n"), (1, b"data: 2\n\n")]
    assert all(chunk.since_prev > 0 for chunk in chunks)
    assert end.chunk_count == 2


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


def test_trailers_pass_both_ways_and_are_recorded() -> None:
    with pair() as (rig, upstream):

        @upstream.on("/t")
        def trailing(call: Call) -> None:
            call.begin_chunked("text/plain", [("Trailer", "X-Sum")])
            call.chunk(b"body")
            call.wfile.write(b"0\r\nX-Sum: 42\r\n\r\n")

        with rig.tls(API) as sock:
            head = (
                f"POST /t HTTP/1.1\r\nHost: {API}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            )
            got = raw(sock, head.encode() + b"2\r\nhi\r\n0\r\nX-Mine: 7\r\n\r\n")
        rig.recorder.wait_for(LlmResponseEnd)
    assert got.endswith(b"4\r\nbody\r\n0\r\nX-Sum: 42\r\n\r\n")
    assert ("trailer:X-Mine", "7") in upstream.seen[0].headers
    found = [(event.from_agent, event.raw_headers) for event in rig.recorder.of(Trailers)]
    assert found == [(True, ((b"X-Mine", b"7"),)), (False, ((b"X-Sum", b"42"),))]
    assert rig.fatal == []


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


def test_connection_close_is_honoured() -> None:
    with pair() as (rig, _), rig.tls(API) as sock:
        assert b"200 OK" in raw(sock, f"GET / HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())


def test_a_head_answer_keeps_its_length_and_has_no_body() -> None:
    with pair() as (rig, upstream), rig.https() as client:
        upstream.routes["/h"] = lambda call: call.reply(200, b"x" * 1234)
        client.request("HEAD", "/h")
        answer = client.getresponse()
        assert (answer.getheader("content-length"), answer.read()) == ("1234", b"")
        client.request("GET", "/")
        assert client.getresponse().status == 200


def test_a_second_cookie_survives_in_both_the_answer_and_the_record() -> None:
    cookies = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
    with pair() as (rig, upstream), rig.https() as client:
        upstream.routes["/c"] = lambda call: call.reply(200, b"", cookies)
        client.request("GET", "/c")
        answer = client.getresponse()
        assert answer.headers.get_all("set-cookie") == ["a=1", "b=2"]
        answer.read()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert [value for name, value in end.raw_headers if name == b"Set-Cookie"] == [b"a=1", b"b=2"]


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


def test_an_interim_answer_is_skipped_and_the_real_one_passes() -> None:
    with pair() as (rig, upstream), rig.https() as client:

        @upstream.on("/hints")
        def hints(call: Call) -> None:
            call.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
            call.reply(200, b"real")

        client.request("GET", "/hints")
        assert client.getresponse().read() == b"real"
        assert rig.fatal == []


def test_an_answer_that_is_cut_ends_the_agents_connection_unclean_and_is_recorded() -> None:
    with pair() as (rig, upstream), rig.https() as client:

        @upstream.on("/cut")
        def cut(call: Call) -> None:
            call.begin_chunked("text/plain")
            call.chunk(b"half")
            call.cut()

        client.request("GET", "/cut")
        answer = client.getresponse()
        with pytest.raises((http.client.IncompleteRead, OSError)):
            answer.read()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert (end.status, end.chunk_count) == (200, 1)
    assert end.error.startswith("it broke off")
    assert rig.fatal == []


def test_a_cut_answer_without_a_length_is_not_taken_for_a_whole_one() -> None:
    """Its end is the end of the connection, so a cut shows as a reset and an end as an end."""
    with plain() as (rig, upstream):
        head = f"GET /PATH HTTP/1.1\r\nHost: {API}\r\n\r\n"

        @upstream.on("/whole")
        def whole(call: Call) -> None:
            call.wfile.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")
            call.cut()

        sock = rig.dial(rig.address(API), 80)
        assert raw(sock, head.replace("PATH", "whole").encode()).endswith(b"all of it")
        sock.close()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        assert end.error == ""


def test_a_server_that_answers_garbage_gives_502_with_a_reason() -> None:
    with pair() as (rig, upstream), rig.https() as client:

        @upstream.on("/junk")
        def junk(call: Call) -> None:
            call.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")
            call.cut()

        client.request("GET", "/junk")
        answer = client.getresponse()
        page = answer.read()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert answer.status == end.status == 502
    assert page.startswith(b"hark: no answer from api.example.test:443: ")
    assert rig.recorder.of(LlmResponseChunk)[0].data == page
    assert end.error != ""


def test_a_server_that_refuses_gives_502_and_the_record_holds_what_the_agent_saw() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{closed.getsockname()[1]}"
        with running(API, upstreams={API: place}) as rig, rig.https() as client:
            client.request("POST", "/", body=b"x")
            answer = client.getresponse()
            page = answer.read()
            (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert answer.status == end.status == 502
    assert b"connection refused" in page
    assert "connection refused" in end.error
    assert rig.recorder.of(LlmResponseChunk)[0].data == page


def test_an_untrusted_certificate_gives_502_and_nothing_is_sent() -> None:
    with serving(API) as upstream, running(API, upstreams={API: upstream.address}) as rig:
        with rig.https() as client:
            client.request("GET", "/", headers={"X-Private": "1"})
            answer = client.getresponse()
            page = answer.read().decode()
        assert answer.status == 502
        assert "the certificate of api.example.test does not verify" in page
        assert upstream.seen == []


def test_a_certificate_for_another_name_gives_502() -> None:
    with (
        serving(OTHER) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
        rig.https() as client,
    ):
        client.request("GET", "/")
        answer = client.getresponse()
        assert answer.status == 502
        assert b"does not verify" in answer.read()
        assert upstream.seen == []


def test_a_refused_upload_gets_its_page_before_the_upload_ends() -> None:
    with pair() as (rig, upstream), rig.tls(API) as sock:
        head = f"POST / HTTP/1.1\r\nHost: evil.test\r\nContent-Length: {1 << 30}\r\n\r\n"
        sock.sendall(head.encode() + b"x" * 1000)
        got = raw(sock, b"y" * 1000)
        assert got.startswith(b"HTTP/1.1 403")
        assert b"connection: close" in got
        assert upstream.dials == 0


def test_an_early_413_reaches_the_agent_and_the_connection_does_not_hang() -> None:
    with pair() as (rig, upstream), rig.tls(API) as sock:

        @upstream.on("/413")
        @early
        def too_large(call: Call) -> None:
            call.reply(413, b"too large")
            call.close_connection = True

        head = f"POST /413 HTTP/1.1\r\nHost: {API}\r\nContent-Length: {1 << 30}\r\n\r\n"
        sock.sendall(head.encode() + b"x" * 1000)
        got = raw(sock, b"")
        assert got.startswith(b"HTTP/1.1 413")
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        assert (end.status, end.error) == (413, "")


def test_an_agent_that_leaves_in_the_middle_is_recorded_and_the_server_is_let_go() -> None:
    gone = threading.Event()
    with pair() as (rig, upstream):

        @upstream.on("/long")
        def long(call: Call) -> None:
            call.begin_chunked("text/plain")
            try:
                while True:
                    call.chunk(b"tick")
                    time.sleep(0.01)
            except OSError:
                gone.set()

        with rig.tls(API) as sock:
            sock.sendall(f"GET /long HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
            assert sock.recv(100)
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        assert end.error == "the agent went away"
        assert gone.wait(10)


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


@pytest.mark.parametrize("form", ["plain", "header", "gzip", "split"])
def test_a_server_that_gives_the_value_back_is_cut_before_the_agent_has_it(form: str) -> None:
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.https() as client:

        @upstream.on("/echo")
        def echo(call: Call) -> None:
            text = b'{"you sent": "%s"}' % VALUE.encode()
            if form == "header":
                call.reply(200, b"", [("X-Echo", VALUE)])
            elif form == "gzip":
                call.reply(200, gzip.compress(text), [("Content-Encoding", "gzip")])
            elif form == "split":
                call.begin_chunked("text/plain")
                for at in range(0, len(text), 5):
                    call.chunk(text[at : at + 5])
                    time.sleep(0.002)
                call.chunk(b"")
            else:
                call.reply(200, text)

        client.request("GET", "/echo", headers={"Authorization": f"Bearer {PLACEHOLDER}"})
        got = b""
        try:
            answer = client.getresponse()
            got = str(answer.getheaders()).encode()
            got += answer.read()
        except http.client.IncompleteRead as error:
            got += error.partial
        except OSError:
            pass
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert VALUE.encode() not in got
    assert VALUE.encode() not in rig.recorder.bytes()
    assert end.error == "its answer gives secrets.API_KEY back, which the agent must not see"


@pytest.mark.parametrize(
    "line",
    [
        f"HTTP/1.1 200 {VALUE}",
        f"HTTP/1.0 200 {VALUE}",
        f"HTTP/1.1 100 {VALUE}\r\n\r\nHTTP/1.1 200 {VALUE}",
        f"HTTP/1.0 103 {VALUE}\r\nX: {VALUE}\r\n\r\nHTTP/1.1 200 OK",
        f"HTTP/1.1  100 {VALUE}",
        f"HTTP/1.1 999 {VALUE}",
        f"HTTP/1.1 101 {VALUE}",
    ],
)
def test_the_words_behind_a_status_are_not_the_servers(line: str) -> None:
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.tls(API) as sock:

        @upstream.on("/words")
        def words(call: Call) -> None:
            call.wfile.write(line.encode() + b"\r\nContent-Length: 2\r\n\r\nhi")
            call.cut()

        head = f"GET /words HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\nX-Key: {PLACEHOLDER}\r\n\r\n"
        got = raw(sock, head.encode())
        rig.recorder.wait_for(LlmResponseEnd)
    assert got.split(b"\r\n")[0].partition(b" ")[2] in (b"200 OK", b"999 ", b"502 Bad Gateway")
    assert VALUE.encode() not in got
    assert rig.fatal == []


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Encoding", "br")],
        [("Content-Encoding", "gzip"), ("Content-Encoding", "zstd")],
        [("Transfer-Encoding", "gzip, chunked")],
    ],
)
def test_an_answer_that_cannot_be_searched_is_refused_in_words(headers: list[tuple[str, str]]) -> None:
    for held in ((secret(VALUE, API),), ()):
        with pair(secrets=held) as (rig, upstream), rig.https() as client:

            @upstream.on("/packed")
            def packed(call: Call) -> None:
                call.send_response(200)
                for name, value in headers:
                    call.send_header(name, value)
                if "Transfer-Encoding" not in dict(headers):
                    call.send_header("Content-Length", "8")
                call.end_headers()
                call.wfile.write(
                    b"3\r\nabc\r\n0\r\n\r\n" if "Transfer-Encoding" in dict(headers) else b"brotlied"
                )

            client.request("GET", "/packed", headers={"Accept-Encoding": "br, gzip"})
            answer = client.getresponse()
            page = answer.read(8)  # http.client knows no transfer coding but chunked, and would read for ever
            page += answer.read() if held else b""
            (end,) = rig.recorder.wait_for(LlmResponseEnd)
            asked = upstream.seen[0].header("accept-encoding")
        assert (answer.status, asked) == ((502, "gzip") if held else (200, "br, gzip"))
        assert (b"hark could not search it" in page) == bool(held)
        assert ("hark could not search it" in end.error) == bool(held)
        assert rig.recorder.of(LlmRequest)[0].headers["Accept-Encoding"] == "br, gzip"


@pytest.mark.parametrize("order", ["GET HEAD POST", "POST GET HEAD", "HEAD POST GET", "POST POST POST"])
def test_requests_sent_ahead_are_answered_in_their_order(order: str) -> None:
    with pair() as (rig, upstream), rig.tls(API) as sock:

        def answer(call: Call) -> None:
            call.reply(200, f"<{call.command} {call.path} {call.body.decode()}>".encode())

        upstream.routes |= {f"/{number}": answer for number in range(3)}
        sent, expected = b"", []
        for number, method in enumerate(order.split()):
            body = f"body{number}" if method == "POST" else ""
            last = "Connection: close\r\n" if number == 2 else ""
            head = f"{method} /{number} HTTP/1.1\r\nHost: {API}\r\n{last}Content-Length: {len(body)}\r\n\r\n"
            sent += (head + body).encode()
            expected.append(f"<{method} /{number} {body}>" if method != "HEAD" else "")
        got = raw(sock, sent)
        rig.recorder.wait_for(LlmResponseEnd, 3)
    answers = got.split(b"HTTP/1.1 200 OK\r\n")[1:]
    assert [answer.partition(b"\r\n\r\n")[2].decode() for answer in answers] == expected
    assert [seen.path for seen in upstream.seen] == ["/0", "/1", "/2"]
    kinds = [type(event) for event in rig.recorder.events if type(event) in (LlmRequest, LlmResponseEnd)]
    assert kinds == [LlmRequest, LlmResponseEnd] * 3
    assert rig.fatal == []


def test_a_request_sent_ahead_of_a_last_answer_does_not_leave() -> None:
    with pair() as (rig, upstream), rig.tls(API) as sock:
        upstream.routes["/1"] = lambda call: call.reply(200, b"last", [("Connection", "close")])
        got = raw(sock, b"".join(f"GET /{n} HTTP/1.1\r\nHost: {API}\r\n\r\n".encode() for n in range(3)))
        rig.recorder.wait_for(LlmResponseEnd, 2)
    assert got.endswith(b"last")
    assert [seen.path for seen in upstream.seen] == ["/0", "/1"]
    assert rig.fatal == []


def test_thousands_of_refused_requests_in_one_segment_are_answered_one_by_one() -> None:
    with plain() as (rig, upstream):
        sock = rig.dial(rig.address(API), 80)
        one = b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"
        last = f"GET /last HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode()
        sender = threading.Thread(target=sock.sendall, args=(one * 1500 + last,))
        sender.start()
        got = raw(sock, b"")
        sender.join()
        sock.close()
    assert rig.fatal == []
    assert got.count(b"HTTP/1.1 403 Forbidden") == 1500
    assert got.endswith(b"GET /last 0")
    assert [seen.path for seen in upstream.seen] == ["/last"]
    assert rig.fatal == []


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


def test_what_an_answer_must_not_say_in_its_trailers_is_dropped() -> None:
    with pair() as (rig, upstream), rig.tls(API) as sock:

        @upstream.on("/t")
        def trailing(call: Call) -> None:
            call.begin_chunked("text/plain")
            call.chunk(b"body")
            call.wfile.write(b"0\r\nSet-Cookie: a=1\r\nX-Sum: 42\r\nContent-Length: 4\r\n\r\n")

        got = raw(sock, f"GET /t HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())
        rig.recorder.wait_for(LlmResponseEnd)
    assert got.endswith(b"4\r\nbody\r\n0\r\nX-Sum: 42\r\n\r\n")
    assert [event.raw_headers for event in rig.recorder.of(Trailers)] == [((b"X-Sum", b"42"),)]
