"""One exchange: what came back is compared, in parts with names, but for what a rule leaves out."""

import pytest
from blake3 import blake3

from hark.bundle.events import BodyHash, Interim, LlmResponseChunk, LlmResponseEnd, Trailers, WebSocketMessage
from hark.replay.exchanges import BROKE_OFF, LEFT, REFUSED_BY_HARK, WHOLE, Answer, Messages, ending

HEADERS = ((b"Content-Type", b"text/plain"), (b"Set-Cookie", b"a=1"), (b"Set-Cookie", b"b=2"))


def parts(*pieces, status=200, error="", headers=HEADERS, extra=()):
    answer = Answer()
    for event in (*extra, *(LlmResponseChunk(0, piece) for piece in pieces)):
        answer.add(event)
    return dict(answer.parts(LlmResponseEnd(status, error=error, raw_headers=headers), ()))


def test_where_a_body_was_cut_does_not_count_and_what_it_said_does():
    assert parts(b"a", b"bc") == parts(b"abc")
    assert parts(b"abc") != parts(b"abd")
    assert parts(b"abc") != parts(b"ab")


def test_status_headers_their_order_and_a_second_cookie_count():
    whole = parts(b"a")
    assert whole != parts(b"a", status=201)
    assert whole != parts(b"a", headers=HEADERS[:2])
    assert whole != parts(b"a", headers=(HEADERS[0], HEADERS[2], HEADERS[1]))
    assert whole == parts(b"a", headers=tuple((name.lower(), value) for name, value in HEADERS))
    assert parts(headers=((b"Sec-WebSocket-Accept", b"1"),)) == parts(
        headers=((b"sec-websocket-accept", b"2"),)
    )


@pytest.mark.parametrize(
    ("event", "part"),
    [
        (Interim(status=103, raw_headers=HEADERS), "interim answers"),
        (Trailers(raw_headers=HEADERS), "trailers"),
        (BodyHash(from_agent=False, length=1, hash=b"h" * 32), "body that was not stored"),
    ],
)
def test_what_comes_beside_a_body_counts(event, part):
    assert part in parts(b"a", extra=(event,))
    assert part not in parts(b"a")


def test_trailers_of_a_request_count():
    end = LlmResponseEnd(200)
    assert Answer().parts(end, HEADERS) != Answer().parts(end, HEADERS[:1]) != Answer().parts(end, ())


@pytest.mark.parametrize(
    ("error", "how"),
    [
        ("", WHOLE),
        ("refused: no rule", REFUSED_BY_HARK),
        ("the agent went away", LEFT),
        ("the agent went away without the closing handshake", LEFT),
        ("the run ended", LEFT),
        ("it broke off: reset", BROKE_OFF),
    ],
)
def test_an_error_has_a_class(error, how):
    assert ending(error) == how


def test_an_answer_that_hark_made_counts_by_its_status():
    assert parts(b"page", status=403, error="refused: a") == parts(b"other", status=403, error="refused: b")
    assert parts(b"page", status=403, error="refused: a") != parts(b"page", status=413, error="refused: a")
    assert parts(b"page", status=502, error="refused by peer") == parts(b"other", status=502, error="reset")
    assert parts(b"page", status=502) != parts(b"other", status=502)


def test_of_an_answer_that_was_left_nothing_counts_and_of_one_that_broke_off_all_does():
    left = "the agent went away"
    assert parts(b"a", error=left) == parts(b"ab", error=left) != parts(b"a")
    assert parts(b"a", error="reset") != parts(b"ab", error="reset")
    assert dict(Answer().parts(None, ())) == {"outcome": b"never ended"}


def test_a_message_is_put_together_across_control_frames():
    side = Messages(bytes)
    assert side.add(1, WebSocketMessage(type="text", data=b"a", more=True)) is None
    assert side.add(2, WebSocketMessage(type="ping", data=b"x")) is None
    assert side.add(3, WebSocketMessage(type="text", data=b"b")) == (1, "text", b"ab")
    assert side.add(4, WebSocketMessage(type="close", data=b"c")) == (4, "close", b"c")
    assert side.add(5, WebSocketMessage(type="binary", data=b"")) == (5, "binary", b"")


def test_a_stream_counts_by_its_bytes_however_it_is_cut_and_whether_or_not_it_ends():
    def side(*pieces):
        messages = Messages(lambda data: b"by value")
        found = [messages.add(seq, event) for seq, event in enumerate(pieces, 1)]
        return messages, found

    def piece(data, more=True):
        return WebSocketMessage(type="stream", data=data, more=more)

    whole = (1, "stream", blake3(b'{"a": 1}').digest())
    assert side(piece(b'{"a"'), piece(b": 1}"), piece(b"", more=False))[1] == [None, None, whole]
    broken, found = side(piece(b'{"a": 1}'))
    assert (found, broken.rest(), broken.rest()) == ([None], whole, None)
    assert side(piece(b'{"a":1}', more=False))[1] != [whole]
    text = Messages(bytes)
    text.add(1, WebSocketMessage(type="text", data=b"x" * (17 << 20), more=True))
    assert text.rest() is None


def test_a_message_that_is_too_long_to_be_held_is_compared_by_its_hash():
    side = Messages(bytes)
    for seq in range(17):
        assert side.add(seq, WebSocketMessage(type="text", data=b"x" * (1 << 20), more=True)) is None
    assert side.add(17, WebSocketMessage(type="text", data=b"y")) == (
        0, "text", blake3(b"x" * (17 << 20) + b"y").digest()
    )  # fmt: skip
    assert side.add(18, WebSocketMessage(type="text", data=b"z")) == (18, "text", b"z")
