"""WebSockets through the mediator, a real client and a real server: each message is recorded, then passes."""

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from blake3 import blake3
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import ServerConnection, serve

from hark.bundle.events import (
    BodyHash,
    EgressDecision,
    LlmRequest,
    LlmResponseEnd,
    SecretInjected,
    WebSocketMessage,
)
from hark.policy.model import Body, Policy, Rule, Surface
from mediator import bodies, websocket
from mediator import talking as talking_module
from mediator.handler import AgentConnection
from mediator.transcript import Transcript
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import certified
from tests.mediator.rig import API, PLACEHOLDER, VALUE, Rig, pair, raw, running, secret
from tests.support.carried import Listener, carried
from tests.support.waiting import settled

type Talk = Callable[[ServerConnection], None]


def echo(server: ServerConnection) -> None:
    for message in server:
        server.send(message)


@contextmanager
def talking(talk: Talk = echo, **more: object) -> Iterator[Rig]:
    """Run a mediator before a WebSocket server."""
    ca_pem, context = certified((API,))
    context.set_alpn_protocols(["http/1.1"])
    options = {key: more.pop(key) for key in ("subprotocols", "process_request") if key in more}
    with serve(talk, sock=Listener(context), max_size=None, **options) as server:  # type: ignore[arg-type]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.socket.getsockname()[1]}"
        with running(API, upstreams={API: place}, roots=ca_pem, **more) as rig:  # type: ignore[arg-type]
            yield rig
        server.shutdown()


@contextmanager
def client(rig: Rig, **more: object) -> Iterator[ClientConnection]:
    """Connect as an agent's program."""
    with connect(f"ws://{API}/talk", sock=carried(rig.tls(API)), max_size=None, **more) as opened:  # type: ignore[arg-type]
        yield opened


def said(rig: Rig) -> list[tuple[bool, str, bytes]]:
    return [(event.from_agent, event.type, event.data) for event in rig.recorder.of(WebSocketMessage)]


def test_messages_pass_both_ways_uncompressed_and_are_recorded_in_order() -> None:
    with talking() as rig:
        with client(rig) as opened:
            assert opened.protocol.extensions == []
            for message in ("hello", b"\x00\xff", "", "x" * 70_000):
                opened.send(message)
                assert opened.recv() == message
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    expected: list[tuple[bool, str, bytes]] = []
    for kind, data in (("text", b"hello"), ("binary", b"\x00\xff"), ("text", b""), ("text", b"x" * 70_000)):
        expected += [(True, kind, data), (False, kind, data)]
    assert said(rig)[:-2] == expected
    assert [(kind, data[:2]) for _, kind, data in said(rig)[-2:]] == [("close", b"\x03\xe8")] * 2
    assert [event.seq for event in rig.recorder.of(WebSocketMessage)] == list(range(10))
    (request,) = rig.recorder.of(LlmRequest)
    assert (end.status, end.error, end.exchange) == (101, "", request.exchange)
    assert rig.fatal == []


def test_a_ping_a_pong_and_fragments_pass() -> None:
    with talking() as rig, client(rig) as opened:
        assert opened.ping(b"p").wait(60)
        opened.send(["he", "ll", "o"])
        assert opened.recv() == "hello"
        assert (True, "ping", b"p") in said(rig)
        assert (False, "pong", b"p") in said(rig)


def test_a_close_code_and_reason_of_the_servers_reach_the_agent() -> None:
    def leave(server: ServerConnection) -> None:
        server.close(4321, "enough")

    with talking(leave) as rig, client(rig) as opened:
        with pytest.raises(ConnectionClosed) as closed:
            opened.recv()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4321, "enough")
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.error == ""


def test_a_long_message_passes_in_pieces_and_is_whole() -> None:
    payload = os.urandom(1 << 20) * 5
    with talking() as rig, client(rig) as opened:
        opened.send(payload)
        assert opened.recv() == payload
        messages = rig.recorder.of(WebSocketMessage)
    for from_agent in (True, False):
        pieces = [event for event in messages if event.from_agent == from_agent and event.type == "binary"]
        assert b"".join(event.data for event in pieces) == payload
        assert [event.more for event in pieces] == [True] * (len(pieces) - 1) + [False]
        assert len(pieces) > 3


