"""Exchanges from events: interleaved, packed, broken off, too long, and as nobody would record them."""

import gzip
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import events as ev
from hark.conversation import exchanges as module
from hark.conversation.exchanges import exchanges
from tests.hark.conversation.rig import frames


def asked(number: int = 1, **changes: Any) -> ev.LlmRequest:
    return ev.LlmRequest(host="api.example", method="POST", path="/v1", exchange=number)._replace(**changes)


def test_two_that_overlap_come_in_the_order_of_their_ends() -> None:
    first, second = exchanges(
        frames(
            asked(1),
            ev.RequestChunk(1, 0, b"ab"),
            asked(2, body=b"whole"),
            ev.RequestChunk(1, 1, b"c", last=True),
            ev.ResponseHead(2, 201),
            ev.LlmResponseChunk(0, b"x", 0, 2),
            ev.LlmResponseChunk(1, b"yz", 0, 2),
            ev.LlmResponseEnd(201, chunk_count=2, exchange=2, headers={"a": "b"}),
            ev.LlmResponseEnd(200, exchange=1),
        )
    )
    assert (first.exchange, first.seq, first.ended_seq, first.body) == (2, 2, 7, b"whole")
    assert (first.status, first.answer, first.answer_headers) == (201, b"xyz", ((b"a", b"b"),))
    assert first.answer_times == ((5, 5000, 1), (6, 6000, 2))
    assert (second.exchange, second.body, second.time_ns, second.ended_ns) == (1, b"abc", 0, 8000)


def test_content_codings_are_undone_and_what_only_claims_one_stays() -> None:
    packed, kind = gzip.compress(b"text"), ((b"Content-Encoding", b"GZIP"),)
    (one,) = exchanges(
        frames(
            asked(body=packed, raw_headers=kind),
            ev.LlmResponseChunk(0, b"plain", 0, 1),
            ev.LlmResponseEnd(200, exchange=1, raw_headers=kind),
        )
    )
    assert (one.body, one.answer, one.answer_times[0][2]) == (b"text", b"plain", 5)


def test_refused_broken_off_and_never_ended_are_told_apart() -> None:
    refused, broken, never = exchanges(
        frames(
            asked(3, body=b"open"),
            asked(1),
            ev.LlmResponseEnd(403, error=f"{ev.REFUSED}not allowed", exchange=1),
            asked(2),
            ev.LlmResponseEnd(200, error="connection lost", exchange=2),
        )
    )
    assert (refused.refused, refused.error) == ("not allowed", "")
    assert (broken.refused, broken.error) == ("", "connection lost")
    assert (never.exchange, never.ended_ns, never.ended_seq, never.status) == (3, None, None, 0)


def test_a_body_too_long_is_cut_and_says_so(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MAX_HELD", 4)
    events = [asked(body=b"123"), ev.RequestChunk(1, 0, b"45"), ev.LlmResponseEnd(200, exchange=1)]
    (one,) = exchanges(frames(*events))
    assert (one.body, one.cut) == (b"1234", True)
    monkeypatch.setattr(module, "MAX_HELD", 5)
    (one,) = exchanges(frames(*events))
    assert (one.body, one.cut) == (b"12345", False)


def test_all_that_is_open_together_is_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MAX_ALL", 6)
    monkeypatch.setattr(module, "MAX_OPEN", 3)
    bodies = [one.body for one in exchanges(frames(*(asked(n, body=b"1234") for n in range(5))))]
    assert sorted(bodies, reverse=True) == [b"1234", b"1234", b"12", b"12", b""]


def test_a_number_used_again_ends_the_exchange_before() -> None:
    first, second = exchanges(frames(asked(body=b"a"), asked(body=b"b"), ev.LlmResponseEnd(200, exchange=1)))
    assert (first.body, first.ended_ns, second.body, second.ended_ns) == (b"a", None, b"b", 2000)


EVENTS = st.one_of(
    st.builds(ev.LlmRequest, exchange=st.integers(0, 3), body=st.binary(max_size=5)),
    st.builds(ev.RequestChunk, exchange=st.integers(0, 3), data=st.binary(max_size=5)),
    st.builds(ev.ResponseHead, exchange=st.integers(0, 3)),
    st.builds(ev.LlmResponseChunk, exchange=st.integers(0, 3), data=st.binary(max_size=5)),
    st.builds(ev.LlmResponseEnd, exchange=st.integers(0, 3), error=st.text(max_size=5)),
    st.builds(ev.Unknown, kind=st.just(99), payload=st.binary(max_size=5)),
)


@given(st.lists(EVENTS, max_size=30))
def test_any_events_give_one_exchange_for_each_request(events: list[Any]) -> None:
    found = sorted(one.seq for one in exchanges(frames(*events)))
    assert found == [seq for seq, event in enumerate(events) if isinstance(event, ev.LlmRequest)]
