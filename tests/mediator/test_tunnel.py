"""Raw TCP that a rule allows: passed both ways as it is, recorded before that, ended as its sides end it."""

import base64
import contextlib
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

import pytest

from hark.bundle.events import EgressAttempt, EgressDecision, TunnelData
from hark.policy.model import Policy, Rule, Secret, Speaks
from mediator.tunnel import PIECE
from tests.fakes.raw import RawServer, Serve, echo, raw_server, read_all, rudely
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import serving
from tests.mediator.rig import API, Rig, running, secret

PORT = 5432
RULE = Rule(API, (PORT,), "allow 1: db", Speaks.TCP)
VALUE = "s3cr3t-Value-0123456789/abc"
KEY = secret(VALUE, API)


@contextmanager
def tunnelled(
    serve: Serve, *, secrets: tuple[Secret, ...] = (), recorder: ListRecorder | None = None
) -> Iterator[tuple[Rig, RawServer]]:
    with (
        raw_server(serve) as server,
        running(rules=(RULE,), upstreams={API: server.address}, secrets=secrets, recorder=recorder) as rig,
    ):
        yield rig, server
    assert server.errors == []


def open_one(rig: Rig) -> socket.socket:
    return rig.dial(rig.address(API), PORT)


def ends(rig: Rig) -> dict[bool, TunnelData]:
    """Return the last event of each direction once both have ended."""
    events = rig.recorder.events
    for count in range(1, 100_000):
        found = {event.from_agent: event for event in rig.recorder.of(TunnelData) if event.end}
        if len(found) == 2:
            return found
        rig.recorder.wait_for(TunnelData, count)
    raise AssertionError(events)


def passed(rig: Rig, *, from_agent: bool) -> bytes:
    return b"".join(event.data for event in rig.recorder.of(TunnelData) if event.from_agent is from_agent)


def test_bytes_pass_both_ways_and_are_on_the_record_with_the_target() -> None:
    with tunnelled(echo) as (rig, _), open_one(rig) as sock:
        sock.sendall(b"\x00\x01 neither TLS nor HTTP")
        assert sock.recv(100) == b"\x00\x01 neither TLS nor HTTP"
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(100) == b""
        ends(rig)
        first, *rest = rig.recorder.of(TunnelData)
        assert first == TunnelData(exchange=1, seq=0, from_agent=True, host=f"{API}:{PORT}")
        assert rest == [
            TunnelData(1, 1, True, b"\x00\x01 neither TLS nor HTTP"),
            TunnelData(1, 0, False, b"\x00\x01 neither TLS nor HTTP"),
            TunnelData(1, 2, True, b"", end=True),
            TunnelData(1, 1, False, b"", end=True),
        ]
        assert rig.recorder.of(EgressAttempt) == [EgressAttempt(API, PORT, "tcp", "")]
        assert rig.recorder.of(EgressDecision) == [EgressDecision(API, True, "allow 1: db", "")]


def test_a_server_that_speaks_first_is_heard_without_waiting_for_the_agent() -> None:
    def greet(connection: socket.socket) -> None:
        connection.sendall(b"220 ready\r\n")
        read_all(connection)

    with tunnelled(greet) as (rig, _), open_one(rig) as sock:
        assert sock.recv(100) == b"220 ready\r\n"
        assert passed(rig, from_agent=True) == b""


def test_a_server_that_ends_first_can_still_be_written_to() -> None:
    got: Queue[bytes] = Queue()

    def half(connection: socket.socket) -> None:
        connection.sendall(b"all that I have to say")
        connection.shutdown(socket.SHUT_WR)
        got.put(read_all(connection))

    with tunnelled(half) as (rig, _), open_one(rig) as sock:
        assert read_all(sock) == b"all that I have to say"
        sock.sendall(b"and now I")
        sock.shutdown(socket.SHUT_WR)
        assert {end.error for end in ends(rig).values()} == {""}
        assert got.get(timeout=60) == b"and now I"


def test_a_reset_by_the_server_is_passed_on_as_a_reset() -> None:
    def slam(connection: socket.socket) -> None:
        connection.recv(100)
        rudely(connection)

    with tunnelled(slam) as (rig, _), open_one(rig) as sock:
        sock.sendall(b"hello")
        with pytest.raises(ConnectionResetError):
            sock.recv(100)
        assert ends(rig)[False].error == "the server reset the connection"


def test_a_reset_by_the_agent_is_passed_on_as_a_reset() -> None:
    seen: list[type[BaseException]] = []
    done = threading.Event()

    def wait(connection: socket.socket) -> None:
        connection.sendall(b"hello")
        try:
            connection.recv(100)
        except OSError as error:
            seen.append(type(error))
        done.set()

    with tunnelled(wait) as (rig, _):
        sock = open_one(rig)
        assert sock.recv(100) == b"hello"
        rudely(sock)
        assert done.wait(60)
        assert ends(rig)[True].error == "the agent reset the connection"
    assert seen == [ConnectionResetError]


