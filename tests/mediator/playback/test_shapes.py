"""Each shape of an answer, recorded from a real server and played back without one: the same bytes."""

import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hark.bundle.events import (
    AGENT_LEFT,
    Interim,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    RequestChunk,
    Trailers,
)
from mediator.playback import playback
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import Answer, Call, early
from tests.mediator.playback.rig import Played, frames_of, playing, recording
from tests.mediator.rig import API, Rig, pair, plain, raw, running

type Talk = Callable[[Rig], Any]
NAME = f"{API}:80"


def get(path: str, method: str = "GET", body: bytes = b"", *headers: str) -> bytes:
    """Return a request after which the connection is closed."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {API}", "Connection: close", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def saying(*requests: bytes) -> Talk:
    """Send requests, each on a connection of its own, and return all that came back."""

    def talk(rig: Rig) -> list[bytes]:
        got = []
        for number, request in enumerate(requests, 1):
            sock = rig.dial(rig.address(API), 80)
            got.append(raw(sock, request))
            sock.close()
            rig.recorder.wait_for(LlmResponseEnd, number)
        return got

    return talk


def twice(tmp_path: Path, talk: Talk, routes: dict[str, Answer]) -> tuple[Any, Any, ListRecorder, Played]:
    """Record and play back."""
    path = tmp_path / "run.hark"
    with recording(path) as recorder, plain(recorder=recorder) as (rig, upstream):
        upstream.routes |= routes
        first = talk(rig)
        dials = upstream.dials
    with playing(frames_of(path), NAME) as played:
        second = talk(played.rig)
    assert upstream.dials == dials
    return first, second, recorder, played


def same(tmp_path: Path, talk: Talk, routes: dict[str, Answer]) -> Any:
    """Record, play back, see that nothing differs, and return what the agent got."""
    first, second, recorder, played = twice(tmp_path, talk, routes)
    assert second == first
    assert played.diverged == []
    report = played.playback.report()
    assert (report.unconsumed, report.dials) == ((), 0)
    again = played.rig.recorder
    for kind in (LlmRequest, RequestChunk, LlmResponseEnd, Interim, Trailers):
        assert again.of(kind) == recorder.of(kind)
    mine, theirs = ([one.data for one in book.of(LlmResponseChunk)] for book in (again, recorder))
    assert mine == theirs
    assert played.rig.fatal == []
    return first


def sse(call: Call) -> None:
    """Stream events of odd sizes, some of them in pieces."""
    call.begin_chunked("text/event-stream")
    for number in range(12):
        call.chunk(b"data: %d%s\n\n" % (number, b"x" * (number * 37)))
        time.sleep(0.002)
    call.chunk(b"")


def test_a_stream_of_events_keeps_its_pieces(tmp_path: Path) -> None:
    (got,) = same(tmp_path, saying(get("/sse")), {"/sse": sse})
    assert got.count(b"data: ") == 12


def test_an_agent_that_knows_the_last_event_may_leave_with_it(tmp_path: Path) -> None:
    """The end is a read of its own, and came with the last event: neither run may hang on who is quicker."""

    def done(call: Call) -> None:
        call.begin_chunked("text/event-stream")
        call.chunk(b"data: 1\n\n")
        time.sleep(0.03)
        call.chunk(b"data: [DONE]\n\n")
        call.chunk(b"")

    def until_done(rig: Rig) -> bytes:
        sock = rig.dial(rig.address(API), 80)
        sock.sendall(get("/done"))
        got = b""
        while b"[DONE]" not in got:
            got += sock.recv(1 << 16)
        if not until_done.replayed:
            rig.recorder.wait_for(LlmResponseEnd)
        until_done.replayed = True
        sock.close()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        return end.error.encode()

    until_done.replayed = False
    first, second, _, played = twice(tmp_path, until_done, {"/done": done})
    assert (first, second) == (b"", b"")
    assert played.playback.report().unconsumed == ()


def test_an_agent_that_leaves_with_the_head_leaves_an_answer_that_was_whole_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body had come in one with the head: the agent must not be able to go in between."""

    def head_only(rig: Rig, *, stays: bool) -> str:
        with rig.tls(API) as sock:
            sock.sendall(get("/left"))
            sock.recv(1)
            if stays:
                rig.recorder.wait_for(LlmResponseEnd)
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        return end.error

    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes["/left"] = lambda call: call.reply(200, b"not read")
        assert not head_only(rig, stays=True)
    monkeypatch.setattr(
        playback, "SETTLE_S", 0.5
    )  # whoever waits between the two waits long enough to see it
    with playing(frames_of(path), API, idle=lambda: False) as played:
        assert not head_only(played.rig, stays=False)
    assert played.playback.report().unconsumed == ()