def test_a_subprotocol_is_agreed_on() -> None:
    with (
        talking(subprotocols=["realtime"]) as rig,
        client(rig, subprotocols=["other", "realtime"]) as opened,
    ):
        assert opened.subprotocol == "realtime"


def test_a_server_that_does_not_agree_is_heard() -> None:
    def refuse(server: ServerConnection, request: object) -> object:
        return server.respond(429, "slow down\n")

    with talking(process_request=refuse) as rig:
        with pytest.raises(InvalidStatus) as refused, client(rig):
            pass
        assert refused.value.response.status_code == 429
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert (end.status, end.error) == (429, "")
    assert rig.fatal == []


HANDSHAKE = (
    f"GET /talk HTTP/1.1\r\nHost: {API}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("Version: 13", "Version: 8"), b"version is not 13"),
        (("Upgrade: websocket", "Upgrade: websocket, h2c"), b"something else at once"),
        (("GET", "POST"), b"begins with GET"),
    ],
)
def test_a_handshake_that_is_none_does_not_leave(change: tuple[str, str], words: bytes) -> None:
    with pair() as (rig, upstream):
        with rig.tls(API) as sock:
            sock.sendall(HANDSHAKE.replace(*change).encode())
            got = b""
            while words not in got and (piece := sock.recv(4096)):
                got += piece
        assert got.startswith(b"HTTP/1.1 400 ")
        assert words in got
        assert upstream.seen == []


def test_what_the_agent_sends_before_the_server_agreed_is_not_lost() -> None:
    hello = b"\x81\x85\0\0\0\0hello"
    with talking() as rig, rig.tls(API) as sock:
        sock.sendall(HANDSHAKE.encode() + hello)
        got = b""
        while b"hello" not in got:
            got += sock.recv(4096)
    assert got.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    assert got.endswith(b"\r\n\r\n\x81\x05hello")


@pytest.mark.parametrize(
    ("frame", "code"),
    [(b"\x81\x05hello", 1002), (b"\x81\x81\0\0\0\0\xff", 1007), (b"\xc1\x80\0\0\0\0", 1002)],
)
def test_an_agent_that_breaks_the_framing_is_told_and_nothing_of_it_passes(frame: bytes, code: int) -> None:
    heard: list[object] = []

    def listen(server: ServerConnection) -> None:
        heard.extend(server)

    with talking(listen) as rig, rig.tls(API) as sock:
        sock.sendall(HANDSHAKE.encode())
        assert b"101 " in sock.recv(4096)
        got = raw(sock, frame)
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert got[:1] == b"\x88"
    assert int.from_bytes(got[2:4]) == code
    assert "no WebSocket frame" in end.error
    assert heard == []
    assert said(rig) == []


def test_an_end_without_a_goodbye_is_recorded_as_cut() -> None:
    with talking() as rig:
        with rig.tls(API) as sock:
            sock.sendall(HANDSHAKE.encode())
            assert b"101 " in sock.recv(4096)
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.error == "the agent went away without the closing handshake"
    assert rig.fatal == []


def test_a_credential_goes_into_the_handshake_and_a_placeholder_into_no_message() -> None:
    seen: list[str] = []

    def note(server: ServerConnection) -> None:
        assert server.request is not None
        seen.append(server.request.headers["Authorization"])
        echo(server)

    with talking(note, secrets=(secret(VALUE, API),)) as rig:
        with client(rig, additional_headers={"Authorization": f"Bearer {PLACEHOLDER}"}) as opened:
            opened.send("fine")
            assert opened.recv() == "fine"
            opened.send(f"my key is {PLACEHOLDER}")
            with pytest.raises(ConnectionClosed) as closed:
                opened.recv()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        assert not rig.recorder.of(EgressDecision)[-1].allowed
    assert seen == [f"Bearer {VALUE}"]
    assert len(rig.recorder.of(SecretInjected)) == 1
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, "API_KEY" in closed.value.rcvd.reason) == (1008, True)
    assert "stands in a WebSocket message" in end.error
    assert [data for _, _, data in said(rig)][:3] == [b"fine", b"fine"]


