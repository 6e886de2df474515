"""HTTP/2 with the same checks and the same record as HTTP/1.1; and what one agent connection keeps."""

import gc
import socket
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import pytest
from mitmproxy.proxy.context import Context

from hark.bundle.events import EgressDecision, Interim, LlmRequest, LlmResponseEnd, RequestChunk
from mediator import engine
from mediator import http as http_module
from mediator.exchange import Exchange
from mediator.held import Room
from mediator.http import AgentHttp
from mediator.link import Link
from tests.fakes.upstream import Call, Upstream, serving
from tests.mediator.rig import API, OTHER, VALUE, Rig, running, secret
from tests.mediator.rig import pair as over_http1
from tests.support.waiting import until


@dataclass
class Answer:
    """What came back on one stream."""

    status: int = 0
    body: bytes = b""
    reset: bool = False
    done: bool = False
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    hints: list[tuple[bytes, bytes]] = field(default_factory=list)
    """The headers of interim answers."""
    trailers: list[tuple[bytes, bytes]] = field(default_factory=list)


class Client:
    """A small HTTP/2 client."""

    def __init__(self, sock: socket.socket) -> None:
        config = h2.config.H2Configuration(header_encoding=None, validate_outbound_headers=False)
        self.sock = sock
        self.h2 = h2.connection.H2Connection(config)
        self.h2.initiate_connection()
        self.flush()
        self.answers: dict[int, Answer] = {}

    def flush(self) -> None:
        """Send what is to be sent."""
        self.sock.sendall(self.h2.data_to_send())

    def ask(self, path: str, authority: str = API, body: bytes | None = None, **more: str) -> int:
        """Begin a request; without a body it is complete."""
        stream = self.h2.get_next_available_stream_id()
        method = "POST" if body is not None else "GET"
        headers = [(":method", method), (":scheme", "https"), (":authority", authority), (":path", path)]
        self.h2.send_headers(stream, [*headers, *more.items()], end_stream=body is None)
        if body:
            self.h2.send_data(stream, body)
        if body is not None:
            self.h2.end_stream(stream)
        self.answers[stream] = Answer()
        self.flush()
        return stream

    def begin(self, path: str, length: int | None) -> int:
        """Begin a request whose body follows, and may say how long it is."""
        stream = self.h2.get_next_available_stream_id()
        headers = [(":method", "POST"), (":scheme", "https"), (":authority", API), (":path", path)]
        said = [] if length is None else [("content-length", str(length))]
        self.h2.send_headers(stream, headers + said)
        self.answers[stream] = Answer()
        self.flush()
        return stream

    def more(self, stream: int, data: bytes, *, last: bool = False) -> None:
        """Send a piece of a body."""
        self.h2.send_data(stream, data, end_stream=last)
        self.flush()

    def wait(self, *streams: int) -> list[Answer]:
        """Read until these streams have ended."""
        while not all(self.answers[stream].done for stream in streams):
            data = self.sock.recv(65536)
            if not data:
                break
            for event in self.h2.receive_data(data):
                self.take(event)
            self.flush()
        return [self.answers[stream] for stream in streams]

    def take(self, event: h2.events.Event) -> None:
        """Keep what one event says."""
        answer = self.answers.get(getattr(event, "stream_id", 0) or 0, Answer())
        match event:
            case h2.events.ResponseReceived():
                answer.headers = list(event.headers)
                answer.status = int(dict(event.headers)[b":status"])
            case h2.events.InformationalResponseReceived():
                answer.hints += event.headers
            case h2.events.TrailersReceived():
                answer.trailers += event.headers
            case h2.events.DataReceived():
                answer.body += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                answer.done = True
            case h2.events.StreamReset():
                answer.done = answer.reset = True
            case _:
                pass


