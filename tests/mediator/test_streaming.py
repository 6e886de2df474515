"""Upgrades to what hark does not read: passed where a rule names the protocol, recorded both ways, and cut
where a credential stands in it. Real sockets on both sides.
"""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from queue import Queue

import pytest

from hark.bundle.events import (
    AGENT_LEFT,
    STREAM,
    EgressDecision,
    LlmRequest,
    LlmResponseEnd,
    PolicyLoaded,
    WebSocketMessage,
)
from hark.policy.model import Body, Policy, Rule, Surface
from mediator.scan import HOLD_FROM
from tests.fakes.raw import RawServer, Serve, echo, raw_server, read_all, rudely
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import certified
from tests.mediator.rig import API, PLACEHOLDER, VALUE, Rig, running, secret

RULE = Rule(API, (80,), "allow 1: api", methods=("POST",), paths=("/exec/*/start",), upgrades=("tcp",))
HEAD = b"POST /exec/7/start HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\n" % API.encode()
ASK = HEAD + b"Upgrade: tcp\r\nContent-Length: 2\r\n\r\n{}"
FIELDS = b"Content-Type: application/x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
AGREED = b"HTTP/1.1 101 UPGRADED\r\n" + FIELDS
SAID = b"HTTP/1.1 101 Switching Protocols\r\n" + FIELDS


def head_of(connection: socket.socket) -> bytes:
    """Read a request's head, and the two bytes of body that these tests send."""
    got = b""
    while b"\r\n\r\n" not in got or (b"Content-Length: 2" in got and not got.endswith(b"{}")):
        piece = connection.recv(1)
        if not piece:
            return got
        got += piece
    return got


def agreeing(then: Serve, seen: list[bytes] | None = None, answer: bytes = AGREED) -> Serve:
    """Serve one upgrade."""

    def serve(connection: socket.socket) -> None:
        head = head_of(connection)
        if seen is not None:
            seen.append(head)
        if head:
            connection.sendall(answer)
            then(connection)

    return serve


@contextmanager
def before(serve: Serve, rule: Rule = RULE, **more: object) -> Iterator[tuple[Rig, RawServer]]:
    with (
        raw_server(serve) as server,
        running(rules=(rule,), upstreams={API: server.address}, **more) as rig,  # type: ignore[arg-type]
    ):
        yield rig, server
    assert server.errors == []


def opened(rig: Rig, ask: bytes = ASK) -> socket.socket:
    sock = rig.dial(rig.address(API), 80)
    sock.sendall(ask)
    return sock


def until(sock: socket.socket, end: bytes) -> bytes:
    got = b""
    while not got.endswith(end):
        piece = sock.recv(1 << 16)
        assert piece, got
        got += piece
    return got


def said(rig: Rig) -> list[tuple[bool, bytes, bool]]:
    assert {event.type for event in rig.recorder.of(WebSocketMessage)} <= {STREAM}
    return [(event.from_agent, event.data, event.more) for event in rig.recorder.of(WebSocketMessage)]


def stream(rig: Rig, *, from_agent: bool) -> bytes:
    return b"".join(data for side, data, _ in said(rig) if side is from_agent)


def test_bytes_pass_both_ways_and_are_recorded_with_their_ends() -> None:
    seen: list[bytes] = []
    with before(agreeing(echo, seen)) as (rig, _), opened(rig) as sock:
        assert until(sock, b"\r\n\r\n") == SAID
        sock.sendall(b"\r\n\x00 no HTTP, and line breaks first")
        assert until(sock, b"first") == b"\r\n\x00 no HTTP, and line breaks first"
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == b""
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert b"\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n" in seen[0]
    assert said(rig) == [
        (True, b"\r\n\x00 no HTTP, and line breaks first", True),
        (False, b"\r\n\x00 no HTTP, and line breaks first", True),
        (True, b"", False),
        (False, b"", False),
    ]
    (request,) = rig.recorder.of(LlmRequest)
    assert (end.status, end.error, end.exchange, request.body) == (101, "", request.exchange, b"{}")
    assert (b"Upgrade", b"tcp") in request.raw_headers
    assert rig.fatal == []


