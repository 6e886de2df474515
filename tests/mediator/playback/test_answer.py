"""What was recorded becomes the events that a server's connection would have been read into."""

from mitmproxy.proxy.layers.http._events import (
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseTrailers,
)

from hark.replay.pieces import Data, Early, End, Failed, Head, Refused, Tail, Withheld
from mediator.playback.answer import AnswerFailed, said
from mediator.wire import InterimHeaders

TWICE = ((b"Set-Cookie", b"a=1"), (b"set-cookie", b"b=\xff"))


def test_a_head_has_its_status_and_its_headers_as_they_stood() -> None:
    (event,) = said(Head(299, TWICE, ends=True), 3)
    assert isinstance(event, ResponseHeaders)
    assert (event.stream_id, event.end_stream) == (3, True)
    assert (event.response.status_code, event.response.headers.fields) == (299, TWICE)
    (early,) = said(Early(103, TWICE), 3)
    assert isinstance(early, InterimHeaders)
    assert (early.response.status_code, early.response.headers.fields) == (103, TWICE)


def test_each_piece_is_one_event() -> None:
    (data,) = said(Data(b"x"), 1)
    assert isinstance(data, ResponseData)
    assert data.data == b"x"
    (tail,) = said(Tail(TWICE), 1)
    assert isinstance(tail, ResponseTrailers)
    assert tail.trailers.fields == TWICE
    (end,) = said(End(), 1)
    assert isinstance(end, ResponseEndOfMessage)
    (failed,) = said(Failed("it broke off"), 1)
    assert isinstance(failed, AnswerFailed)
    assert failed.reason == "it broke off"


def test_of_what_was_withheld_or_refused_nothing_is_said() -> None:
    assert list(said(Withheld("x"), 1)) == []
    assert list(said(Refused("x"), 1)) == []