@contextmanager
def pair(*allow: str) -> Iterator[tuple[Rig, Client, Upstream]]:
    with (
        serving(API) as upstream,
        running(API, *allow, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
        rig.tls(API, 443, None, "h2", "http/1.1") as sock,
    ):
        assert sock.selected_alpn_protocol() == "h2"
        yield rig, Client(sock), upstream


def test_http2_passes_to_a_server_that_speaks_http1_and_is_recorded() -> None:
    with pair() as (rig, client, upstream):
        (answer,) = client.wait(client.ask("/a?b=1", body=b"hello", **{"x-mine": "1"}))
        assert (answer.status, answer.body) == (200, b"POST /a?b=1 5")
        rig.recorder.wait_for(LlmResponseEnd)
    (request,) = rig.recorder.of(LlmRequest)
    assert (request.host, request.method, request.path) == (API, "POST", "/a?b=1")
    assert (b"x-mine", b"1") in request.raw_headers
    assert upstream.seen[0].header("host") == API
    sent = request.body + b"".join(chunk.data for chunk in rig.recorder.of(RequestChunk))
    assert sent == b"hello"


def test_streams_interleave_and_are_exchanges_of_their_own() -> None:
    release = threading.Event()
    with pair() as (rig, client, upstream):

        @upstream.on("/slow")
        def slow(call: Call) -> None:
            assert release.wait(60)
            call.reply(200, b"slow")

        first, second = client.ask("/slow"), client.ask("/fast")
        (fast,) = client.wait(second)
        assert not client.answers[first].done
        assert fast.body == b"GET /fast 0"
        release.set()
        assert client.wait(first)[0].body == b"slow"
        ends = rig.recorder.wait_for(LlmResponseEnd, 2)
    assert [end.exchange for end in ends] == [2, 1]


def test_another_authority_on_the_same_connection_is_refused_and_the_others_go_on() -> None:
    with pair(OTHER) as (rig, client, upstream):
        (refused,) = client.wait(client.ask("/x", OTHER))
        (fine,) = client.wait(client.ask("/y"))
        assert (refused.status, fine.status) == (403, 200)
        assert b"the request's host is other.example.test:443" in refused.body
        assert [seen.path for seen in upstream.seen] == ["/y"]
        assert not rig.recorder.of(EgressDecision)[-1].allowed


def test_a_host_header_that_disagrees_with_the_authority_is_refused() -> None:
    """The protocol forbids it, so the whole connection ends; that is on the record too."""
    with pair(OTHER) as (rig, client, upstream):
        (refused,) = client.wait(client.ask("/x", API, host=OTHER))
        assert refused.status == 0
        assert upstream.seen == []
        decision = rig.recorder.wait_for(EgressDecision, 2)[-1]
        assert not decision.allowed
        assert decision.reason == "the request cannot be read: http/2 protocol error"


@pytest.mark.parametrize("path", ["/x HTTP/1.1\r\nHost: evil.test\r\n\r\nGET /y", "/a b", "/\0"])
def test_a_path_that_would_end_its_line_in_http1_does_not_leave(path: str) -> None:
    with pair() as (rig, client, upstream):
        (refused,) = client.wait(client.ask(path))
        assert refused.status in (0, 400)
        assert upstream.seen == []
        assert not rig.recorder.wait_for(EgressDecision, 2)[-1].allowed


def test_a_body_without_a_length_is_framed_for_a_server_that_speaks_http1() -> None:
    """Unframed, the server would take it for the next request."""
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: api.example.test\r\n\r\n"
    with pair() as (_, client, upstream):
        (answer,) = client.wait(client.ask("/a", body=smuggled))
        assert answer.body == b"POST /a %d" % len(smuggled)
        client.wait(client.ask("/b"))
        assert [seen.path for seen in upstream.seen] == ["/a", "/b"]


def test_a_cut_answer_resets_its_stream_and_no_other() -> None:
    with pair() as (rig, client, upstream):

        @upstream.on("/cut")
        def cut(call: Call) -> None:
            call.begin_chunked("text/plain")
            call.chunk(b"half")
            call.cut()

        (answer,) = client.wait(client.ask("/cut"))
        assert answer.reset
        (fine,) = client.wait(client.ask("/y"))
        assert fine.status == 200
        assert rig.fatal == []


def test_a_long_lived_connection_does_not_keep_the_servers_connections_it_used() -> None:
    kept: list[int] = []
    real = AgentHttp._forget

    def counted(self: AgentHttp, connection: object) -> None:
        real(self, connection)
        kept.append(len(self.connections))

    AgentHttp._forget = counted  # type: ignore[method-assign]
    try:
        with pair() as (rig, client, _):
            for number in range(12):
                client.wait(client.ask(f"/{number}"))
            rig.recorder.wait_for(LlmResponseEnd, 12)
    finally:
        AgentHttp._forget = real  # type: ignore[method-assign]
    assert max(kept) <= 3


@pytest.mark.parametrize("path", ["https://evil.example/steal", "@o.example/", "x", "*"])
def test_a_path_without_a_slash_does_not_leave(path: str) -> None:
    with pair() as (rig, client, upstream):
        (refused,) = client.wait(client.ask(path))
        assert refused.status in (0, 400)
        assert upstream.seen == []
        assert not rig.recorder.wait_for(EgressDecision, 2)[-1].allowed


def test_bodies_beyond_the_room_for_all_of_them_are_streamed_and_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "Room", lambda: Room(5000))
    with pair() as (rig, client, upstream):
        streams = [client.begin(f"/{number}", 4000) for number in range(4)]
        for stream in streams:
            client.more(stream, b"a" * 2000)
        for stream in streams:
            client.more(stream, b"b" * 2000, last=True)
        answers = client.wait(*streams)
        rig.recorder.wait_for(LlmResponseEnd, 4)
    assert sorted(answer.body for answer in answers) == [b"POST /%d 4000" % number for number in range(4)]
    requests = rig.recorder.of(LlmRequest)
    assert [request.streaming for request in requests].count(True) == 3
    for request in requests:
        chunks = [chunk for chunk in rig.recorder.of(RequestChunk) if chunk.exchange == request.exchange]
        assert request.body + b"".join(chunk.data for chunk in chunks) == b"a" * 2000 + b"b" * 2000
    assert {seen.body for seen in upstream.seen} == {b"a" * 2000 + b"b" * 2000}