def test_what_either_side_says_at_once_is_not_lost_line_breaks_included() -> None:
    with before(agreeing(echo, answer=AGREED + b"\r\n\r\nhello ")) as (rig, _):
        with opened(rig, ASK + b"\r\nearly") as sock:
            assert until(sock, b"early") == SAID + b"\r\n\r\nhello \r\nearly"
            sock.shutdown(socket.SHUT_WR)
            read_all(sock)
        rig.recorder.wait_for(LlmResponseEnd)
    assert (stream(rig, from_agent=True), stream(rig, from_agent=False)) == (
        b"\r\nearly",
        b"\r\n\r\nhello \r\nearly",
    )


def test_a_server_that_ends_first_can_still_be_written_to() -> None:
    got: Queue[bytes] = Queue()

    def half(connection: socket.socket) -> None:
        connection.sendall(b"all that I have to say")
        connection.shutdown(socket.SHUT_WR)
        got.put(read_all(connection))

    with before(agreeing(half)) as (rig, _), opened(rig) as sock:
        assert read_all(sock) == SAID + b"all that I have to say"
        sock.sendall(b"and now I")
        sock.shutdown(socket.SHUT_WR)
        assert got.get(timeout=60) == b"and now I"
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.error == ""


def test_a_reset_by_the_server_is_passed_on_as_a_reset() -> None:
    def slam(connection: socket.socket) -> None:
        connection.recv(100)
        rudely(connection)

    with before(agreeing(slam)) as (rig, _), opened(rig) as sock:
        until(sock, b"\r\n\r\n")
        sock.sendall(b"hello")
        with pytest.raises(ConnectionResetError):
            sock.recv(100)
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.error == "the server reset the connection"


def test_an_agent_that_resets_has_left() -> None:
    done = threading.Event()

    def wait(connection: socket.socket) -> None:
        connection.sendall(b"hello")
        with contextlib.suppress(OSError):
            connection.recv(100)
        done.set()

    with before(agreeing(wait)) as (rig, _):
        sock = opened(rig)
        until(sock, b"hello")
        rudely(sock)
        assert done.wait(60)
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.error == AGENT_LEFT


