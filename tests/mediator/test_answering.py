"""The server's half over real sockets and TLS: what the agent gets, and what is recorded of it."""

import base64
import gzip
import http.client
import threading
import time
from collections.abc import Callable

import pytest

from hark.bundle.events import (
    Interim,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    Trailers,
)
from mediator.bodies import StoppedError
from mediator.stream import Stream
from mediator.wire import MAX_INTERIM
from tests.fakes.upstream import Call, early
from tests.mediator.rig import API, OTHER, PLACEHOLDER, VALUE, pair, plain, raw, secret
from tests.mediator.test_stream import stream


def test_a_server_sent_event_reaches_the_agent_before_the_server_writes_the_next() -> None:
    received = threading.Event()
    with pair() as (rig, upstream), rig.https() as client:

        @upstream.on("/sse")
        def stream(call: Call) -> None:
            call.begin_chunked("text/event-stream")
            call.chunk(b"data: 1\n\n")
            assert received.wait(60)
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


HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nContent-Length: 7\r\n\r\n"


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
def test_an_interim_answer_passes_to_who_knows_of_it_and_is_recorded(version: str) -> None:
    with plain() as (rig, upstream):

        @upstream.on("/hints")
        def hints(call: Call) -> None:
            call.wfile.write(HINTS + b"HTTP/1.1 100 Continue\r\n\r\n")
            call.reply(200, b"real")

        sock = rig.dial(rig.address(API), 80)
        got = raw(sock, f"GET /hints {version}\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())
        sock.close()
        (interim,) = rig.recorder.of(Interim)
    assert interim[1:] == (103, {"Link": "</x>"}, ((b"Link", b"</x>"),))
    first = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    assert got.startswith(first) == (version == "HTTP/1.1")
    assert got.count(b"HTTP/1.1 ") == (2 if version == "HTTP/1.1" else 1)
    assert got.endswith(b"real")
    assert rig.fatal == []


def test_a_server_that_never_comes_to_its_answer_is_cut() -> None:
    with pair() as (rig, upstream), rig.https() as client:

        @upstream.on("/never")
        def never(call: Call) -> None:
            call.wfile.write(b"HTTP/1.1 102 Processing\r\n\r\n" * (MAX_INTERIM + 1))
            call.cut()

        client.request("GET", "/never")
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert "a hundred times" in end.error
    assert len(rig.recorder.of(Interim)) == MAX_INTERIM
    assert rig.fatal == []


def test_an_interim_answer_does_not_give_a_credential_back() -> None:
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.tls(API) as sock:

        @upstream.on("/hints")
        def hints(call: Call) -> None:
            call.wfile.write(HINTS.replace(b"</x>", VALUE.encode()))
            call.reply(200, b"real")

        got = raw(sock, f"GET /hints HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert PLACEHOLDER.encode() in got
    assert VALUE.encode() not in got + rig.recorder.bytes()
    assert end.error == ""


def test_an_answer_in_chunks_reaches_http_1_0_without_them() -> None:
    with plain() as (rig, upstream):

        @upstream.on("/chunks")
        def chunks(call: Call) -> None:
            call.begin_chunked("text/plain")
            for piece in (b"one", b"two", b""):
                call.chunk(piece)

        sock = rig.dial(rig.address(API), 80)
        got = raw(sock, f"GET /chunks HTTP/1.0\r\nHost: {API}\r\n\r\n".encode())
        sock.close()
    head, _, body = got.partition(b"\r\n\r\n")
    assert body == b"onetwo"
    assert b"transfer-encoding" not in head.lower()


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_never_has_a_body_leaves_the_connection_in_use(status: int) -> None:
    with pair() as (rig, upstream), rig.https() as client:

        @upstream.on("/none")
        def none(call: Call) -> None:
            call.send_response(status)
            if status == 304:
                call.send_header("Content-Length", "1234")
            call.end_headers()

        for _ in range(2):
            client.request("GET", "/none")
            answer = client.getresponse()
            assert (answer.status, answer.read()) == (status, b"")
        rig.recorder.wait_for(LlmResponseEnd, 2)
    assert upstream.dials == 1
    assert rig.recorder.of(LlmResponseChunk) == []


@pytest.mark.parametrize("form", ["plain", "header", "gzip", "split"])
def test_what_a_server_gives_back_reaches_the_agent_and_the_record_as_the_placeholder(form: str) -> None:
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
        answer = client.getresponse()
        fields, got = str(answer.getheaders()), answer.read()
        got = gzip.decompress(got) if form == "gzip" else got
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert VALUE not in fields
    assert VALUE.encode() not in rig.recorder.bytes()
    assert end.error == ""
    if form == "header":
        assert PLACEHOLDER in fields
        assert PLACEHOLDER in str(end.raw_headers)
    else:
        assert got == b'{"you sent": "%s"}' % PLACEHOLDER.encode()


@pytest.mark.parametrize("encode", [base64.b64encode, base64.b32encode])
def test_an_answer_in_which_the_value_cannot_be_turned_is_cut_before_the_agent_has_it(
    encode: Callable[[bytes], bytes],
) -> None:
    hidden = encode(VALUE.encode() + b", and more")
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.https() as client:
        upstream.routes["/echo"] = lambda call: call.reply(
            200, b"x" * 99 + b" " + hidden, [("Content-Type", "text/plain")]
        )
        client.request("GET", "/echo")
        with pytest.raises((http.client.IncompleteRead, OSError)) as cut:
            client.getresponse().read()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert encode(VALUE.encode())[:-8] not in str(cut.value).encode() + rig.recorder.bytes()
    assert end.error.startswith("its answer gives secrets.API_KEY back where hark cannot turn it")


def test_the_last_byte_of_a_piece_does_not_wait_for_the_next_piece() -> None:
    received = threading.Event()
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.https() as client:

        @upstream.on("/prompt")
        def prompt(call: Call) -> None:
            call.begin_chunked("application/octet-stream")
            call.chunk(b"ends in s")
            assert received.wait(60)
            call.chunk(b"")

        client.request("GET", "/prompt")
        answer, got = client.getresponse(), b""
        while len(got) < 9:
            got += answer.read1(100)
        received.set()
        assert got + answer.read() == b"ends in s"


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
    assert got.split(b"\r\n")[0].partition(b" ")[2] in (
        b"200 OK",
        b"999 ",
        b"502 Bad Gateway",
        b"103 Early Hints",
    )
    assert VALUE.encode() not in got
    assert rig.fatal == []


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Encoding", "compress")],
        [("Content-Encoding", "gzip"), ("Content-Encoding", "xz")],
        [("Transfer-Encoding", "gzip, chunked")],
    ],
)
def test_an_answer_that_cannot_be_searched_is_refused_in_words(headers: list[tuple[str, str]]) -> None:
    for held in ((secret(VALUE, OTHER),), ()):
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

            client.request("GET", "/packed", headers={"Accept-Encoding": "xz, gzip"})
            answer = client.getresponse()
            page = answer.read(8)  # http.client knows no transfer coding but chunked, and would read for ever
            page += answer.read() if held else b""
            (end,) = rig.recorder.wait_for(LlmResponseEnd)
            asked = upstream.seen[0].header("accept-encoding")
        assert (answer.status, asked) == ((502, "gzip") if held else (200, "xz, gzip"))
        assert (b"hark could not search" in page) == bool(held)
        assert ("hark could not search" in end.error) == bool(held)
        assert rig.recorder.of(LlmRequest)[0].headers["Accept-Encoding"] == "xz, gzip"


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


