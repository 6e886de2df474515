"""Events of a stream, however it is cut into pieces."""

import pytest

from mediator.mcp import sse
from mediator.mcp.sse import Event, Reader

STREAM = (
    b"\xef\xbb\xbf: hello\n\ndata: one\r\ndata: two\r\n\r\nevent: endpoint\rdata:/messages?x=1\r\r"
    b"id: 4\nretry: 10\n\ndata\n\nevent: late\n\ndata: three\n\ndata: not ended\n"
)
EVENTS = [
    Event("message", b"one\ntwo"),
    Event("endpoint", b"/messages?x=1"),
    Event("message", b""),
    Event("message", b"three"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_the_pieces_do_not_matter(size: int) -> None:
    reader = Reader()
    pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    assert [event for piece in pieces for event in reader.feed(piece)] == EVENTS


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_an_event_that_is_too_large_is_skipped_and_the_next_is_read(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 20)
    stream = b"data: " + b"x" * 30 + b"\ndata: more\n\ndata: a\ndata: " + b"y" * 18 + b"\n\ndata: small\n\n"
    reader = Reader()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [event for piece in pieces for event in reader.feed(piece)] == [Event("message", b"small")]


def test_memory_stays_bounded_without_a_line_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 1000)
    reader = Reader()
    for _ in range(100):
        assert reader.feed(b"x" * 999) == []
    assert len(reader._line) <= 1000
