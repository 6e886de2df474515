"""One exchange's events: numbered, in order, ended once."""

from collections.abc import Callable

import pytest
from blake3 import blake3

from hark.bundle.events import (
    BodyHash,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    RequestChunk,
    ResponseHead,
    Trailers,
)
from hark.policy.model import Body, Policy, Rule
from mediator.authority import Destination
from mediator.ledger import Ledger
from mediator.transcript import Transcript, recorded_host
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import Call
from tests.mediator.rig import API, pair

HEADERS = ((b"A", b"1"), (b"A", b"\xff"))


def made() -> tuple[Transcript, ListRecorder]:
    recorder = ListRecorder()
    ticks = iter(range(1000, 100_000, 10))
    book = Ledger(recorder, lambda _: None, lambda: 0.0)
    return Transcript(book, lambda: next(ticks)), recorder


def test_an_exchange_is_written_in_the_order_in_which_it_crossed() -> None:
    transcript, recorder = made()
    assert not transcript.open
    transcript.request("api.test", b"PO\xffST", b"/caf\xe9", HEADERS, streamed=True)
    assert transcript.open
    transcript.request_chunk(b"one", last=False)
    transcript.request_chunk(b"", last=True)
    transcript.trailers(HEADERS, from_agent=True)
    transcript.response(200, HEADERS)
    transcript.chunk(b"a")
    transcript.chunk(b"b")
    transcript.end()
    assert not transcript.open
    text = {"A": "\\xff"}
    assert recorder.events == [
        LlmRequest(
            host="api.test",
            method="PO\\xffST",
            path="/caf\\xe9",
            headers=text,
            streaming=True,
            exchange=1,
            raw_headers=HEADERS,
        ),
        RequestChunk(exchange=1, seq=0, data=b"one"),
        RequestChunk(exchange=1, seq=1, last=True),
        Trailers(exchange=1, from_agent=True, headers=text, raw_headers=HEADERS),
        LlmResponseChunk(seq=0, data=b"a", since_prev=10, exchange=1),
        LlmResponseChunk(seq=1, data=b"b", since_prev=10, exchange=1),
        LlmResponseEnd(status=200, headers=text, chunk_count=2, exchange=1, raw_headers=HEADERS),
    ]


def test_an_exchange_without_an_answer_says_why() -> None:
    transcript, recorder = made()
    transcript.request("api.test", b"GET", b"/", (), streamed=False)
    transcript.end("the agent went away")
    (end,) = recorder.of(LlmResponseEnd)
    assert (end.status, end.error) == (0, "the agent went away")


def test_the_port_is_told_where_the_scheme_does_not_say_it() -> None:
    assert recorded_host(Destination("a.test", 443), tls=True) == "a.test"
    assert recorded_host(Destination("a.test", 80), tls=False) == "a.test"
    assert recorded_host(Destination("a.test", 443), tls=False) == "a.test:443"
    assert recorded_host(Destination("2001:db8::1", 8443), tls=True) == "[2001:db8::1]:8443"


def test_bodies_kept_by_hash_are_told_by_length_and_hash_once_each_and_not_stored() -> None:
    transcript, recorder = made()
    transcript.keep(Body.HASH)
    transcript.request("api.test", b"POST", b"/", (), streamed=True)
    transcript.request_chunk(b"one", last=False)
    transcript.request_chunk(b"two", last=True)
    transcript.response(200, ())
    transcript.chunk(b"a")
    transcript.chunk(b"b")
    transcript.end()
    assert recorder.events == [
        LlmRequest(host="api.test", method="POST", path="/", streaming=True, exchange=1),
        BodyHash(1, True, 6, blake3(b"onetwo").digest()),
        BodyHash(1, False, 2, blake3(b"ab").digest()),
        LlmResponseEnd(status=200, exchange=1),
    ]


def test_a_body_without_bytes_has_no_hash_and_one_that_broke_off_has_that_of_what_passed() -> None:
    transcript, recorder = made()
    transcript.keep(Body.HASH)
    transcript.request("api.test", b"PUT", b"/", (), streamed=True)
    transcript.request_chunk(b"half", last=False)
    transcript.end("the agent went away")
    assert recorder.of(BodyHash) == [BodyHash(1, True, 4, blake3(b"half").digest())]
    assert isinstance(recorder.events[-1], LlmResponseEnd)


