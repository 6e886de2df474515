"""Fail closed: whatever raises, wherever, the connection ends at once, nothing passes, the run is marked."""

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Callable

import pytest

from hark.bundle.events import LlmRequest, LlmResponseChunk, LlmResponseEnd, RequestChunk
from mediator import dial, exchange, handler, outgoing, tls, wire
from mediator import http as mediator_http
from mediator.handler import AgentConnection
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import Call, Upstream, serving
from tests.mediator.rig import API, Rig, running, secret
from tests.support.waiting import until

VALUE = "sk-real-5e884898da280471"
PLACEHOLDER = "sk-harkAbCdEfGhIjKlMnOpQrStUv"
PIECES = (b"alpha", b"beta", b"gamma")
SLOW = 30.0  # a hang is 60 s: the clients' timeout


def session(rig: Rig) -> bytes:
    """Ask for a name, upload a streamed body and read a streamed answer; return what came back."""
    got = b""
    try:
        with rig.https() as client:
            client.putrequest("POST", "/stream")
            client.putheader("Transfer-Encoding", "chunked")
            client.putheader("Authorization", f"Bearer {PLACEHOLDER}")
            client.endheaders()
            client.send(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
            answer = client.getresponse()
            got = answer.read()
            client.request("GET", "/again")
            got += client.getresponse().read()
    except http.client.IncompleteRead as error:
        got += error.partial
    except (http.client.HTTPException, OSError):
        pass
    return got


def stream(call: Call) -> None:
    call.begin_chunked("text/plain")
    for piece in (*PIECES, b""):
        call.chunk(piece)


def stream_apart(recorder: ListRecorder) -> Callable[[Call], None]:
    """The same, each piece sent when the one before is recorded: so every session makes as many appends."""
    sent: list[bytes] = []

    def passed() -> bool:
        failed = recorder.fail_at is not None and recorder.appends >= recorder.fail_at
        return failed or len(recorder.of(LlmResponseChunk)) >= len(sent)

    def route(call: Call) -> None:
        call.begin_chunked("text/plain")
        for piece in PIECES:
            sent.append(piece)
            call.chunk(piece)
            until(passed)
        call.chunk(b"")

    return route


@pytest.fixture(scope="module")
def appends() -> int:
    """Return how many appends a whole session makes."""
    recorder = ListRecorder()
    with serving(API) as upstream:
        upstream.routes["/stream"] = stream_apart(recorder)
        with running(
            API,
            upstreams={API: upstream.address},
            roots=upstream.ca_pem,
            secrets=(secret(VALUE, API),),
            recorder=recorder,
        ) as rig:
            assert session(rig) == b"alphabetagammaGET /again 0"
            rig.recorder.wait_for(LlmResponseEnd, 2)
            assert rig.fatal == []
        return recorder.appends


def test_a_record_that_fails_at_any_append_forwards_nothing_unrecorded(appends: int) -> None:
    assert appends >= 14
    for number in range(1, appends + 1):
        _fail_at(number)


def _fail_at(number: int) -> None:
    recorder = ListRecorder(fail_at=number)
    with serving(API) as upstream:
        upstream.routes["/stream"] = stream_apart(recorder)
        with running(
            API,
            upstreams={API: upstream.address},
            roots=upstream.ca_pem,
            secrets=(secret(VALUE, API),),
            recorder=recorder,
        ) as rig:
            began = time.monotonic()
            got = b""
            if number > 2:
                got = session(rig)
            else:
                with pytest.raises(TimeoutError):
                    rig.ask_raw(b"\0\1\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1", 0.2)
            assert time.monotonic() - began < SLOW, number
            until(lambda: rig.fatal, f"append {number} to fail")  # the last ones come after the answer
        assert len(rig.fatal) == 1, number
        assert "no space left on device" in rig.fatal[0]
    recorded = b"".join(event.data for event in recorder.of(LlmResponseChunk))
    assert recorded.startswith(got), number
    assert len(upstream.seen) <= len(recorder.of(LlmRequest)), number
    sent = b"".join(event.data for event in recorder.of(RequestChunk))
    assert sent.startswith(b"".join(seen.body for seen in upstream.seen[:1])), number


class BoomError(Exception):
    """A bug."""


def boom(*_: object, **__: object) -> None:
    raise BoomError("with a secret in it: " + VALUE)


def boom_generator(*_: object, **__: object) -> object:
    raise BoomError("with a secret in it: " + VALUE)
    yield


async def boom_later(*_: object, **__: object) -> None:
    raise BoomError("with a secret in it: " + VALUE)


PLACES: dict[str, tuple[object, str, Callable[..., object]]] = {
    "judgement": (outgoing, "judge", boom),
    "request-head": (exchange.Exchange, "_on_head", boom_generator),
    "request-data": (exchange.Exchange, "_send_piece", boom_generator),
    "request-end": (exchange.Exchange, "_on_end", boom_generator),
    "answer-head": (exchange.Exchange, "_on_answer", boom_generator),
    "answer-data": (exchange.Exchange, "_on_answer_data", boom_generator),
    "answer-end": (exchange.Exchange, "_on_answer_end", boom_generator),
    "stream": (mediator_http.AgentHttp, "make_stream", boom_generator),
    "connection": (mediator_http.AgentHttp, "_open", boom_generator),
    "upstream-start": (mediator_http.UpstreamStart, "_handle_event", boom_generator),
    "dial": (dial.Dialler, "dial", boom_later),
    "opened": (AgentConnection, "_opened", boom),
    "tls-start-hook": (tls.AgentContexts, "start", boom),
    "tls-established-hook": (handler, "check_name", boom),
    "http1-body": (wire.AgentHttp1, "_next_part", boom),
    "http1-answer": (wire.UpstreamHttp1, "read_headers", boom_generator),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_bug_ends_the_connection_at_once_and_marks_the_run(
    place: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(API) as upstream:
        upstream.routes["/stream"] = stream
        with running(
            API, upstreams={API: upstream.address}, roots=upstream.ca_pem, secrets=(secret(VALUE, API),)
        ) as rig:
            owner, name, broken = PLACES[place]
            monkeypatch.setattr(owner, name, broken)
            began = time.monotonic()
            got = session(rig)
            assert time.monotonic() - began < SLOW
    assert b"again" not in got
    assert len(rig.fatal) == 1
    assert "BoomError" in rig.fatal[0]
    assert VALUE not in rig.fatal[0]
    assert VALUE not in "".join(capfd.readouterr())


def test_two_readings_of_the_server_name_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judged name is ours, the certificate's is OpenSSL's: they must be one."""
    from mediator import gate
    from mediator.sniff import Tls

    real = gate.sniff

    def misread(data: bytes) -> object:
        spoken = real(data)
        return Tls(API.encode(), ()) if isinstance(spoken, Tls) else spoken

    monkeypatch.setattr(gate, "sniff", misread)
    with running(API) as rig:
        sock = rig.dial(rig.address(API))
        context = rig.context()
        context.check_hostname = False
        with contextlib.suppress(OSError), context.wrap_socket(sock, server_hostname="evil.test") as wrapped:
            assert wrapped.recv(1) == b""
        sock.close()
        until(lambda: rig.fatal)
    assert "two readings of its server name" in rig.fatal[0]


def test_an_upload_waits_while_a_connection_is_made_instead_of_filling_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import asyncio

    real = dial.Dialler.dial
    backlog: list[int] = []
    full = mediator_http.AgentHttp.full.fget
    assert full is not None

    async def slowly(self: dial.Dialler, *args: object, **kwargs: object) -> object:
        await asyncio.sleep(0.5)
        return await real(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(dial.Dialler, "dial", slowly)

    def watched(self: mediator_http.AgentHttp) -> bool:
        backlog.append(sum(exchange.backlog for exchange in self.exchanges))
        return full(self)  # type: ignore[no-any-return]

    monkeypatch.setattr(mediator_http.AgentHttp, "full", property(watched))
    body = b"z" * (16 << 20)
    with (
        serving(API, tls=False) as upstream,
        running(f"{API}:80", upstreams={API: upstream.address}) as rig,
        rig.http() as client,
    ):
        client.request("PUT", "/", body=body)
        assert client.getresponse().read() == b"PUT / %d" % len(body)
    assert max(backlog) <= mediator_http.MAX_BACKLOG + 8


def test_mitmproxys_words_go_nowhere(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with serving(API) as upstream, running(API, upstreams={API: upstream.address}) as rig:
        with rig.https() as client:
            client.request("GET", "/")
            client.getresponse().read()
        with socket.create_connection(rig.tcp):
            pass
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_the_control_a_session_without_a_fault_passes_whole() -> None:
    recorder = ListRecorder()
    with serving(API) as upstream:
        upstream.routes["/stream"] = stream_apart(recorder)
        with running(
            API,
            upstreams={API: upstream.address},
            roots=upstream.ca_pem,
            secrets=(secret(VALUE, API),),
            recorder=recorder,
        ) as rig:
            assert session(rig) == b"alphabetagammaGET /again 0"
        assert rig.fatal == []
    assert isinstance(upstream, Upstream)


@pytest.mark.parametrize(("patience", "lives"), [(0.2, False), (handler.IDLE_S, True)])
def test_a_model_that_is_silent_for_long_is_waited_for(
    patience: float, lives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One clock alone ends a silent call, and it is set to far more than twenty minutes."""
    assert handler.IDLE_S > 60 * 60
    settings, given_up = handler._Settings, threading.Event()
    monkeypatch.setattr(handler, "_Settings", lambda: settings(tcp_timeout=patience))  # type: ignore[arg-type]
    with (
        serving(API) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
        rig.https() as client,
    ):

        @upstream.on("/think")
        def think(call: Call) -> None:
            given_up.wait(1 if lives else 60)
            call.reply(200, b"thought")

        client.request("GET", "/think")
        try:
            got = client.getresponse().read()
        except (http.client.HTTPException, OSError):
            got = b""
        given_up.set()
    assert (got == b"thought") == lives