def test_trailers_follow_the_body(tmp_path: Path) -> None:
    def answer(call: Call) -> None:
        call.begin_chunked("text/plain", [("Trailer", "X-Sum")])
        call.wfile.write(b"4\r\nbody\r\n0\r\nX-Sum: 42\r\n\r\n")

    (got,) = same(tmp_path, saying(get("/t")), {"/t": answer})
    assert got.endswith(b"X-Sum: 42\r\n\r\n")


@pytest.mark.parametrize("status", [204, 304, 200, 404, 500, 299])
def test_a_status_without_a_body_or_with_one(tmp_path: Path, status: int) -> None:
    def answer(call: Call) -> None:
        call.send_response(status)
        if status not in (204, 304):
            call.send_header("Content-Length", "0")
        call.end_headers()

    (got,) = same(tmp_path, saying(get("/s")), {"/s": answer})
    assert got.startswith(b"HTTP/1.1 %d " % status)


def test_head_keeps_the_length_of_the_body_that_it_does_not_get(tmp_path: Path) -> None:
    (got,) = same(tmp_path, saying(get("/h", "HEAD")), {"/h": lambda call: call.reply(200, b"x" * 77)})
    assert b"content-length: 77" in got.lower()
    assert got.endswith(b"\r\n\r\n")


def test_two_cookies_and_bytes_outside_of_utf8_stay(tmp_path: Path) -> None:
    def answer(call: Call) -> None:
        head = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX: \xff\xfe\r\nset-cookie: b=2\r\n"
        call.wfile.write(head + b"Content-Length: 2\r\n\r\nok")

    (got,) = same(tmp_path, saying(get("/c")), {"/c": answer})
    assert got.lower().count(b"set-cookie") == 2
    assert b"\xff\xfe" in got


def test_an_answer_before_the_answer_comes_before_it(tmp_path: Path) -> None:
    def answer(call: Call) -> None:
        call.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n")
        call.reply(200, b"ok")

    (got,) = same(tmp_path, saying(get("/i")), {"/i": answer})
    assert got.startswith(b"HTTP/1.1 103")
    assert b"HTTP/1.1 200" in got


def test_continue_is_said_again(tmp_path: Path) -> None:
    (got,) = same(tmp_path, saying(get("/e", "POST", b"body", "Expect: 100-continue")), {})
    assert got.startswith(b"HTTP/1.1 100 Continue")


def test_an_answer_that_ends_with_its_connection(tmp_path: Path) -> None:
    def answer(call: Call) -> None:
        call.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end")
        call.close_connection = True

    (got,) = same(tmp_path, saying(get("/u")), {"/u": answer})
    assert got.endswith(b"until the end")


@pytest.mark.parametrize("chunked", [True, False])
def test_an_answer_that_was_cut_is_cut_at_the_same_byte_and_not_ended(tmp_path: Path, chunked: bool) -> None:
    def answer(call: Call) -> None:
        if chunked:
            call.begin_chunked("text/plain")
            call.chunk(b"half of")
        else:
            call.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of")
        time.sleep(0.02)
        call.cut()

    (got,) = same(tmp_path, saying(get("/cut")), {"/cut": answer})
    assert b"half of" in got
    assert got.endswith(b"<reset>")