def test_the_head_of_an_answer_that_goes_on_is_recorded_and_of_one_that_ended_is_not() -> None:
    recorder = ListRecorder()
    waiting: list[Callable[[], None]] = []
    book = Ledger(recorder, lambda _: None, lambda: 0.0)
    short, long = (Transcript(book, lambda: 0, waiting.append) for _ in range(2))
    for transcript in (short, long):
        transcript.request("api.test", b"GET", b"/", (), streamed=False)
    for transcript in (short, long):
        transcript.response(207, HEADERS)
    short.end()
    for call in waiting:
        call()
    text = {"A": "\\xff"}
    assert recorder.of(ResponseHead) == [
        ResponseHead(exchange=2, status=207, headers=text, raw_headers=HEADERS)
    ]
    long.end()
    assert recorder.of(LlmResponseEnd)[-1].raw_headers == HEADERS


def test_a_mirrors_bodies_pass_whole_and_only_their_hash_is_recorded() -> None:
    big = bytes(range(256)) * 8192
    policy = Policy(allow=(Rule(host=API, body=Body.HASH),))
    with pair(policy=policy) as (rig, upstream), rig.https() as client:
        upstream.routes["/big"] = lambda call: call.reply(200, big)
        client.request("POST", "/big", body=b"wanted")
        assert client.getresponse().read() == big
        rig.recorder.wait_for(LlmResponseEnd)
    assert upstream.seen[0].body == b"wanted"
    assert rig.recorder.of(BodyHash) == [
        BodyHash(1, True, 6, blake3(b"wanted").digest()),
        BodyHash(1, False, len(big), blake3(big).digest()),
    ]
    assert b"wanted" not in rig.recorder.bytes()
    assert len(rig.recorder.bytes()) < 10_000


def test_without_the_policys_word_the_same_bodies_are_stored() -> None:
    with pair() as (rig, _), rig.https() as client:
        client.request("POST", "/", body=b"wanted")
        client.getresponse().read()
        rig.recorder.wait_for(LlmResponseEnd)
    assert rig.recorder.of(BodyHash) == []
    assert b"wanted" in rig.recorder.bytes()


def test_a_run_that_is_killed_in_the_middle_of_an_answer_has_its_status() -> None:
    with pair() as (rig, upstream), rig.https() as client:

        @upstream.on("/sse")
        def stream(call: Call) -> None:
            call.begin_chunked("text/event-stream")
            call.chunk(b"data: 1\n\n")
            rig.recorder.wait_for(ResponseHead)
            call.chunk(b"")

        client.request("GET", "/sse")
        answer = client.getresponse()
        (head,) = rig.recorder.wait_for(ResponseHead)
        answer.read()
        rig.recorder.wait_for(LlmResponseEnd)
    assert (head.status, head.exchange) == (200, 1)
    assert (b"Content-Type", b"text/event-stream") in head.raw_headers


def test_a_head_that_the_agent_has_is_recorded_before_what_the_agent_does_next_unless_a_piece_says_so() -> (
    None
):
    recorder = ListRecorder()
    book = Ledger(recorder, lambda _: None, lambda: 0.0)
    waiting: list[Callable[[], None]] = []
    silent, talking, asking = (Transcript(book, lambda: 0, waiting.append) for _ in range(3))
    for transcript in (silent, talking):
        transcript.request("api.test", b"GET", b"/", (), streamed=False)
    for transcript in (silent, talking):
        transcript.response(200, ())
    talking.chunk(b"x")
    asking.request("api.test", b"GET", b"/", (), streamed=False)
    asking.end()
    for call in waiting:
        call()
    kinds = [type(event) for event in recorder.events]
    assert kinds == [
        LlmRequest,
        LlmRequest,
        LlmResponseChunk,
        ResponseHead,
        LlmRequest,
        LlmResponseEnd,
        ResponseHead,
    ]
    assert [event.exchange for event in recorder.of(ResponseHead)] == [1, 2]


class Ours:
    """A clock that goes on when it is told to, and a timer that never runs out."""

    now = 0

    def __call__(self) -> int:
        return self.now

    def later(self, _call: Callable[[], None]) -> "Ours":
        return self

    def cancel(self) -> None:
        """Nothing was to happen."""


@pytest.mark.parametrize(("waited_ns", "heads"), [(2_000_000, 0), (2_000_001, 1)])
def test_a_head_that_came_alone_is_recorded_before_its_first_piece(waited_ns: int, heads: int) -> None:
    recorder, ours = ListRecorder(), Ours()
    transcript = Transcript(Ledger(recorder, lambda _: None, lambda: 0.0), ours, ours.later)
    transcript.request("api.test", b"GET", b"/", (), streamed=False)
    transcript.response(200, HEADERS)
    for _ in range(2):
        ours.now += waited_ns
        transcript.chunk(b"x")
    kinds = [type(event) for event in recorder.events]
    assert kinds == [LlmRequest, *[ResponseHead] * heads, LlmResponseChunk, LlmResponseChunk]
