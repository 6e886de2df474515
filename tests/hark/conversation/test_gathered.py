"""Exchanges are put together by their numbers, whatever stands between, and nothing is dropped in silence."""

import gzip

import pytest

from hark.bundle import events as ev
from hark.conversation.gathered import Body, Limits, Piece, gather, plain
from hark.errors import BundleError
from tests.hark.export.story import ALLOWED, END, MS, POST, TLS, chunk, frame, frames


def test_pieces_that_interleave_are_put_under_their_own_request():
    second = POST._replace(path="/two", exchange=2, body=b"")
    ended = END._replace(exchange=2, status=404)
    found = list(
        gather(frames(TLS, ALLOWED, POST, second, chunk(b"a"), chunk(b"x", 0, 2), ended, chunk(b"b", 1), END))
    )
    assert [(one.number, one.status, bytes(one.answered.data), one.url) for one in found] == [
        (2, 404, b"x", "https://api.example/two"),
        (1, 200, b"ab", "https://api.example/v1/chat?q=a%20b&q="),
    ]
    one = found[1]
    assert one.seq == 6
    assert [piece.seq for piece in one.answered.pieces] == [8, 11]
    assert (one.time_ns, one.first_ns, one.ended_ns) == (6 * MS, 8 * MS, 12 * MS)


@pytest.mark.parametrize(
    ("port", "protocol", "host_header", "url"),
    [
        (80, "http", b"api.example", "http://api.example/"),
        (443, "tls", b"api.example", "https://api.example/"),
        (8443, "tls", b"api.example", "https://api.example:8443/"),
        (443, "tls", b"api.example:8443", "https://api.example:8443/"),
    ],
)
def test_scheme_and_port_are_those_of_the_last_connection_or_of_the_host_header(
    port, protocol, host_header, url
):
    attempt = ev.EgressAttempt("api.example", port, protocol)
    denied = ev.EgressAttempt("api.example", 9999, "tcp")
    request = POST._replace(path="/", raw_headers=((b"Host", host_header),))
    (found,) = gather(frames(attempt, ALLOWED, denied, ev.EgressDecision("api.example"), request, END))
    assert found.url == url


def test_a_request_whose_end_is_not_on_record_says_so():
    (found,) = gather(frames(POST, chunk(b"a")))
    assert (found.status, found.error, found.ended_ns) == (0, "its end is not on record", None)


def test_a_body_beyond_the_bound_is_counted_and_said():
    hello = ev.WebSocketMessage(exchange=1, type="text", data=b"hello")
    (found,) = gather(frames(POST, chunk(b"ab"), chunk(b"cd", 1), hello, END), Limits(body=3))
    assert (bytes(found.answered.data), found.answered.size, found.answered.cut) == (b"abc", 4, True)
    assert (found.said, found.left_out) == ([], 1)


def test_a_body_kept_by_its_hash_is_not_taken_for_an_empty_one():
    kept = ev.BodyHash(exchange=1, from_agent=True, length=7, hash=bytes(32))
    (found,) = gather(frames(POST._replace(body=b""), kept, END))
    assert (found.asked.size, found.asked.stored, found.answered.stored) == (7, False, True)


def test_a_number_that_is_used_twice_ends_the_first_exchange():
    found = list(gather(frames(POST, chunk(b"old"), POST, chunk(b"new"), END)))
    assert [bytes(one.answered.data) for one in found] == [b"old", b"new"]


def test_a_content_coding_is_undone_where_it_is_one():
    packed, headers = Body(), ((b"Content-Encoding", b"gzip"),)
    packed.add(Piece(0, 0, 24), gzip.compress(b"text"), 100)
    assert plain(headers, packed) == b"text"
    broken = Body()
    broken.add(Piece(0, 0, 7), b"no gzip", 100)
    assert plain(headers, broken) == b"no gzip"


def test_an_event_that_cannot_be_read_is_the_bundles_fault_and_named():
    bad = frame(4, POST)._replace(payload=b"\xff")
    with pytest.raises(BundleError, match=r"event 4 \(LlmRequest\) cannot be read"):
        list(gather([bad]))


def test_the_times_of_pieces_are_kept_up_to_the_bound_and_their_bytes_all():
    (found,) = gather(frames(POST, chunk(b"ab"), chunk(b"cd", 1), END), Limits(pieces=1))
    assert (len(found.answered.pieces), bytes(found.answered.data), found.answered.cut) == (1, b"abcd", False)


def test_an_end_without_headers_leaves_those_that_came_before_the_body():
    head = ev.ResponseHead(1, 200, raw_headers=((b"x-a", b"1"),))
    (found,) = gather(frames(POST, head, chunk(b"a"), END._replace(raw_headers=())))
    assert found.answer_headers == ((b"x-a", b"1"),)
