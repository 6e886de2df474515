"""What was written before an end arrives; no answer that did not leave for the agent is recorded whole."""

import select
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hark.bundle.events import AGENT_LEFT, RUN_ENDED, LlmResponseChunk, LlmResponseEnd, TunnelData
from hark.policy.model import Address, Published, Rule, Speaks
from mediator import handler, transport
from mediator.handler import AgentConnection
from mediator.publish import listen
from tests.fakes.raw import Serve, raw_server
from tests.fakes.upstream import Call, Upstream
from tests.mediator.rig import API, Rig, pair, plain, running
from tests.mediator.test_http import Client
from tests.mediator.test_http import pair as over_http2
from tests.support.waiting import until

SIZE = 12 << 20  # more than the kernel takes for a reader that reads nothing


@contextmanager
def asked(path: str, *, tls: bool, close: bool = True, **more: Any) -> Iterator[tuple[Rig, Upstream, Any]]:
    """Ask, and give what was asked over with nothing of the answer read."""
    with (pair if tls else plain)(**more) as (rig, upstream):
        upstream.routes |= {"/length": _length, "/until-close": _until_close}
        upstream.routes |= {"/chunked": _chunked, "/head": _head}
        sock = rig.tls(API) if tls else rig.dial(rig.address(API), 80)
        try:
            last = "Connection: close\r\n" if close else ""
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {API}\r\n{last}\r\n".encode())
            yield rig, upstream, sock
        finally:
            sock.close()


def _length(call: Call) -> None:
    call.reply(200, b"a" * SIZE)


def _until_close(call: Call) -> None:
    call.send_response(200)
    call.end_headers()
    call.wfile.write(b"a" * SIZE)
    call.close_connection = True


def _chunked(call: Call) -> None:
    call.begin_chunked("text/plain")
    for _ in range(SIZE >> 16):
        call.chunk(b"a" * (1 << 16))
    call.chunk(b"")


def _head(call: Call) -> None:
    call.reply(200, b"", [(f"X-{number}", "a" * 40_000) for number in range(5)])


def all_of(sock: socket.socket) -> bytes:
    """Read to the end. An OSError where it is cut."""
    got = bytearray()
    while piece := sock.recv(1 << 16):
        got += piece
    return bytes(got)


def passed_on(rig: Rig, size: int = SIZE) -> None:
    """Wait until the server's last byte has been recorded and handed on."""
    until(lambda: sum(len(event.data) for event in rig.recorder.of(LlmResponseChunk)) >= size)


@pytest.fixture
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a whole answer wait with us, so that its end comes while most of it waits."""
    monkeypatch.setattr(AgentConnection, "_take", _at_once)
    monkeypatch.setattr(AgentConnection, "_drained", _not_waited)


_real_take = AgentConnection._take


def _at_once(self: AgentConnection, connection: Any, data: bytes) -> None:
    _real_take(self, connection, data)


async def _not_waited(self: AgentConnection, connection: Any) -> None:
    del self, connection


PATHS = ["/length", "/until-close", "/chunked"]


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.usefixtures("roomy")
def test_an_answer_that_ends_its_connection_reaches_a_slow_reader_whole(path: str, tls: bool) -> None:
    with asked(path, tls=tls) as (rig, _, sock):
        passed_on(rig)
        assert not rig.recorder.of(LlmResponseEnd)
        assert all_of(sock).count(b"a") >= SIZE
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert (end.status, end.error) == (200, "")
    assert rig.fatal == []


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_so_does_one_that_was_held_up_by_its_reader(path: str, tls: bool) -> None:
    with asked(path, tls=tls) as (rig, _, sock):
        assert all_of(sock).count(b"a") >= SIZE
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert (end.status, end.error) == (200, "")
    assert rig.fatal == []


@pytest.mark.usefixtures("roomy")
def test_the_control_without_the_wait_a_slow_reader_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TLS, whose transport of CPython 3.12 waits by itself."""

    async def at_once(_: AgentConnection) -> None:
        pass

    monkeypatch.setattr(AgentConnection, "delivered", at_once)
    with asked("/length", tls=False) as (rig, _, sock):
        passed_on(rig)
        with pytest.raises(OSError, match=r"reset|EOF"):
            all_of(sock)
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        assert end.error  # cut, and on the record so


@pytest.mark.parametrize("tls", [False, True])
def test_a_head_that_does_not_fit_at_once_arrives_before_the_connection_ends(tls: bool) -> None:
    with asked("/head", tls=tls) as (rig, _, sock):
        assert all_of(sock).count(b"a" * 40_000) == 5
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.error == ""
    assert rig.fatal == []


@pytest.mark.parametrize("close", [True, False])
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.usefixtures("roomy")
def test_an_agent_that_leaves_before_all_has_left_for_it_has_no_whole_answer_on_the_record(
    tls: bool, close: bool
) -> None:
    with asked("/length", tls=tls, close=close) as (rig, _, sock):
        passed_on(rig)
        sock.recv(100)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.error == AGENT_LEFT
    assert rig.fatal == []


@pytest.mark.parametrize("tls", [False, True])
def test_an_agent_that_resets_amid_an_answer_is_who_left_and_not_its_server(tls: bool) -> None:
    with asked("/length", tls=tls, close=False) as (rig, _, sock):
        until(lambda: rig.recorder.of(LlmResponseChunk))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.error == AGENT_LEFT
    assert rig.fatal == []


