"""A recording read: what came in, in parts, and what the agent did, each at its place."""

from typing import Any

import pytest

from hark.bundle.events import (
    AGENT_LEFT,
    RUN_ENDED,
    BodyHash,
    DnsDecision,
    DnsQuery,
    EgressAttempt,
    EgressDecision,
    Interim,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    RequestChunk,
    ResponseHead,
    RunEnd,
    RunStart,
    Trailers,
    WebSocketMessage,
)
from hark.replay.pieces import Data, Early, End, Failed, Head, Message, Refused, Tail, Withheld
from hark.replay.recorded import BY_HARK, PACKETS, Frame, Recorded, read
from mediator import packets, pages

HEADERS = ((b"Set-Cookie", b"a"), (b"Set-Cookie", b"b"))


def frames(*events: Any) -> list[Frame]:
    """Number events; each is a millisecond after the one before."""
    return [Frame(seq, seq * 10**6, event) for seq, event in enumerate(events)]


def asked(path: str = "/", *, exchange: int = 1, streaming: bool = False, body: bytes = b"") -> LlmRequest:
    """Return a request."""
    return LlmRequest("api.test", "POST", path, body=body, exchange=exchange, streaming=streaming)


def piece(data: bytes, seq: int = 0, exchange: int = 1) -> LlmResponseChunk:
    """Return a piece of an answer."""
    return LlmResponseChunk(seq, data, exchange=exchange)


def end(status: int = 200, error: str = "", *, exchange: int = 1, headers: Any = HEADERS) -> LlmResponseEnd:
    """Return an answer's end."""
    return LlmResponseEnd(status, error=error, exchange=exchange, raw_headers=headers)


def only(*events: Any) -> Recorded:
    """Return the only exchange of a recording."""
    (found,) = read(frames(*events)).exchanges.values()
    return found


def pieces(*events: Any) -> list[Any]:
    """Return what came in, each with its event."""
    return [(part.seq, part.piece) for part in only(*events).parts]


def test_an_answer_has_its_head_in_front_of_its_first_piece_with_what_its_end_says() -> None:
    found = pieces(asked(), piece(b"a"), piece(b"b", 1), Trailers(1, False, {}, ((b"x", b"y"),)), end())
    assert found == [
        (1, Head(200, HEADERS, ends=False)),
        (1, Data(b"a")),
        (2, Data(b"b")),
        (3, Tail(((b"x", b"y"),))),
        (4, End()),
    ]


def test_the_head_of_an_answer_that_went_on_stands_where_it_was_recorded() -> None:
    found = pieces(asked(), ResponseHead(1, 200, {}, HEADERS), piece(b"a"), end())
    assert found == [(1, Head(200, HEADERS, ends=False)), (2, Data(b"a")), (3, End())]


def test_a_head_that_was_recorded_late_does_not_come_twice() -> None:
    found = pieces(asked(), piece(b"a"), ResponseHead(1, 200, {}, HEADERS), end())
    assert found == [(1, Head(200, HEADERS, ends=False)), (1, Data(b"a")), (3, End())]


def test_an_answer_of_a_head_alone_ends_with_it() -> None:
    assert pieces(asked(), Interim(1, 103, {}, HEADERS), end(204)) == [
        (1, Early(103, HEADERS)),
        (2, Head(204, HEADERS, ends=True)),
        (2, End()),
    ]


def test_an_answer_that_was_cut_fails_at_the_same_place() -> None:
    found = pieces(asked(), piece(b"a"), end(error="it broke off"))
    assert found == [(1, Head(200, HEADERS, ends=False)), (1, Data(b"a")), (2, Failed("it broke off"))]


def test_the_page_of_an_upstream_that_was_not_reached_is_a_failure_and_no_answer() -> None:
    page = ((b"server", b"hark"), (b"content-type", b"text/plain"))
    found = pieces(asked(), piece(b"hark: no answer"), end(502, "refused the connection", headers=page))
    assert found == [(1, Failed("refused the connection"))]
    assert (b"server", pages.BY_HARK.encode()) == BY_HARK


def test_a_servers_own_502_is_an_answer() -> None:
    assert pieces(asked(), piece(b"bad"), end(502))[-1] == (2, End())


def test_a_refusal_is_no_answer() -> None:
    assert pieces(asked(), piece(b"page"), end(403, "refused: no rule")) == [(2, Refused("no rule"))]


def test_what_the_agent_did_not_wait_for_is_withheld_and_its_leaving_is_an_action() -> None:
    found = read(frames(asked(), piece(b"a"), end(error=AGENT_LEFT)))
    (recorded,) = found.exchanges.values()
    assert [part.piece for part in recorded.parts][1:] == [Data(b"a"), Withheld(AGENT_LEFT)]
    assert recorded.left is found.actions[-1]
    assert recorded.left.blocking


