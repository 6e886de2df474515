"""An agent that takes nothing of an upgraded stream keeps hark from reading its server: nothing of a value
that is held back passes for that. Real sockets with small buffers; without and with TLS on both sides.
"""

import contextlib
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

import mediator.streaming
from hark.bundle.events import LlmResponseEnd, WebSocketMessage
from mediator.handler import AgentConnection
from mediator.scan import HOLD_FROM
from tests.fakes.raw import RawServer, raw_server, read_all
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import certified
from tests.mediator.rig import API, Rig, running, secret
from tests.mediator.test_streaming import AGREED, ASK, RULE, head_of
from tests.support.waiting import settled, until

OWN = "Q7wZ3kXv9LrT2mNb8HsD4pYc"
"""Without a beginning that tells what it is."""
CUT = 8
"""Less than half of it, which passes if the server says nothing more."""
SHOWN = "harkAbCdEfGhIjKlMnOpQrStUvWx"
FLOOD = 1 << 20
SMALL = 4096
AGAIN = range(4)
TRIES = 60  # each group of the same border hits in half of the cases or never
PORTS = {False: 80, True: 443}

type Said = Callable[[socket.socket], None]


@contextmanager
def streaming(said: Said, *, tls: bool) -> Iterator[tuple[Rig, RawServer]]:
    """A server that switches and then does as `said`, and knows a credential."""
    ca_pem, context = certified((API,))
    port = PORTS[tls]

    def serve(plain: socket.socket) -> None:
        with context.wrap_socket(plain, server_side=True) if tls else plain as connection:
            if head_of(connection):
                connection.sendall(AGREED)
                with contextlib.suppress(OSError):
                    said(connection)

    held = (secret(OWN, f"{API}:{port}", placeholder=SHOWN),)
    rule = replace(RULE, ports=(port,))
    with (
        raw_server(serve) as server,
        running(rules=(rule,), secrets=held, upstreams={API: server.address}, roots=ca_pem) as rig,
    ):
        rig.sockets.tcp4.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)  # what is accepted has it too
        yield rig, server
    assert server.errors == []


def opened(rig: Rig, *, tls: bool) -> socket.socket:
    """Ask for the stream as an agent whose kernel takes little for it, and read no more than the answer."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    sock.settimeout(60)
    sock.bind(("127.0.0.1", 0))
    rig.origins.by_port[sock.getsockname()[1]] = (rig.address(API), PORTS[tls])
    sock.connect(rig.tcp)
    if tls:
        sock = rig.context().wrap_socket(sock, server_hostname=API)
    sock.sendall(ASK)
    got = b""
    with contextlib.suppress(ConnectionResetError):  # the value came whole
        while not got.endswith(b"\r\n\r\n"):
            got += sock.recv(1)
    return sock


def recorded(recorder: ListRecorder) -> bytes:
    return b"".join(event.data for event in recorder.of(WebSocketMessage))


def rest_of(sock: socket.socket) -> bytes:
    got = b""
    with contextlib.suppress(OSError):
        while piece := sock.recv(1 << 16):
            got += piece
    return got


def border(*, tls: bool) -> int:
    """Return how much of a flood hark reads while the agent takes nothing."""

    def flood(connection: socket.socket) -> None:
        connection.sendall(b"x " * (FLOOD // 2))

    with streaming(flood, tls=tls) as (rig, _), opened(rig, tls=tls):
        until(lambda: recorded(rig.recorder))
        return settled(lambda: len(recorded(rig.recorder)))


def stalled(size: int, *, tls: bool) -> tuple[bytes, str]:
    """Return what an agent had that took nothing at first, with what the record has, and how it ended.

    Up to `size` the server says other words and the beginning of the value.
    """
    before = b"x " * ((size - CUT) // 2) + b" " * ((size - CUT) % 2)

    def leak(connection: socket.socket) -> None:
        connection.sendall(before + OWN.encode() + b"\n" + b"y " * (FLOOD // 2))

    with streaming(leak, tls=tls) as (rig, _):
        with opened(rig, tls=tls) as sock:
            until(lambda: recorded(rig.recorder))
            settled(lambda: len(recorded(rig.recorder)), quiet=4 * mediator.streaming.LATER_S)
            got = rest_of(sock)
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        return got + recorded(rig.recorder), end.error


@pytest.fixture(autouse=True)
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mediator.streaming, "LATER_S", 0.2)


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def tls(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def sizes(tls: bool, tries: int) -> Iterator[int]:
    """Yield where the value may lie so that hark stops reading within it, if it reads as it did."""
    for _ in range(0, tries, len(AGAIN)):
        read = border(tls=tls)
        yield from (read for _ in AGAIN)


def test_an_agent_that_takes_nothing_gets_no_part_of_a_value(tls: bool) -> None:
    for size in sizes(tls, 3):
        got, error = stalled(size, tls=tls)
        assert "the server sent the value of secrets.API_KEY" in error
        assert OWN[:HOLD_FROM].encode() not in got


def test_the_control_by_the_clock_alone_a_part_passes(tls: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AgentConnection, "_listens_to", lambda *_: True)
    assert any(OWN[:CUT].encode() in stalled(size, tls=tls)[0] for size in sizes(tls, TRIES))


def test_a_short_word_behind_which_nothing_comes_passes_once_the_agent_takes_it(tls: bool) -> None:
    def ask(connection: socket.socket) -> None:
        connection.sendall(b"x " * (FLOOD // 2) + b"really")
        read_all(connection)

    with streaming(ask, tls=tls) as (rig, _), opened(rig, tls=tls) as sock:
        got = b""
        while not got.endswith(b"really"):
            got += sock.recv(1 << 16)


@pytest.mark.parametrize("size", [12, 18, 23])
def test_where_a_server_stops_within_so_much_of_a_word_as_half_a_value_it_waits_and_that_is_said(
    size: int, tls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mediator.streaming, "SILENT_S", 0.4)
    go = []

    def stop(connection: socket.socket) -> None:
        connection.sendall(b"you sent: " + OWN[:size].encode())
        until(lambda: go)
        connection.sendall(OWN[size:].encode())
        read_all(connection)

    with streaming(stop, tls=tls) as (rig, _), opened(rig, tls=tls) as sock:
        until(lambda: rig.mediator.summary().warnings, "the remark")
        (remark,) = rig.mediator.summary().warnings
        go.append(True)
        got = rest_of(sock)
        rig.recorder.wait_for(LlmResponseEnd)
    assert "stopped within a long word" in remark
    assert API in remark
    assert OWN[:HOLD_FROM].encode() not in got + recorded(rig.recorder)


@pytest.mark.parametrize(
    "text", [b"a word of twenty-four-characters\r\n", b"root@4f1c2a:/usr/share/nginx# ", b"no\0"]
)
def test_the_control_lines_and_prompts_pass(text: bytes, tls: bool) -> None:
    def ask(connection: socket.socket) -> None:
        connection.sendall(text)
        read_all(connection)

    with streaming(ask, tls=tls) as (rig, _), opened(rig, tls=tls) as sock:
        got = b""
        while len(got) < len(text):
            got += sock.recv(100)
        assert got == text