@pytest.mark.usefixtures("roomy")
def test_a_run_that_ends_meanwhile_does_not_wait_and_says_so() -> None:
    with asked("/length", tls=False) as (rig, _, sock):
        passed_on(rig)
        rig.mediator.stop()
        (end,) = rig.recorder.of(LlmResponseEnd)
        with pytest.raises(ConnectionResetError):
            all_of(sock)
    assert end.error == RUN_ENDED
    assert rig.fatal == []


@pytest.mark.usefixtures("roomy")
def test_a_reader_that_takes_nothing_for_long_is_reset_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "STALLED_S", 0.3)
    monkeypatch.setattr(handler, "STALLED_S", 0.3)
    with asked("/length", tls=False) as (rig, _, sock):
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        with pytest.raises(ConnectionResetError):
            all_of(sock)
    assert end.error == AGENT_LEFT
    assert any("took nothing of an answer" in warning for warning in rig.mediator.summary().warnings)
    assert rig.fatal == []


def _then(does: str, client: Client, stream: int) -> None:
    """Let an agent that took a window of an answer do one thing more."""
    match does:
        case "reset the stream":
            client.h2.reset_stream(stream)
        case "went away":
            client.sock.close()
            return
        case _:
            client.h2.increment_flow_control_window(1 << 20)
            client.h2.increment_flow_control_window(1 << 20, stream)
    client.flush()


@pytest.mark.parametrize(
    ("does", "error"), [("took the rest", ""), ("reset the stream", AGENT_LEFT), ("went away", AGENT_LEFT)]
)
def test_an_answer_that_waits_for_windows_is_whole_only_once_they_open(does: str, error: str) -> None:
    with over_http2() as (rig, client, upstream):
        size = 200_000  # three times the window that a stream begins with
        upstream.routes["/large"] = lambda call: call.reply(200, b"a" * size)
        stream = client.ask("/large")
        passed_on(rig, size)
        assert not rig.recorder.of(LlmResponseEnd)
        _then(does, client, stream)
        if not error:
            (answer,) = client.wait(stream)
            assert len(answer.body) == size
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.error == error
    assert rig.fatal == []


@contextmanager
def unread_upload() -> Iterator[tuple[Rig, socket.socket]]:
    """An agent that sent more than a server takes, and left."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        running(f"{API}:80", upstreams={API: f"127.0.0.1:{listener.getsockname()[1]}"}) as rig,
    ):
        sock = rig.dial(rig.address(API), 80)
        sock.sendall(f"PUT / HTTP/1.1\r\nHost: {API}\r\nContent-Length: {SIZE * 2}\r\n\r\n".encode())
        with listener.accept()[0] as server:
            server.settimeout(60)
            with sock:
                sock.sendall(b"a" * SIZE)
            rig.recorder.wait_for(LlmResponseEnd)
            yield rig, server


@pytest.mark.usefixtures("roomy")
def test_a_server_that_takes_nothing_more_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handler, "CLOSING_S", 0.1)
    with unread_upload() as (rig, server):
        ended = select.poll()
        ended.register(server, 0)  # its end alone
        until(lambda: ended.poll(0), "the connection ends")
        with pytest.raises(ConnectionResetError):
            all_of(server)
    assert rig.fatal == []


@pytest.mark.usefixtures("roomy")
def test_the_control_one_that_reads_in_time_gets_what_was_sent_before_the_agent_left() -> None:
    with unread_upload() as (rig, server):
        assert len(all_of(server)) > SIZE
    assert rig.fatal == []


@contextmanager
def through_a_tunnel(serve: Serve) -> Iterator[tuple[Rig, socket.socket]]:
    rule = Rule(API, (5432,), "db", Speaks.TCP)
    with (
        raw_server(serve) as server,
        running(rules=(rule,), upstreams={API: server.address}) as rig,
        rig.dial(rig.address(API), 5432) as sock,
    ):
        yield rig, sock


@contextmanager
def into_a_published_port(serve: Serve) -> Iterator[tuple[Rig, socket.socket]]:
    with raw_server(serve) as server:
        here = Published(8000, Address("127.0.0.1", 0))
        opened = listen((here,), lambda _: socket.create_connection(("127.0.0.1", server.port)))
        with (
            running(published=opened) as rig,
            socket.create_connection(opened.listeners[0][1].getsockname(), timeout=60) as sock,
        ):
            yield rig, sock


@pytest.mark.parametrize("way", [through_a_tunnel, into_a_published_port])
def test_what_raw_connections_said_before_they_ended_arrives_too(way: Any) -> None:
    def serve(sock: socket.socket) -> None:
        sock.sendall(b"a" * SIZE)
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)

    with way(serve) as (rig, sock):
        until(lambda: rig.recorder.of(TunnelData))
        sock.shutdown(socket.SHUT_WR)
        assert len(all_of(sock)) == SIZE
        until(lambda: sum(event.end for event in rig.recorder.of(TunnelData)) == 2)
    assert [event.error for event in rig.recorder.of(TunnelData) if event.end] == ["", ""]
    assert rig.fatal == []