def test_a_server_that_refuses_is_a_reset_and_a_sentence() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{unused.getsockname()[1]}"
        with running(rules=(RULE,), upstreams={API: closed}) as rig:
            with pytest.raises(ConnectionResetError), open_one(rig) as sock:
                sock.recv(100)
            error = ends(rig)[True].error
            assert error.startswith(f"no connection: {API} cannot be reached")
            assert any(API in warning for warning in rig.mediator.summary().warnings)


def test_nothing_is_passed_on_that_cannot_be_recorded() -> None:
    got: list[bytes] = []
    done = threading.Event()

    def keep(connection: socket.socket) -> None:
        try:
            got.append(connection.recv(100))
        except ConnectionResetError:
            got.append(b"<reset>")
        done.set()

    recorder = ListRecorder()
    with tunnelled(keep, recorder=recorder) as (rig, server), open_one(rig) as sock:
        recorder.wait_for(TunnelData)
        while not server.dials:
            pass
        recorder.fail_at = recorder.appends + 1
        sock.sendall(b"off the record")
        with pytest.raises(ConnectionResetError):
            sock.recv(100)
        assert len(rig.fatal) == 1
        assert done.wait(60)
    assert got == [b"<reset>"]


def test_the_control_what_is_recorded_is_passed_on() -> None:
    got: list[bytes] = []
    with tunnelled(lambda connection: got.append(read_all(connection))) as (rig, _), open_one(rig) as sock:
        sock.sendall(b"on the record")
        sock.shutdown(socket.SHUT_WR)
        ends(rig)
    assert got == [b"on the record"]


def send_in_steps(sock: socket.socket, data: bytes, step: int) -> None:
    for at in range(0, len(data), step):
        sock.sendall(data[at : at + step])
    sock.recv(100)


def keep_reading(sock: socket.socket, got: bytearray) -> None:
    while True:
        got += sock.recv(100)