def test_over_tls_as_well() -> None:
    ca_pem, context = certified((API,))

    def over_tls(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as wrapped:
            agreeing(echo)(wrapped)

    with (
        raw_server(over_tls) as server,
        running(rules=(replace(RULE, ports=(443,)),), upstreams={API: server.address}, roots=ca_pem) as rig,
    ):
        with rig.tls(API) as sock:
            sock.sendall(ASK)
            until(sock, b"\r\n\r\n")
            sock.sendall(b"through TLS")
            assert until(sock, b"TLS") == b"through TLS"
        with contextlib.suppress(ssl.SSLError):
            rig.recorder.wait_for(WebSocketMessage, 3)
    assert stream(rig, from_agent=True) == b"through TLS"


def test_a_stream_of_many_megabytes_is_whole_in_the_record() -> None:
    data = bytes(range(256)) * (4 << 12)
    with before(agreeing(echo)) as (rig, _), opened(rig) as sock:
        until(sock, b"\r\n\r\n")
        writer = threading.Thread(target=lambda: (sock.sendall(data), sock.shutdown(socket.SHUT_WR)))
        writer.start()
        assert read_all(sock) == data
        writer.join(60)
        rig.recorder.wait_for(LlmResponseEnd)
    assert stream(rig, from_agent=True) == stream(rig, from_agent=False) == data


def test_bodies_that_are_recorded_by_hash_are_so_here() -> None:
    with before(agreeing(echo), replace(RULE, body=Body.HASH)) as (rig, _), opened(rig) as sock:
        until(sock, b"\r\n\r\n")
        sock.sendall(b"not to be kept")
        until(sock, b"kept")
        sock.shutdown(socket.SHUT_WR)
        read_all(sock)
        rig.recorder.wait_for(LlmResponseEnd)
    assert said(rig) == []
    assert b"not to be kept" not in rig.recorder.bytes()


@pytest.mark.parametrize("cut", [0, 5])
def test_a_placeholder_in_it_kills_it_and_does_not_leave(cut: int) -> None:
    got: Queue[bytes] = Queue()

    def keep(connection: socket.socket) -> None:
        try:
            got.put(read_all(connection))
        except OSError:
            got.put(b"<reset>")

    held = (secret(VALUE, API),)
    with before(agreeing(keep), secrets=held) as (rig, _), opened(rig) as sock:
        until(sock, b"\r\n\r\n")
        for piece in (PLACEHOLDER[:cut], PLACEHOLDER[cut:]):
            if piece:
                sock.sendall(piece.encode())
        with contextlib.suppress(ConnectionResetError):
            assert sock.recv(100) == b""
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert "the placeholder of secrets.API_KEY stands in it" in end.error
    assert PLACEHOLDER.encode() not in got.get(timeout=60)
    assert not rig.recorder.of(EgressDecision)[-1].allowed


@pytest.mark.parametrize("cut", [0, 9])
def test_a_value_never_comes_back_in_it_and_is_in_no_record(cut: int) -> None:
    def leak(connection: socket.socket) -> None:
        connection.recv(1)
        for piece in (VALUE[:cut], VALUE[cut:]):
            if piece:
                connection.sendall(piece.encode())
        with contextlib.suppress(OSError):
            read_all(connection)

    with before(agreeing(leak), secrets=(secret(VALUE, API),)) as (rig, _), opened(rig) as sock:
        until(sock, b"\r\n\r\n")
        sock.sendall(b"x")
        got = b""
        with contextlib.suppress(ConnectionResetError):
            got = read_all(sock)
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert "the server sent the value of secrets.API_KEY" in end.error
    assert VALUE.encode() not in got
    assert VALUE.encode() not in rig.recorder.bytes()


OWN = "Q7wZ3kXv9LrT2mNb8HsD4pYc"
"""Without a beginning that tells what it is."""


@pytest.mark.parametrize("cut", range(1, len(OWN), 4))
def test_of_a_value_in_two_pieces_from_a_server_that_knows_it_nothing_comes_back(cut: int) -> None:
    def leak(connection: socket.socket) -> None:
        connection.recv(1)
        connection.sendall(b"you sent: " + OWN[:cut].encode())
        time.sleep(0.1)
        with contextlib.suppress(OSError):
            connection.sendall(OWN[cut:].encode() + b"\n")
            read_all(connection)

    held = (secret(OWN, f"{API}:80", placeholder="harkAbCdEfGhIjKlMnOpQrStUvWx"),)
    with before(agreeing(leak), secrets=held) as (rig, _), opened(rig) as sock:
        until(sock, b"\r\n\r\n")
        sock.sendall(b"x")
        got = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := sock.recv(100):
                got += piece
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert "the server sent the value of secrets.API_KEY" in end.error
    assert OWN[:HOLD_FROM].encode() not in got
    assert OWN[:HOLD_FROM].encode() not in rig.recorder.bytes()


def test_the_control_a_word_behind_which_nothing_comes_passes_after_a_while() -> None:
    def ask(connection: socket.socket) -> None:
        connection.sendall(b"really")
        read_all(connection)

    held = (secret(OWN, f"{API}:80", placeholder="harkAbCdEfGhIjKlMnOpQrStUvWx"),)
    with before(agreeing(ask), secrets=held) as (rig, _), opened(rig) as sock:
        assert until(sock, b"really") == SAID + b"really"
        assert stream(rig, from_agent=False) == b"really"


def test_a_credential_goes_into_the_request_as_into_any_other() -> None:
    seen: list[bytes] = []
    ask = HEAD + f"Upgrade: tcp\r\nAuthorization: Bearer {PLACEHOLDER}\r\n\r\n".encode()
    with before(agreeing(echo, seen), secrets=(secret(VALUE, f"{API}:80"),)) as (rig, _):
        with opened(rig, ask) as sock:
            until(sock, b"\r\n\r\n")
            sock.shutdown(socket.SHUT_WR)
            read_all(sock)
        rig.recorder.wait_for(LlmResponseEnd)
    assert f"Bearer {VALUE}".encode() in seen[0]
    assert VALUE.encode() not in rig.recorder.bytes()


REFUSALS: list[tuple[Rule, bytes, bytes, bytes]] = [
    (replace(RULE, upgrades=()), ASK, b"403", b"upgrade = [&quot;tcp&quot;]"),
    (RULE, ASK.replace(b"Upgrade: tcp", b"Upgrade: spdy/3.1"), b"403", b"stream of spdy/3.1"),
    (RULE, ASK.replace(b"Upgrade: tcp", b"Upgrade: tcp, spdy/3.1"), b"403", b"stream of spdy/3.1"),
    (RULE, ASK.replace(b"/exec/7/start", b"/exec/7/other"), b"403", b"/exec/*/start"),
    (RULE, ASK.replace(b"POST", b"GET"), b"403", b"allows POST"),
    (RULE, ASK.replace(b"\r\n\r\n", b"\r\nX-HTTP-Method-Override: GET\r\n\r\n"), b"403", b"allows POST"),
    (RULE, ASK.replace(b"Upgrade: tcp", b"Upgrade: TLS/1.3"), b"501", b"wraps requests"),
    (RULE, ASK.replace(b"Upgrade: tcp", b"Upgrade: h2c-14"), b"501", b"wraps requests"),
    (RULE, ASK.replace(b"Upgrade: tcp", b"Upgrade: HTTP/2.0"), b"501", b"wraps requests"),
    (RULE, ASK.replace(b"Upgrade: tcp", b"Upgrade: tcp, websocket"), b"400", b"WebSocket"),
    (RULE, ASK.replace(b"Upgrade: tcp", b"Upgrade: xwebsocket"), b"403", b"stream of xwebsocket"),
    (RULE, ASK.replace(b"Connection: Upgrade", b"Connection: close"), b"400", b"does not say upgrade"),
]


@pytest.mark.parametrize(("rule", "ask", "status", "words"), REFUSALS)
def test_what_no_rule_names_is_refused_in_words_and_no_server_hears_of_it(
    rule: Rule, ask: bytes, status: bytes, words: bytes
) -> None:
    with before(echo, rule) as (rig, server), opened(rig, ask) as sock:
        sock.shutdown(socket.SHUT_WR)
        got = read_all(sock)
        assert got.startswith(b"HTTP/1.1 " + status)
        assert words.replace(b"&quot;", b'"') in got.replace(b"&quot;", b'"')
        assert server.dials == 0


SMUGGLED = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def test_an_offer_of_http2_beside_an_allowed_protocol_does_not_leave() -> None:
    seen: list[bytes] = []
    offer = HEAD.replace(b"Upgrade\r\n", b"Upgrade, HTTP2-Settings\r\n")
    offer += b"Upgrade: h2c, tcp\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
    with before(agreeing(echo, seen)) as (rig, _), opened(rig, offer) as sock:
        until(sock, b"\r\n\r\n")
    assert b"h2c" not in seen[0].lower()
    assert b"http2" not in seen[0].lower()


@pytest.mark.parametrize(
    "answer",
    [
        AGREED.replace(b"Upgrade: tcp", b"Upgrade: h2c"),
        AGREED.replace(b"Upgrade: tcp\r\n", b""),
        AGREED.replace(b"Connection: Upgrade\r\n", b""),
    ],
)
def test_a_server_that_switches_to_anything_else_is_not_followed(answer: bytes) -> None:
    got: Queue[bytes] = Queue()

    def note(connection: socket.socket) -> None:
        try:
            got.put(read_all(connection))
        except OSError:
            got.put(b"")

    with before(agreeing(note, answer=answer)) as (rig, _), opened(rig, ASK + SMUGGLED) as sock:
        assert sock.recv(1 << 16).startswith(b"HTTP/1.1 502 ")
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        assert SMUGGLED not in got.get(timeout=60)
    assert end.error
    assert said(rig) == []


def test_a_server_that_switches_amid_the_request_is_not_followed() -> None:
    ask = HEAD + b"Upgrade: tcp\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
    with before(agreeing(echo)) as (rig, _), opened(rig, ask) as sock:
        assert sock.recv(1 << 16).startswith(b"HTTP/1.1 502 ")
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert "amid the request" in end.error


def test_a_server_that_does_not_switch_is_heard_and_the_next_request_is_judged() -> None:
    def answer(connection: socket.socket) -> None:
        while head_of(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")

    with before(answer) as (rig, _), opened(rig) as sock:
        assert until(sock, b"no").startswith(b"HTTP/1.1 200 ")
        sock.sendall(ASK.replace(b"/exec/7/start", b"/secret"))
        assert sock.recv(1 << 16).startswith(b"HTTP/1.1 403 ")
        assert len(rig.recorder.of(LlmRequest)) == 2


def test_a_policy_that_no_longer_names_the_protocol_ends_the_stream() -> None:
    with before(agreeing(echo)) as (rig, _), opened(rig) as sock:
        until(sock, b"\r\n\r\n")
        sock.sendall(b"fine")
        until(sock, b"fine")
        narrower = Policy(source="other", allow=(replace(RULE, upgrades=()),))
        rig.mediator.change_policy(narrower, PolicyLoaded(source="other"))
        with contextlib.suppress(ConnectionResetError):
            assert sock.recv(100) == b""
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.error
    assert stream(rig, from_agent=True) == b"fine"


def test_nothing_is_passed_on_that_cannot_be_recorded() -> None:
    got: Queue[bytes] = Queue()

    def keep(connection: socket.socket) -> None:
        try:
            got.put(connection.recv(100))
        except ConnectionResetError:
            got.put(b"")

    recorder = ListRecorder()
    with before(agreeing(keep), recorder=recorder) as (rig, _), opened(rig) as sock:
        until(sock, b"\r\n\r\n")
        recorder.wait_for(LlmRequest)
        recorder.fail_at = 0
        sock.sendall(b"off the record")
        with contextlib.suppress(ConnectionResetError):
            assert sock.recv(100) == b""
        assert got.get(timeout=60) == b""
        assert len(rig.fatal) == 1


def test_a_slow_reader_slows_the_server_down() -> None:
    sent: list[int] = []

    def flood(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for number in range(512):
                connection.sendall(b"x" * (1 << 18))
                sent.append(number)

    from tests.support.waiting import settled

    with before(agreeing(flood)) as (rig, _):
        sock = rig.dial(rig.address(API), 80)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        sock.sendall(ASK)
        sock.recv(100)
        assert settled(lambda: len(sent)) < 256
        sock.close()


def test_a_request_in_chunks_is_followed_by_bytes_as_they_are() -> None:
    """A piece that could begin a placeholder waits a moment for its rest; the server may switch within it."""

    def serve(connection: socket.socket) -> None:
        got = b""
        while not got.endswith(b"0\r\n\r\n"):
            got += connection.recv(1)
        connection.sendall(AGREED)
        echo(connection)

    ask = HEAD + b"Upgrade: tcp\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab%s\r\n" % PLACEHOLDER[:1].encode()
    with before(serve, secrets=(secret(VALUE, API, surfaces=tuple(Surface)),)) as (rig, _):
        for _ in range(5):
            with opened(rig, ask) as sock:
                sock.sendall(b"0\r\n\r\n")
                assert until(sock, b"\r\n\r\n") == SAID
                time.sleep(0.1)  # five times that moment
                sock.sendall(b"x")
                assert until(sock, b"x") == b"x"
        assert rig.fatal == []