def test_a_server_that_was_not_reached_is_not_reached_again(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{closed.getsockname()[1]}"
        talk = saying(get("/a"), get("/b", "HEAD"), get("/c", "POST", b"body"))
        with recording(path) as recorder, running(NAME, upstreams={API: where}, recorder=recorder) as rig:
            first = talk(rig)
    assert b"502" in first[0]
    with playing(frames_of(path), NAME) as played:
        assert talk(played.rig) == first
        assert played.rig.recorder.of(LlmResponseEnd) == recorder.of(LlmResponseEnd)
    assert played.playback.report().unconsumed == ()


def test_a_server_that_hangs_up_without_an_answer_does_so_again(tmp_path: Path) -> None:
    (got,) = same(tmp_path, saying(get("/no")), {"/no": lambda call: call.cut()})
    assert b"502" in got


def test_an_upload_that_was_refused_early_is_refused_as_early(tmp_path: Path) -> None:
    @early
    def answer(call: Call) -> None:
        call.reply(413, b"too large", [("Connection", "close")])
        call.close_connection = True

    def talk(rig: Rig) -> bytes:
        sock = rig.dial(rig.address(API), 80)
        sock.sendall(get("/up", "POST", b"", "Transfer-Encoding: chunked") + b"5\r\nfirst\r\n")
        got = b""
        while not got.endswith(b"too large"):
            piece = sock.recv(4096)
            assert piece, got
            got += piece
        rig.recorder.wait_for(LlmResponseEnd)
        sock.close()
        return got

    assert b"413" in same(tmp_path, talk, {"/up": answer})


def test_a_streamed_upload_is_matched_when_it_is_whole(tmp_path: Path) -> None:
    body = (
        b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in (b"one", b"two" * 1000, b"three"))
        + b"0\r\n\r\n"
    )
    request = get("/up", "POST", b"", "Transfer-Encoding: chunked") + body
    (got,) = same(tmp_path, saying(request), {})
    assert got.endswith(b"POST /up 3008")


def test_a_retry_gets_the_second_answer(tmp_path: Path) -> None:
    answers = [503, 429, 200]
    (first, second, third) = same(
        tmp_path, saying(*[get("/r")] * 3), {"/r": lambda call: call.reply(answers.pop(0), b"x")}
    )
    assert [one.split()[1] for one in (first, second, third)] == [b"503", b"429", b"200"]


def test_a_request_that_the_policy_refuses_is_refused_again_by_the_policy(tmp_path: Path) -> None:
    foreign = get("/").replace(API.encode(), b"evil.example.test")
    (got, after) = same(tmp_path, saying(foreign, get("/ok")), {})
    assert got.startswith(b"HTTP/1.1 403")
    assert after.endswith(b"GET /ok 0")


def one_then_silence(call: Call) -> None:
    """Begin to answer, and say no more until nobody listens."""
    call.begin_chunked("text/plain")
    call.chunk(b"one")
    while call.connection.recv(1):
        pass


def first_piece(rig: Rig) -> ssl.SSLSocket:
    """Ask over TLS, without which the end of what is said is not yet that of listening; read one piece."""
    sock = rig.tls(API)
    sock.sendall(get("/l"))
    got = b""
    while not got.endswith(b"one\r\n"):
        piece = sock.recv(4096)
        assert piece, got
        got += piece
    return sock


def test_an_agent_that_left_in_the_middle_gets_no_more_before_it_leaves_again(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes["/l"] = one_then_silence
        first_piece(rig).close()
        (end,) = recorder.wait_for(LlmResponseEnd)
        assert end.error == AGENT_LEFT
    with playing(frames_of(path), API) as played:
        sock = first_piece(played.rig)
        sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        assert played.playback.report().unconsumed != ()
        sock.close()
        assert played.rig.recorder.wait_for(LlmResponseEnd) == [end]
    assert played.diverged == []
    assert played.playback.report().unconsumed == ()


def test_an_agent_that_does_not_leave_as_it_did_is_a_stall(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes["/l"] = one_then_silence
        first_piece(rig).close()
        recorder.wait_for(LlmResponseEnd)
    with playing(frames_of(path), API, stall_s=0.5) as played:
        sock = first_piece(played.rig)
        why = played.wait_diverged()
        sock.close()
    assert why.kind == "stall"
    assert why.words.startswith(f"the agent's going away from GET {API}/l (event ")


def test_names_and_connections_that_are_denied_are_denied_again(tmp_path: Path) -> None:
    def talk(rig: Rig) -> Any:
        sock = rig.dial("198.51.100.7", 9)
        got = raw(sock, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        sock.close()
        return (str(rig.ask("evil.example.test").header.rcode), got, saying(get("/ok"))(rig))

    same(tmp_path, talk, {})