@pytest.mark.parametrize("leave", ["reset", "close"])
def test_a_body_that_is_never_finished_gives_its_room_back(
    monkeypatch: pytest.MonkeyPatch, leave: str
) -> None:
    room = Room(5000)
    monkeypatch.setattr(engine, "Room", lambda: room)
    with pair() as (rig, client, _):
        stream = client.begin("/a", 4000)
        client.more(stream, b"a" * 3000)
        until(lambda: room.left == 1000)
        if leave == "reset":
            client.h2.reset_stream(stream)
            client.flush()
        else:
            client.sock.close()
        until(lambda: room.left == 5000)
        assert rig.fatal == []


def test_an_interim_answer_passes_to_an_agent_that_speaks_http2() -> None:
    with pair() as (rig, client, upstream):

        @upstream.on("/hints")
        def early(call: Call) -> None:
            call.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
            call.reply(200, b"real")

        (answer,) = client.wait(client.ask("/hints"))
        (interim,) = rig.recorder.of(Interim)
    assert (answer.status, answer.body) == (200, b"real")
    assert answer.hints == [(b":status", b"103"), (b"link", b"</x>")]
    assert interim.status == 103


def test_trailers_of_http1_reach_http2_in_small_letters() -> None:
    with pair() as (rig, client, upstream):

        @upstream.on("/t")
        def trailing(call: Call) -> None:
            call.begin_chunked("text/plain")
            call.chunk(b"body")
            call.wfile.write(b"0\r\nX-Sum: 42\r\n\r\n")

        (answer,) = client.wait(client.ask("/t"))
        assert rig.fatal == []
    assert answer.body == b"body"
    assert answer.trailers == [(b"x-sum", b"42")]


def test_an_exchange_that_is_over_is_freed_without_a_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[Exchange]] = []

    class Seen(Exchange):
        def __init__(self, context: Context, stream_id: int, link: Link) -> None:
            super().__init__(context, stream_id, link)
            made.append(weakref.ref(self))

    with over_http1(secrets=(secret(VALUE, API),)) as (rig, _), rig.https() as client:
        client.request("GET", "/loads-what-is-needed")
        client.getresponse().read()
        monkeypatch.setattr(http_module, "Exchange", Seen)
        gc.disable()
        try:
            for number in range(5):
                client.request("POST", f"/{number}", body=b"x" * 2000)
                client.getresponse().read()
            until(lambda: len([one for one in made if one() is not None]) == 0)
        finally:
            gc.enable()
    assert len(made) == 5
