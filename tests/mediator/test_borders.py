"""A credential cut in two by the border of events: found for every kind of stream and every cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle.events import (
    DnsQuery,
    Event,
    Input,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    RequestChunk,
    TunnelData,
    WebSocketMessage,
)
from hark.errors import RecordError
from mediator.borders import Borders
from mediator.credentials import Broker
from mediator.grants import Held
from mediator.ledger import Ledger
from tests.fakes.recorder import ListRecorder
from tests.mediator.rig import API, secret

VALUE = "sk-real-5e884898da28047151d0e56f8dc62927"
PIECES = {
    "answer": lambda data, more: LlmResponseChunk(exchange=1, data=data),
    "request": lambda data, more: RequestChunk(exchange=1, data=data, last=not more),
    "websocket": lambda data, more: WebSocketMessage(exchange=1, type="text", data=data, more=more),
    "input": lambda data, more: Input(source="terminal", data=data, end=not more),
    "tunnel": lambda data, more: TunnelData(exchange=1, from_agent=True, data=data, end=not more),
}


def borders() -> Borders:
    return Borders(Broker((secret(VALUE, API),)))


def pieces(kind: str, *data: bytes) -> list[Event]:
    return [PIECES[kind](part, number + 1 < len(data)) for number, part in enumerate(data)]


@pytest.mark.parametrize("kind", PIECES)
@pytest.mark.parametrize("cut", range(1, len(VALUE)))
def test_a_value_across_a_border_is_found_wherever_it_is_cut(kind: str, cut: int) -> None:
    check = borders().check
    first, second = pieces(kind, b"before " + VALUE[:cut].encode(), VALUE[cut:].encode() + b" behind")
    check(first)
    with pytest.raises(RecordError, match=r"real value of secrets\.API_KEY"):
        check(second)


@pytest.mark.parametrize("kind", PIECES)
def test_a_value_over_many_small_events_is_found(kind: str) -> None:
    check = borders().check
    *most, last = pieces(kind, *(bytes([byte]) for byte in VALUE.encode()))
    for event in most:
        check(event)
    with pytest.raises(RecordError):
        check(last)


def test_a_body_that_begins_in_its_request_goes_on_in_its_pieces() -> None:
    check = borders().check
    check(LlmRequest(exchange=1, body=VALUE[:9].encode()))
    with pytest.raises(RecordError):
        check(RequestChunk(exchange=1, data=VALUE[9:].encode()))


def test_what_belongs_to_different_streams_is_not_put_together() -> None:
    check = borders().check
    head, tail = VALUE[:20].encode(), VALUE[20:].encode()
    check(LlmResponseChunk(exchange=1, data=head))
    check(LlmResponseChunk(exchange=2, data=tail))
    check(RequestChunk(exchange=1, data=tail))
    check(TunnelData(exchange=3, from_agent=True, data=head))
    check(TunnelData(exchange=3, data=tail))
    check(WebSocketMessage(exchange=4, type="text", data=head))
    check(WebSocketMessage(exchange=4, type="text", data=tail))  # another message
    check(LlmResponseEnd(exchange=1))
    check(LlmResponseChunk(exchange=1, data=tail))
    check(DnsQuery(name="a.test"))


def test_nothing_is_remembered_of_what_has_ended() -> None:
    kept = borders()
    for number in range(1000):
        for event in (
            LlmRequest(exchange=number, body=b"x" * 500),
            RequestChunk(exchange=number, data=b"x", last=True),
            LlmResponseChunk(exchange=number, data=b"x" * 500),
            LlmResponseEnd(exchange=number),
            TunnelData(exchange=number, data=b"x"),
            TunnelData(exchange=number, end=True),
        ):
            kept.check(event)
    assert kept._open == {}


def test_a_credential_that_is_minted_in_the_middle_of_a_stream_is_found_across_it() -> None:
    broker = Broker(())
    check = Borders(broker).check
    check(LlmResponseChunk(exchange=1, data=VALUE[:20].encode()))
    broker.add(Held("minted", VALUE, "sk-harkAbCdEfGhIjKlMnOpQrStUv", ()))
    with pytest.raises(RecordError, match=r"secrets\.minted"):
        check(LlmResponseChunk(exchange=1, data=VALUE[20:].encode()))


@given(st.lists(st.binary(max_size=60), max_size=12), st.integers(0, 11), st.randoms())
def test_however_a_stream_is_cut_its_value_is_never_on_the_record_whole(
    parts: list[bytes], at: int, random: object
) -> None:
    whole = b"".join(parts[:at]) + VALUE.encode() + b"".join(parts[at:])
    broker, kept = Broker((secret(VALUE, API),)), borders()
    taken = bytearray()

    def record() -> None:
        seen = 0
        while seen < len(whole):
            size = random.randint(1, 30)  # type: ignore[attr-defined]
            event = LlmResponseChunk(exchange=1, data=whole[seen : seen + size])
            kept.check(event)
            broker.guard(event.data)
            taken.extend(event.data)
            seen += size

    with pytest.raises(RecordError):
        record()
    assert VALUE.encode() not in taken


def test_the_ledger_looks_before_it_records_and_without_that_the_two_halves_are_recorded() -> None:
    halves = pieces("answer", VALUE[:20].encode(), VALUE[20:].encode())
    recorder, fatal = ListRecorder(), []
    book = Ledger(recorder, fatal.append, lambda: 0.0, check=borders().check)
    book.append(halves[0])
    with pytest.raises(RecordError):
        book.append(halves[1])
    assert (recorder.events, len(fatal)) == (halves[:1], 1)
    assert VALUE not in fatal[0]
    careless = ListRecorder(guard=Broker((secret(VALUE, API),)).guard)
    book = Ledger(careless, fatal.append, lambda: 0.0)
    for half in halves:
        book.append(half)
    assert careless.events == halves