def test_an_early_413_reaches_the_agent_and_the_connection_does_not_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mediator.answering.DISCARD_S", 0.2)
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


def test_an_answer_that_comes_whole_is_recorded_once_and_nothing_of_its_end_is_held_back() -> None:
    body = b'{"ends": "like the beginning of a value: ' + VALUE[:-1].encode()
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.https() as client:
        upstream.routes["/w"] = lambda call: call.reply(200, body)
        client.request("GET", "/w")
        assert client.getresponse().read() == body
        rig.recorder.wait_for(LlmResponseEnd)
    assert [event.data for event in rig.recorder.of(LlmResponseChunk)] == [body]


def test_an_answer_that_comes_whole_gives_the_placeholder_for_a_value_at_its_very_end() -> None:
    with (
        pair(secrets=(secret(VALUE, API, placeholder=PLACEHOLDER),)) as (rig, upstream),
        rig.https() as client,
    ):
        upstream.routes["/w"] = lambda call: call.reply(200, b"it is " + VALUE.encode())
        client.request("GET", "/w")
        assert client.getresponse().read() == b"it is " + PLACEHOLDER.encode()
    assert rig.fatal == []


def looked_at(one: Stream, data: bytes) -> bytes:
    looking = one._looked_at(data)
    with pytest.raises(StopIteration) as done:
        next(looking)
    return done.value.value  # type: ignore[no-any-return]


def test_more_of_a_body_than_was_announced_is_no_part_of_it() -> None:
    one = stream()
    one._whole = 3
    assert looked_at(one, b"abc") == b"abc"
    with pytest.raises(StoppedError, match="more of a body"):
        looked_at(one, b"d")


def test_a_piece_that_is_not_the_whole_is_followed_by_others() -> None:
    one = stream()
    one._whole = 6
    assert looked_at(one, b"abc") + looked_at(one, b"def") == b"abcdef"
