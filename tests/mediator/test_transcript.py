"""One exchange's events: numbered, in order, ended once."""

from hark.bundle.events import LlmRequest, LlmResponseChunk, LlmResponseEnd, RequestChunk, Trailers
from mediator.authority import Destination
from mediator.ledger import Ledger
from mediator.transcript import Transcript, recorded_host
from tests.fakes.recorder import ListRecorder

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
