"""One exchange over real sockets and TLS: what the server gets, what the agent gets, and what is recorded."""

import threading

import pytest

from hark.bundle.events import (
    EgressAttempt,
    EgressDecision,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    SecretInjected,
    Trailers,
)
from tests.fakes.upstream import Call
from tests.mediator.rig import API, OTHER, pair, plain, raw


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
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 400),
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


def test_connection_close_is_honoured() -> None:
    with pair() as (rig, _), rig.tls(API) as sock:
        assert b"200 OK" in raw(sock, f"GET / HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())


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