def test_what_a_server_gives_back_in_a_message_reaches_the_agent_as_the_placeholder() -> None:
    def leak(server: ServerConnection) -> None:
        server.send(f'{{"k": "{server.recv()}"}}')

    held = (secret(VALUE, API, surfaces=(Surface.WS,)),)
    with talking(leak, secrets=held) as rig, client(rig) as opened:
        opened.send(PLACEHOLDER)
        assert opened.recv() == f'{{"k": "{PLACEHOLDER}"}}'
        opened.close()
        rig.recorder.wait_for(LlmResponseEnd)
    assert VALUE.encode() not in rig.recorder.bytes()
    assert [event.ref for event in rig.recorder.of(SecretInjected)] == ["secrets.API_KEY"]


@pytest.mark.parametrize("cut", [3, 10])
def test_a_server_that_gives_the_value_back_is_cut_before_the_agent_has_it(cut: int) -> None:
    def leak(server: ServerConnection) -> None:
        server.recv()
        with contextlib.suppress(ConnectionClosed):
            server.send("a" + VALUE[:cut])
            server.send(VALUE[cut:])

    got: list[object] = []
    with talking(leak, secrets=(secret(VALUE, API),)) as rig:
        with client(rig) as opened, contextlib.suppress(ConnectionClosed):
            opened.send("go")
            got.extend(iter(opened.recv, None))
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert VALUE not in "".join(map(str, got))
    assert VALUE.encode() not in rig.recorder.bytes()
    assert (
        b"".join(data for _, kind, data in said(rig) if kind == "text") == b"go" + b"a" + VALUE[:cut].encode()
    )
    assert "gives secrets.API_KEY back" in end.error


def test_a_message_that_cannot_be_recorded_does_not_pass() -> None:
    heard: list[object] = []

    def listen(server: ServerConnection) -> None:
        heard.extend(server)

    class Full(ListRecorder):
        def append(self, event: object, *, durable: bool = False) -> int:
            if isinstance(event, WebSocketMessage) and event.data == b"second":
                self.fail_at = 0
            return super().append(event, durable=durable)  # type: ignore[arg-type]

    with talking(listen, recorder=Full()) as rig:
        with client(rig) as opened:
            opened.send("first")
            rig.recorder.wait_for(WebSocketMessage)
            opened.send("second")
            with pytest.raises((ConnectionClosed, OSError)):
                opened.recv(timeout=60)
        assert rig.fatal == ["WebSocketMessage could not be recorded: no space left on device"]
    assert heard in ([], ["first"])


def test_messages_of_the_server_that_come_with_its_agreement_pass() -> None:
    def greet(server: ServerConnection) -> None:
        for number in range(50):
            server.send(f"{number}")

    with talking(greet) as rig:
        got = []
        with client(rig) as opened, contextlib.suppress(ConnectionClosedOK):
            got.extend(opened.recv() for _ in range(51))
        rig.recorder.wait_for(LlmResponseEnd)
    assert got == [] or got == [f"{number}" for number in range(50)]
    assert [data for from_agent, kind, data in said(rig) if kind == "text"] == [b"%d" % n for n in range(50)]


def test_a_slow_reader_slows_the_server_down() -> None:
    """Nothing piles up here: the server's own send waits."""
    sent = []

    def flood(server: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed, ssl.SSLError, OSError):
            for number in range(512):
                server.send(b"x" * (1 << 18))
                sent.append(number)

    with talking(flood) as rig:
        sock = rig.dial(rig.address(API), 443)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        tls = rig.context().wrap_socket(sock, server_hostname=API)
        tls.sendall(HANDSHAKE.encode())
        tls.recv(100)
        assert settled(lambda: len(sent)) < 256
        tls.close()
        sock.close()


class BoomError(Exception):
    """A bug."""


def boom(*_: object, **__: object) -> None:
    raise BoomError("with a secret in it: " + VALUE)


def boom_generator(*_: object, **__: object) -> Iterator[object]:
    raise BoomError("with a secret in it: " + VALUE)
    yield


