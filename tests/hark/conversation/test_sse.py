"""Streams of events: line ends, several data lines, comments, and where they break off."""

import pytest

from hark.conversation.sse import documents, looks_streamed


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_events_are_read_with_any_line_end(end: bytes) -> None:
    lines = [
        b": hello",
        b"event: a",
        b'data: {"a":',
        b"data:1}",
        b"",
        b"id: 3",
        b"",
        b"data: [DONE]",
        b"",
        b"data: 2",
        b"",
        b"",
    ]
    assert list(documents(end.join(lines))) == [{"a": 1}, 2]


def test_an_event_that_breaks_off_is_no_event() -> None:
    assert list(documents(b"data: 1\n\ndata: 2")) == [1]
    assert list(documents(b"data: 1\n\ndata: 2\n")) == [1, 2]  # only its empty line is missing
    assert list(documents(b"\xef\xbb\xbfdata: 1\n\n")) == [1]


def test_a_stream_is_told_by_its_type_or_its_beginning() -> None:
    assert looks_streamed(b"Text/Event-Stream; charset=utf-8", b"")
    assert looks_streamed(b"", b"\ndata: {}")
    assert not looks_streamed(b"application/json", b'{"data": 1}')
