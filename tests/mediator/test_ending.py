"""What goes wrong in an exchange, over real sockets and TLS: both sides are told, and the record too."""

import http.client
import socket
import threading
import time

import pytest

from hark.bundle.events import (
    LlmResponseChunk,
    LlmResponseEnd,
)
from tests.fakes.upstream import Call, serving
from tests.mediator.rig import API, OTHER, pair, plain, raw, running


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


def test_a_refused_upload_gets_its_page_before_the_upload_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mediator.ending.DISCARD_S", 0.2)
    with pair() as (rig, upstream), rig.tls(API) as sock:
        head = f"POST / HTTP/1.1\r\nHost: evil.test\r\nContent-Length: {1 << 30}\r\n\r\n"
        sock.sendall(head.encode() + b"x" * 1000)
        got = raw(sock, b"y" * 1000)
        assert got.startswith(b"HTTP/1.1 403")
        assert b"connection: close" in got
        assert upstream.dials == 0


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
        assert gone.wait(60)