@pytest.mark.parametrize("error", [RUN_ENDED, "the rule ended at noon"])
def test_what_never_began_before_the_run_or_the_connection_ended_is_withheld(error: str) -> None:
    assert pieces(asked(), end(0, error)) == [(1, Withheld(error))]


def test_a_recording_that_breaks_off_withholds_what_was_under_way() -> None:
    assert pieces(asked()) == [(0, Withheld("the recording ends"))]
    assert pieces(asked(), piece(b"no head")) == [(1, Withheld("the recording ends"))]
    began = pieces(asked(), ResponseHead(1, 200, {}, HEADERS), piece(b"a"))
    assert began[-1] == (2, Withheld("the recording ends"))


def test_a_streamed_request_is_whole_at_its_last_piece_and_parts_know_how_much_was_sent() -> None:
    recorded = only(
        asked(streaming=True),
        RequestChunk(1, 0, b"abc"),
        piece(b"x"),
        RequestChunk(1, 1, b"de", last=True),
        end(),
    )
    assert recorded.gathered.canonical().size == recorded.sent == 5
    assert recorded.end is not None
    assert recorded.end.seq == 3
    assert [part.sent for part in recorded.parts] == [3, 3, 5]
    assert recorded.began_early
    later = only(asked(streaming=True), RequestChunk(1, 0, b"abc", last=True), piece(b"x"), end())
    assert not later.began_early


def test_an_exchange_whose_answer_is_not_there_says_why() -> None:
    hashed = only(asked(), BodyHash(1, False, 1, b"h"), end())
    assert "hash" in hashed.unplayable
    talked = only(asked(), WebSocketMessage(1, type="text", data=b"x"), end(101))
    assert [type(part.piece) for part in talked.parts] == [Head, Message, End]
    assert talked.unplayable == ""


def test_denied_names_and_connections_are_waited_for_and_allowed_ones_are_not() -> None:
    found = read(
        frames(
            RunStart(started_at=5),
            DnsQuery("a.test", "A"),
            DnsDecision("a.test", True, answer="198.18.0.9"),
            DnsQuery("evil.test", "A"),
            DnsDecision("evil.test", False),
            EgressAttempt("a.test", 443, "tls", "a.test"),
            EgressDecision("a.test", True),
            EgressAttempt("9.9.9.9", 80, "tcp"),
            EgressDecision("9.9.9.9", False),
            RunEnd(),
        )
    )
    assert [(action.seq, action.blocking) for action in found.actions] == [
        (1, False),
        (3, True),
        (5, False),
        (7, True),
    ]
    assert [decision.part.seq for decision in found.decisions] == [2, 4, 6, 8]
    assert found.addresses() == {"a.test": "198.18.0.9"}
    assert found.started_at == 5
    assert found.ended is not None


def test_events_that_belong_to_nothing_or_come_twice_are_passed_over() -> None:
    stray = [
        piece(b"x", exchange=9),
        end(exchange=9),
        RequestChunk(9, 0, b"x", last=True),
        Interim(9, 103),
        ResponseHead(9, 200),
        Trailers(9),
        BodyHash(9),
        EgressDecision("a"),
        DnsDecision("a"),
        object(),
    ]
    assert read(frames(*stray)).exchanges == {}
    assert pieces(asked(), end(204), end(500), piece(b"late"), asked("/again"))[-1] == (1, End())


@pytest.mark.attack
@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((piece(b"x", exchange=9),), "event 1 is part of an answer in exchange 9"),
        ((end(exchange=9),), "event 1 ends exchange 9"),
        ((ResponseHead(9, 200),), ""),
        ((asked(), end(), end(500)), "event 3 ends exchange 1"),
        ((asked(), end(), piece(b"late")), "event 3 is part of an answer in exchange 1"),
        ((asked(), asked("/again"), end()), "event 2 is a second request of exchange 1"),
        ((RunEnd(), RunEnd()), "event 2 is a second end of the run"),
        ((asked(), piece(b"x"), end(), RunEnd()), ""),
    ],
)
def test_what_nothing_could_ever_ask_for_is_named(events: tuple[Any, ...], words: str) -> None:
    found = read(frames(RunStart(), *events)).stray
    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_nothing_waits_for_packets_which_are_sent_again_as_time_goes_by() -> None:
    found = read(frames(EgressAttempt("9.9.9.9", 443, "udp"), EgressDecision("9.9.9.9", False)))
    assert [action.blocking for action in found.actions] == [False]
    assert frozenset(packets._NAMES.values()) - {"tcp"} == PACKETS