PLACES: dict[str, tuple[object, str, Callable[..., object]]] = {
    "agreement": (talking_module.Talking, "_agreed", boom),
    "beginning": (talking_module.Talking, "_begin_talk", boom_generator),
    "message": (talking_module.Talking, "_on_talk", boom_generator),
    "reading": (websocket.Direction, "feed", boom_generator),
    "framing": (websocket.Direction, "_frame", boom),
    "control": (websocket.Direction, "_control", boom),
    "a stage": (bodies, "of_agents_message", boom),
    "record": (Transcript, "message", boom),
    "end": (talking_module.Talking, "_on_hush", boom_generator),
    "goodbye": (websocket, "goodbye", boom),
    "drain": (AgentConnection, "_unsent", boom),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_bug_ends_a_websocket_and_marks_the_run(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, broken = PLACES[place]
    with talking() as rig:
        monkeypatch.setattr(owner, name, broken)
        if place == "drain":  # which is asked of where something may wait to be written
            behind = property(lambda _: True, lambda *_: None)
            monkeypatch.setattr(AgentConnection, "_behind", behind, raising=False)
        with rig.tls(API) as sock, contextlib.suppress(OSError):
            sock.settimeout(60)
            sock.sendall(HANDSHAKE.encode() + b"\x81\x85\0\0\0\0hello" + b"\x89\x80\0\0\0\0")
            if place in ("end", "goodbye"):
                while b"hello" not in sock.recv(4096):
                    pass
                sock.sendall(b"\x81\x05hello" if place == "goodbye" else b"\x88\x80\0\0\0\0")
            while sock.recv(4096):
                pass
        rig.mediator.stop()
    assert len(rig.fatal) == 1
    assert "BoomError" in rig.fatal[0]
    assert VALUE not in rig.fatal[0]


def test_sixty_four_mebibytes_in_one_message_pass_in_flat_memory() -> None:
    """What is held of a message at any time is a piece of it, on its way out as well."""
    import tracemalloc

    from mediator.bodies import Chain, RequestBody
    from mediator.held import Room

    def way() -> RequestBody:
        return RequestBody(checked=Chain(), sent=Chain())

    to = websocket.Direction(from_agent=True, way=way, room=Room())
    step = 1 << 16
    passed = 0
    tracemalloc.start()
    try:
        list(to.feed(b"\x82\xff" + (64 << 20).to_bytes(8) + b"\1\2\3\4"))
        for _ in range(0, 64 << 20, step):
            passed += sum(len(piece.data) for piece in to.feed(bytes(step)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert passed == 64 << 20
    assert peak < 16 << 20


def test_where_bodies_are_not_stored_messages_are_not_either() -> None:
    with talking(policy=Policy(allow=(Rule(host=API, body=Body.HASH),))) as rig:
        with client(rig) as opened:
            for message in ("hello", "again"):
                opened.send(message)
                assert opened.recv() == message
        rig.recorder.wait_for(LlmResponseEnd)
    assert {event.type for event in rig.recorder.of(WebSocketMessage)} == {"close"}
    digest = blake3(b"helloagain").digest()
    assert [(e.from_agent, e.length, e.hash) for e in rig.recorder.of(BodyHash)] == [
        (True, 10, digest),
        (False, 10, digest),
    ]


@pytest.mark.parametrize("surfaces", [(Surface.HEADER,), (Surface.HEADER, Surface.WS)])
def test_a_placeholder_in_a_message_is_replaced_only_where_the_secret_allows_it(
    surfaces: tuple[Surface, ...],
) -> None:
    heard: list[object] = []

    def listen(server: ServerConnection) -> None:
        for message in server:
            heard.append(message)
            server.send(message)

    held = replace(secret(VALUE, API), surfaces=surfaces)
    with talking(listen, secrets=(held,)) as rig:
        with client(rig) as opened, contextlib.suppress(ConnectionClosed):
            opened.send(f'{{"key": "{PLACEHOLDER}"}}')
            assert PLACEHOLDER in str(opened.recv(timeout=60))
        rig.recorder.wait_for(LlmResponseEnd)
    assert heard == ([f'{{"key": "{VALUE}"}}'] if Surface.WS in surfaces else [])
    assert VALUE.encode() not in rig.recorder.bytes()
    assert len(rig.recorder.of(SecretInjected)) == (1 if Surface.WS in surfaces else 0)
    assert rig.fatal == []
