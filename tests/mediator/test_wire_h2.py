"""HTTP/2 on both sides over real connections: windows, resets, GOAWAY, floods, and their record."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import h2.errors
import h2.events
import h2.settings
import hpack
import pytest
from h2.settings import SettingCodes
from hyperframe.frame import ContinuationFrame, DataFrame, HeadersFrame, PingFrame, SettingsFrame

from hark.bundle.events import EgressDecision, LlmRequest, LlmResponseEnd, Trailers
from mediator import handler
from mediator.flow import STREAM_WINDOW, FlowControlled
from mediator.handler import AgentConnection
from mediator.http import AgentHttp
from mediator.wire_h2 import MAX_RESETS, AgentHttp2, UpstreamHttp2
from tests.fakes.upstream import Call
from tests.fakes.upstream_h2 import H2Upstream, Peer, React, echo, serving_h2
from tests.mediator.rig import API, Rig, running
from tests.mediator.test_http import Client
from tests.mediator.test_http import pair as to_http1
from tests.support.waiting import settled, until


@contextmanager
def pair(react: React = echo) -> Iterator[tuple[Rig, Client, H2Upstream]]:
    """HTTP/2 to a mediator that speaks HTTP/2 to its server."""
    with (
        serving_h2(API, react) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
        rig.tls(API, 443, None, "h2") as sock,
    ):
        yield rig, Client(sock), upstream


def test_a_hundred_streams_at_once_pass_over_one_connection_and_are_recorded() -> None:
    with pair() as (rig, client, upstream):
        streams = [client.ask(f"/{number}") for number in range(100)]
        answers = client.wait(*streams)
        rig.recorder.wait_for(LlmResponseEnd, 100)
    assert [answer.body for answer in answers] == [b"/%d" % number for number in range(100)]
    assert len(upstream.peers) == 1
    assert rig.fatal == []


def test_trailers_pass_both_ways() -> None:
    def react(peer: Peer, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.StreamEnded):
            peer.h2.send_headers(event.stream_id or 0, [(":status", "200")])
            peer.h2.send_data(event.stream_id or 0, b"x")
            peer.h2.send_headers(event.stream_id or 0, [("grpc-status", "0")], end_stream=True)

    trailers: list[Any] = []
    with pair(react) as (rig, client, upstream):
        take = client.take
        client.take = lambda event: (  # type: ignore[method-assign]
            trailers.extend(event.headers) if isinstance(event, h2.events.TrailersReceived) else take(event)
        )
        stream = client.begin("/t", 2)
        client.h2.send_data(stream, b"ab")
        client.h2.send_headers(stream, [("x-sum", "7")], end_stream=True)
        client.flush()
        client.wait(stream)
        rig.recorder.wait_for(Trailers, 2)
    assert trailers == [(b"grpc-status", b"0")]
    assert [e.headers for e in upstream.events if isinstance(e, h2.events.TrailersReceived)] == [
        [(b"x-sum", b"7")]
    ]


def test_one_slow_stream_of_many_holds_up_neither_the_others_nor_our_memory() -> None:
    """The agent opens no window for one answer: its server is stopped, and the other streams go on."""
    sent = [0]
    begun = threading.Event()
    over = threading.Event()

    def react(peer: Peer, event: h2.events.Event) -> None:
        if not isinstance(event, h2.events.RequestReceived):
            pump(peer)
            return
        if dict(event.headers or [])[b":path"] != b"/slow":
            echo(peer, event)
            return
        peer.h2.send_headers(event.stream_id or 0, [(":status", "200")])
        begun.set()
        pump(peer)

    def pump(peer: Peer) -> None:
        while begun.is_set() and not over.is_set() and 1 in peer.h2.streams and sent[0] < 64 << 20:
            room = min(peer.h2.local_flow_control_window(1), 16384)
            if room <= 0:
                return
            peer.h2.send_data(1, b"x" * room)
            sent[0] += room

    with pair(react) as (rig, client, _):
        slow = client.ask("/slow")
        client.take = _unacknowledged(client, slow)  # type: ignore[method-assign]
        for number in range(30):
            (answer,) = client.wait(client.ask(f"/{number}"))
            assert answer.body == b"/%d" % number
        time.sleep(0.2)
        assert 0 < sent[0] < 4 * STREAM_WINDOW
        over.set()
        assert rig.fatal == []


def _unacknowledged(client: Client, slow: int) -> Any:
    """Let the client take nothing of one stream; its window over the connection is no bar to the others."""
    take = client.take
    client.h2.increment_flow_control_window(1 << 24)
    client.flush()

    def taking(event: h2.events.Event) -> None:
        if not (isinstance(event, h2.events.DataReceived) and event.stream_id == slow):
            take(event)

    return taking


def test_a_server_of_http1_is_not_read_for_an_agent_that_takes_nothing() -> None:
    sent = [0]
    with to_http1() as (rig, client, upstream):

        @upstream.on("/slow")
        def slow(call: Call) -> None:
            call.begin_chunked("text/plain")
            try:
                for _ in range(1024):
                    call.chunk(b"x" * 65536)
                    sent[0] += 65536
            except OSError:
                pass

        stream = client.ask("/slow")
        client.take = _unacknowledged(client, stream)  # type: ignore[method-assign]
        (fast,) = client.wait(client.ask("/fast"))
        assert fast.status == 200
        stuck = settled(lambda: sent[0])
        (fast,) = client.wait(client.ask("/again"))
        assert fast.status == 200
        assert 0 < stuck < 48 << 20
        assert sent[0] - stuck <= 65536
        assert rig.fatal == []


def test_a_slow_upload_of_many_holds_up_no_other() -> None:
    release = threading.Event()
    with to_http1() as (rig, client, upstream):

        @upstream.on("/up")
        def upload(call: Call) -> None:
            assert release.wait(60)
            call.reply(200, b"%d" % len(call.body))

        upload.early = True

        def reading(call: Call) -> None:
            assert release.wait(60)
            call.reply(200, b"%d" % sum(map(len, call.pieces())))

        reading.early = True
        upstream.routes["/up"] = reading
        stream = client.begin("/up", 32 << 20)
        left = 32 << 20
        client.sock.settimeout(0.5)
        while left:
            room = min(client.h2.local_flow_control_window(stream), 16384, left)
            if room:
                client.more(stream, b"x" * room, last=room == left)
                left -= room
                continue
            try:
                for event in client.h2.receive_data(client.sock.recv(65536)):
                    client.take(event)
            except TimeoutError:
                break
        assert left > 0
        client.sock.settimeout(60)
        (fast,) = client.wait(client.ask("/fast"))
        assert fast.status == 200
        release.set()
        while left:
            room = min(client.h2.local_flow_control_window(stream), 16384, left)
            if room:
                client.more(stream, b"x" * room, last=room == left)
                left -= room
            else:
                for event in client.h2.receive_data(client.sock.recv(65536)):
                    client.take(event)
        (answer,) = client.wait(stream)
        assert answer.body == b"%d" % (32 << 20)
        assert rig.fatal == []


def test_a_server_that_goes_away_finishes_what_it_has_begun_and_the_next_goes_elsewhere() -> None:
    def react(peer: Peer, event: h2.events.Event) -> None:
        if not isinstance(event, h2.events.RequestReceived):
            return
        stream = event.stream_id or 0
        if dict(event.headers or [])[b":path"] == b"/last":
            frame = b"\0\0\x08\x07\0\0\0\0\0" + stream.to_bytes(4) + b"\0\0\0\0"
            peer.sock.sendall(peer.h2.data_to_send() + frame)
        peer.answer(stream, b"done")

    with pair(react) as (rig, client, upstream):
        (answer,) = client.wait(client.ask("/last"))
        assert (answer.status, answer.body) == (200, b"done")
        (answer,) = client.wait(client.ask("/next"))
        assert (answer.status, answer.body) == (200, b"done")
        ends = rig.recorder.wait_for(LlmResponseEnd, 2)
    assert [end.error for end in ends] == ["", ""]
    assert len(upstream.peers) == 2
    assert rig.fatal == []


def test_a_request_that_a_server_going_away_did_not_take_is_answered_in_words() -> None:
    def react(peer: Peer, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            peer.sock.sendall(b"\0\0\x08\x07\0\0\0\0\0" + b"\0" * 8)

    with pair(react) as (rig, client, _):
        (answer,) = client.wait(client.ask("/lost"))
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert answer.status == 502
    assert b"went away before it took the request" in answer.body
    assert end.status == 502


def test_a_reset_of_the_servers_resets_the_stream_and_one_of_the_agents_reaches_the_server() -> None:
    def react(peer: Peer, event: h2.events.Event) -> None:
        if not isinstance(event, h2.events.RequestReceived):
            return
        peer.answer(event.stream_id or 0, b"half", end=False)
        if dict(event.headers or [])[b":path"] == b"/reset":
            peer.h2.reset_stream(event.stream_id or 0, h2.errors.ErrorCodes.CANCEL)

    with pair(react) as (rig, client, upstream):
        (answer,) = client.wait(client.ask("/reset"))
        assert answer.reset
        stream = client.ask("/left")
        rig.recorder.wait_for(LlmRequest, 2)
        until(lambda: len(upstream.heads()) == 2)
        client.h2.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        client.flush()
        ends = rig.recorder.wait_for(LlmResponseEnd, 2)
        until(lambda: any(isinstance(event, h2.events.StreamReset) for event in upstream.events))
    assert ends[0].error.startswith("it broke off")
    assert ends[1].error == "the agent went away"
    assert rig.fatal == []


def closed(client: Client) -> bool:
    """Tell whether the mediator ends the connection soon."""
    client.sock.settimeout(60)
    try:
        while data := client.sock.recv(65536):
            client.h2.receive_data(data)
    except TimeoutError:
        return False
    except (OSError, h2.exceptions.ProtocolError):
        pass
    return True


def head(client: Client, path: str) -> bytes:
    fields = [(":method", "GET"), (":scheme", "https"), (":authority", API), (":path", path)]
    return bytes(client.h2.encoder.encode(fields))


def test_a_flood_of_requests_taken_back_at_once_ends_the_connection() -> None:
    with pair(lambda _peer, _event: None) as (rig, client, _):
        try:
            for number in range(MAX_RESETS + 50):
                stream = client.ask(f"/{number}")
                client.h2.reset_stream(stream)
                client.flush()
        except OSError:
            pass
        assert closed(client)
        last = rig.recorder.of(EgressDecision)[-1]
        assert (last.allowed, "took back its requests" in last.reason) == (False, True)
        assert rig.fatal == []


def test_a_few_requests_taken_back_are_nothing_special() -> None:
    with pair() as (_, client, _):
        for number in range(20):
            client.h2.reset_stream(client.ask(f"/{number}"))
        client.flush()
        assert client.wait(client.ask("/fine"))[0].status == 200


@pytest.mark.parametrize("attack", ["continuation", "long", "bomb"])
def test_a_head_without_end_ends_the_connection_and_not_our_memory(attack: str) -> None:
    with pair() as (rig, client, upstream):
        first = HeadersFrame(1)
        first.data = head(client, "/x")
        frames = [first.serialize()]
        if attack == "continuation":
            frames += [ContinuationFrame(1).serialize()] * 2000
        elif attack == "long":
            for _ in range(200):
                more = ContinuationFrame(1)
                more.data = hpack.Encoder().encode([("x-a", "b" * 4000)], huffman=False)
                frames.append(more.serialize())
        else:
            encoder = hpack.Encoder()
            block = encoder.encode([("x-a", "b" * 3000)], huffman=False)
            first.data += block + encoder.encode([("x-a", "b" * 3000)]) * 2000
            first.flags.add("END_HEADERS")
            first.flags.add("END_STREAM")
            frames = [first.serialize()]
        with suppress(OSError):
            client.sock.sendall(b"".join(frames))
        assert closed(client)
        assert upstream.events == []
        until(lambda: not rig.recorder.of(EgressDecision)[-1].allowed)
        assert rig.fatal == []


def test_padding_is_taken_off_and_counts_in_the_windows() -> None:
    with to_http1() as (rig, client, _):
        stream = client.begin("/pad", 64 * 100)
        for number in range(64):
            frame = DataFrame(stream, b"x" * 100, pad_length=255)
            frame.flags |= {"PADDED"} | ({"END_STREAM"} if number == 63 else set())
            client.sock.sendall(frame.serialize())
        (answer,) = client.wait(stream)
        assert answer.body == b"POST /pad 6400"
        assert rig.fatal == []


def test_a_ping_is_answered() -> None:
    with pair() as (_, client, _):
        pongs: list[bytes] = []
        client.h2.ping(b"hark-hrk")
        client.flush()
        while not pongs:
            got = client.h2.receive_data(client.sock.recv(65536))
            pongs += [event.ping_data for event in got if isinstance(event, h2.events.PingAckReceived)]
        assert pongs == [b"hark-hrk"]


@pytest.mark.slow
def test_a_flood_of_pings_and_settings_by_one_who_reads_nothing_is_not_kept_in_memory() -> None:
    """Our answers wait for the agent, and the agent for our reading."""
    with pair() as (rig, client, _):
        client.sock.settimeout(2)
        flood = (PingFrame(0, b"12345678").serialize() + SettingsFrame(0).serialize()) * 2000
        sent = 0
        try:
            while sent < 32 << 20:
                sent += client.sock.send(flood)
        except (TimeoutError, OSError):
            pass
        assert sent < 32 << 20
        assert rig.fatal == []


def test_the_authority_of_each_stream_is_checked() -> None:
    with pair() as (_, client, upstream):
        fine, other = client.ask("/fine"), client.ask("/other", "evil.test")
        client.wait(fine, other)
        assert [client.answers[stream].status for stream in (fine, other)] == [200, 403]
        assert [fields[b":path"] for fields in upstream.heads()] == [b"/fine"]


def test_an_agent_that_goes_away_politely_still_gets_what_it_asked_for() -> None:
    release = threading.Event()
    with to_http1() as (_, client, upstream):

        @upstream.on("/late")
        def late(call: Call) -> None:
            assert release.wait(60)
            call.reply(200, b"late")

        stream = client.ask("/late")
        until(lambda: bool(upstream.seen))
        client.sock.sendall(b"\0\0\x08\x07\0\0\0\0\0" + b"\0" * 8)
        release.set()
        assert client.wait(stream)[0].body == b"late"
        assert closed(client)


def test_a_websocket_over_http2_is_not_offered_and_its_attempt_is_recorded() -> None:
    with pair() as (rig, client, upstream):
        until(lambda: bool(client.h2.remote_settings))
        offered = client.h2.remote_settings.get(h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL, 0)
        assert offered == 0
        frame = HeadersFrame(1)
        fields = [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https")]
        frame.data = client.h2.encoder.encode([*fields, (":path", "/"), (":authority", API)])
        frame.flags |= {"END_HEADERS"}
        client.sock.sendall(frame.serialize())
        assert closed(client)
        assert upstream.events == []
        until(lambda: not rig.recorder.of(EgressDecision)[-1].allowed)


def test_the_control_a_client_whose_socket_is_shut_is_seen_as_closed() -> None:
    with pair() as (_, client, _):
        client.sock.shutdown(socket.SHUT_WR)
        assert closed(client)


def test_a_silent_server_is_pinged_so_that_its_connection_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = handler._Settings
    monkeypatch.setattr(handler, "_Settings", lambda: settings(http2_ping_keepalive=1))
    release = threading.Event()

    def react(peer: Peer, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.PingReceived):
            release.set()
            peer.answer(1, b"late")

    with pair(react) as (_, client, upstream):
        (answer,) = client.wait(client.ask("/think"))
        assert answer.body == b"late"
        assert release.is_set()
        assert len(upstream.peers) == 1


class BoomError(Exception):
    """A bug."""


def boom(*_: object, **__: object) -> None:
    raise BoomError


def boom_generator(*_: object, **__: object) -> Iterator[object]:
    raise BoomError
    yield


async def boom_later(*_: object, **__: object) -> None:
    raise BoomError


PLACES: dict[str, tuple[object, str, Any]] = {
    "agent's frames": (AgentHttp2, "handle_h2_event", boom_generator),
    "agent's events": (AgentHttp2, "_handle_event", boom_generator),
    "server's frames": (UpstreamHttp2, "handle_h2_event", boom_generator),
    "server's events": (UpstreamHttp2, "_handle_event2", boom_generator),
    "acknowledging": (FlowControlled, "acknowledge_received_data", boom),
    "releasing": (FlowControlled, "release", boom),
    "stuck": (AgentHttp, "_stuck_at_server", boom),
    "full": (AgentHttp, "full", property(boom)),
    "draining": (AgentConnection, "_drained", boom_later),
    "goodbye": (FlowControlled, "_receive_goaway_frame", boom),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_bug_in_http2_ends_the_connection_at_once_and_marks_the_run(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, broken = PLACES[place]
    if place in ("stuck", "goodbye"):  # what a connection looks up when it begins
        monkeypatch.setattr(owner, name, broken)
    with pair() as (rig, client, _):
        client.wait(client.ask("/warm"))
        monkeypatch.setattr(owner, name, broken)
        if place == "draining":  # it is waited for only where something is unsent
            monkeypatch.setattr(AgentConnection, "_unsent", lambda *_: 1)
            behind = property(lambda _: True, lambda *_: None)
            monkeypatch.setattr(AgentConnection, "_behind", behind, raising=False)
        began = time.monotonic()
        with suppress(OSError):
            client.ask("/x", body=b"hello")
            client.sock.sendall(b"\0\0\x08\x07\0\0\0\0\0" + b"\0" * 8)
        assert closed(client)
        assert time.monotonic() - began < 30  # a hang is 60 s: the client's timeout
    assert len(rig.fatal) == 1
    assert "BoomError" in rig.fatal[0]


@pytest.mark.parametrize("size", [5, 0])
def test_frames_of_data_that_hold_nothing_pass_for_nothing(size: int) -> None:
    """RFC 9113, 6.1: also where all that was announced has come; many servers end by a frame of its own."""

    def react(peer: Peer, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.StreamEnded):
            stream = event.stream_id or 0
            peer.h2.send_headers(stream, [(":status", "200"), ("content-length", str(size))])
            for piece in (b"x" * size, b"", b""):
                peer.h2.send_data(stream, piece)
                peer.flush()
                time.sleep(0.05)  # each is read by itself: what comes at once is one piece
            peer.h2.send_data(stream, b"", pad_length=20)
            peer.h2.end_stream(stream)

    with pair(react) as (rig, client, _):
        (answer,) = client.wait(client.ask("/"))
        rig.recorder.wait_for(LlmResponseEnd)
    assert answer.body == b"x" * size
    assert rig.fatal == []


def test_a_server_that_takes_its_window_back_is_waited_for() -> None:
    taken = threading.Event()

    def react(peer: Peer, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.DataReceived) and not taken.is_set():
            peer.acknowledges = False
            peer.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
        if isinstance(event, h2.events.SettingsAcknowledged) and event.changed_settings:
            taken.set()
        if isinstance(event, h2.events.StreamEnded):
            peer.answer(event.stream_id or 0, b"all of it")

    with pair(react) as (rig, client, upstream):
        stream = client.begin("/", length=None)  # a body that says its length is sent in one piece
        client.more(stream, b"x" * 1000)
        assert taken.wait(60)
        client.more(stream, b"y" * 5000, last=True)
        with upstream.peers[0].lock:
            upstream.peers[0].h2.increment_flow_control_window(10_000, 1)
            upstream.peers[0].flush()
        (answer,) = client.wait(stream)
        sent = [event.data for event in upstream.events if isinstance(event, h2.events.DataReceived)]
    assert b"".join(sent) == b"x" * 1000 + b"y" * 5000
    assert answer.body == b"all of it"
    assert rig.fatal == []


def closes(peer: Peer) -> None:
    peer.sock.shutdown(socket.SHUT_RDWR)


def breaks_the_protocol(peer: Peer) -> None:
    peer.sock.sendall(DataFrame(3, b"no head yet").serialize())


def goes_away(peer: Peer) -> None:
    peer.sock.sendall(b"\0\0\x08\x07\0\0\0\0\0" + b"\0\0\0\3" + b"\0" * 4)
    peer.answer(3)


@pytest.mark.parametrize(
    ("end", "first"), [(closes, 502), (breaks_the_protocol, 502), (goes_away, 200), (Peer.answer, 200)]
)
def test_requests_that_wait_until_a_server_takes_more_end_with_its_connection(end: Any, first: int) -> None:
    """Else their agent waits for good, and the run ends once it does not. The last is the control."""
    sent = threading.Event()

    def react(peer: Peer, event: h2.events.Event) -> None:
        path = dict(getattr(event, "headers", None) or {}).get(b":path")
        if path == b"/before":
            peer.h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: 1})
            peer.answer(event.stream_id)
        elif path == b"/first":
            assert sent.wait(60)
            end(peer) if end is not Peer.answer else peer.answer(event.stream_id)
        elif path is not None:
            peer.answer(event.stream_id)

    with pair(react) as (rig, client, _):
        client.wait(client.ask("/before"))
        streams = [client.ask(path) for path in ("/first", "/second", "/third")]
        rig.recorder.wait_for(LlmRequest, 4)
        sent.set()
        answers = client.wait(*streams)
        rig.recorder.wait_for(LlmResponseEnd, 4)
    later = 200 if end is Peer.answer else 502
    assert [answer.status for answer in answers] == [first, later, later]
    assert rig.fatal == []


def test_a_server_with_wide_windows_that_reads_nothing_fills_no_memory_of_ours() -> None:
    """What it grants is not what it takes: an agent may send what is on its way, the rest once it is read."""
    reading = threading.Event()

    def react(peer: Peer, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            peer.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 2**31 - 1})
            peer.h2.increment_flow_control_window(2**30)
            peer.flush()
        if isinstance(event, h2.events.DataReceived):
            assert reading.wait(60)
        if isinstance(event, h2.events.StreamEnded):
            peer.answer(event.stream_id or 0, b"all of it")

    with pair(react) as (rig, client, _):
        stream, sent = client.begin("/", length=None), 0
        client.sock.settimeout(3)
        with suppress(TimeoutError):
            while sent < 32 * STREAM_WINDOW:
                while (room := min(client.h2.local_flow_control_window(stream), 16384)) == 0:
                    client.h2.receive_data(client.sock.recv(65536))
                client.more(stream, b"x" * room)
                sent += room
        held = sent
        reading.set()
        client.sock.settimeout(60)
        while sent < 32 * STREAM_WINDOW:
            while (room := min(client.h2.local_flow_control_window(stream), 16384)) == 0:
                client.h2.receive_data(client.sock.recv(65536))
            client.more(stream, b"x" * room)
            sent += room
        client.more(stream, b"", last=True)
        (answer,) = client.wait(stream)
    assert answer.body == b"all of it"
    assert held < 24 * STREAM_WINDOW  # the system's own buffers take some megabytes
    assert rig.fatal == []