ENCODINGS = {
    "plain": lambda text: text.encode(),
    "base64": lambda text: base64.b64encode(b"user:" + text.encode()),
    "hex": lambda text: text.encode().hex().encode(),
    "wrapped base64": lambda text: b"\r\n".join(
        base64.b64encode(b"x" + text.encode())[at : at + 10] for at in range(0, 80, 10)
    ),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("step", [1, 7, 1 << 16])
def test_a_placeholder_ends_the_connection_before_it_has_left(encoding: str, step: int) -> None:
    got = bytearray()

    def keep(connection: socket.socket) -> None:
        while piece := connection.recv(1 << 16):
            got.extend(piece)

    sent = b"AUTH PLAIN " + ENCODINGS[encoding](KEY.placeholder) + b"\r\n"
    with tunnelled(keep, secrets=(KEY,)) as (rig, _), open_one(rig) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            send_in_steps(sock, sent, step)
        end = ends(rig)[True]
        assert end.error.startswith("refused: the placeholder of secrets.API_KEY stands in it")
        assert end in rig.recorder.durable
        assert any("the placeholder of secrets.API_KEY" in line for line in rig.mediator.summary().warnings)
        assert rig.fatal == []
    assert ENCODINGS[encoding](KEY.placeholder) not in bytes(got)


def test_a_placeholder_that_the_end_of_the_stream_completes_is_refused_too() -> None:
    got = bytearray()
    sent = base64.b64encode(KEY.placeholder.encode()).rstrip(b"=")
    with tunnelled(lambda c: got.extend(read_all(c)), secrets=(KEY,)) as (rig, _), open_one(rig) as sock:
        sock.sendall(sent)
        sock.shutdown(socket.SHUT_WR)
        assert ends(rig)[True].error.startswith("refused: the placeholder of secrets.API_KEY")
        assert rig.fatal == []
    assert sent not in bytes(got)


def test_the_control_another_string_of_that_shape_passes() -> None:
    got = bytearray()
    other = KEY.placeholder[::-1].encode()
    with tunnelled(lambda c: got.extend(read_all(c)), secrets=(KEY,)) as (rig, _), open_one(rig) as sock:
        sock.sendall(other)
        sock.shutdown(socket.SHUT_WR)
        ends(rig)
    assert bytes(got) == other


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("step", [3, 1 << 16])
def test_a_real_value_that_the_server_sends_never_reaches_agent_or_record(encoding: str, step: int) -> None:
    sent = b"$27\r\n" + ENCODINGS[encoding](VALUE) + b"\r\n"

    def give_away(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(sent), step):
            connection.sendall(sent[at : at + step])
        connection.recv(100)

    with tunnelled(give_away, secrets=(KEY,)) as (rig, _), open_one(rig) as sock:
        got = bytearray()
        with pytest.raises(ConnectionResetError):
            keep_reading(sock, got)
        assert ENCODINGS[encoding](VALUE) not in bytes(got)
        assert ENCODINGS[encoding](VALUE) not in passed(rig, from_agent=False)
        assert "the server sent the value of secrets.API_KEY" in ends(rig)[False].error


def test_tls_in_a_raw_rule_is_passed_as_it_is() -> None:
    with (
        serving(API) as upstream,
        running(rules=(RULE,), upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):
        context = ssl.create_default_context(cadata=upstream.ca_pem.decode())  # and not the run's
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        with context.wrap_socket(open_one(rig), server_hostname=API) as sock:
            sock.sendall(f"GET / HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())
            assert sock.recv(100).startswith(b"HTTP/1.1 200")
        assert passed(rig, from_agent=True).startswith(b"\x16\x03")
        assert [event.protocol for event in rig.recorder.of(EgressAttempt)] == ["tcp"]


@pytest.mark.parametrize("server_first", [True, False])
def test_where_everything_is_allowed_whatever_is_not_the_web_is_passed_on(server_first: bool) -> None:
    def serve(connection: socket.socket) -> None:
        if server_first:
            connection.sendall(b"220 ready")
        else:
            connection.sendall(connection.recv(100))

    with (
        raw_server(serve) as server,
        running(policy=Policy(allow_all=True), upstreams={API: server.address}) as rig,
        open_one(rig) as sock,
    ):
        if not server_first:
            sock.sendall(b"SSH-2.0-me\r\n")
        assert sock.recv(100) == (b"220 ready" if server_first else b"SSH-2.0-me\r\n")
        (attempt,) = rig.recorder.of(EgressAttempt)
        assert attempt.protocol == ("tcp" if server_first else "ssh")
        (decision,) = rig.recorder.of(EgressDecision)
        assert decision.rule == "--unsafe-allow-all"


def test_what_is_under_way_at_the_end_of_the_run_is_recorded_as_cut() -> None:
    with tunnelled(echo) as (rig, _), open_one(rig) as sock:
        sock.sendall(b"ping")
        assert sock.recv(10) == b"ping"
        rig.mediator.stop()
        assert {end.error for end in ends(rig).values()} == {"the run ended"}
        with pytest.raises(ConnectionResetError):
            sock.recv(10)


def test_what_was_sent_just_before_the_end_is_recorded() -> None:
    with tunnelled(lambda c: c.recv(1)) as (rig, _):
        sock = open_one(rig)
        sock.sendall(b"x" * 100_000)
        sock.close()
        rig.mediator.stop()
        sent = passed(rig, from_agent=True)
    assert sent == b"x" * 100_000 or ends(rig)[True].error == "the server reset the connection"


def test_a_reader_that_does_not_read_holds_the_writer_up() -> None:
    go = threading.Event()

    def slow(connection: socket.socket) -> None:
        go.wait(60)
        read_all(connection)

    with tunnelled(slow) as (rig, _), open_one(rig) as sock:
        sock.settimeout(1)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 256 << 20:
                sent += sock.send(b"x" * PIECE)
        go.set()
    assert sent < 64 << 20  # the kernel's buffers on two connections, not the whole


GIGABYTE = """
import os, resource, socket, sys, threading
sys.path.insert(0, {root!r})
from hark.bundle.events import TunnelData
from hark.policy.model import Rule, Speaks
from tests.fakes.raw import raw_server
from tests.mediator.rig import API, running

SIZE, PIECE = 1 << 30, bytes(1 << 20)

class Counting:
    def __init__(self): self.up = self.down = 0
    def append(self, event, *, durable=False):
        if isinstance(event, TunnelData):
            if event.from_agent: self.up += len(event.data)
            else: self.down += len(event.data)
        return 0

def serve(connection):
    left = SIZE
    while left:
        left -= len(connection.recv(min(left, 1 << 20)))
    for _ in range(SIZE // len(PIECE)):
        connection.sendall(PIECE)

recorder = Counting()
with raw_server(serve) as server:
    rules = (Rule(API, (5432,), "db", Speaks.TCP),)
    with running(rules=rules, upstreams={{API: server.address}}, recorder=recorder) as rig:
        with rig.dial(rig.address(API), 5432) as sock:
            sock.settimeout(60)
            sock.sendall(PIECE)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(SIZE // len(PIECE) - 1):
                sock.sendall(PIECE)
            left = SIZE
            while left:
                left -= len(sock.recv(min(left, 1 << 20)))
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(recorder.up, recorder.down, after - before)
"""


@pytest.mark.slow
def test_a_gigabyte_each_way_leaves_memory_where_it_was() -> None:
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", GIGABYTE.format(root=root)],
        check=True,
        capture_output=True,
        text=True,
        timeout=110,
    )
    up, down, grown = map(int, done.stdout.split())
    assert up == down == 1 << 30
    assert grown < 16 << 10  # KiB
