"""Messages in the bodies of answers."""

import gzip

import pytest

from mediator.held import Room
from mediator.mcp import sse
from mediator.mcp.looks import Body, body_of
from mediator.mcp.sse import Event

JSON = ((b"Content-Type", b"application/json; charset=utf-8"),)
EVENTS = ((b"content-type", b"text/event-stream"),)


def read(body: Body | None, *pieces: bytes) -> list[Event]:
    """Feed pieces and the end."""
    assert body is not None
    return [event for piece in pieces for event in body.feed(piece)] + body.finish()


@pytest.mark.parametrize("packed", [False, True])
def test_a_document_comes_at_its_end_and_events_as_they_come(packed: bool) -> None:
    coding = ((b"content-encoding", b"gzip"),) if packed else ()
    pack = gzip.compress if packed else bytes
    room = Room(100)
    assert read(body_of((*JSON, *coding), room), *_cut(pack(b'{"a":1}'))) == [Event("message", b'{"a":1}')]
    stream = pack(b"data: 1\n\ndata: 2\n\ndata: 3\n")
    events = read(body_of((*EVENTS, *coding), room), *_cut(stream))
    assert events == [Event("message", b"1"), Event("message", b"2")]
    assert room.left == 100


def _cut(data: bytes) -> list[bytes]:
    return [data[at : at + 3] for at in range(0, len(data), 3)]


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ((b"content-type", b"text/html"),),
        (*JSON, *JSON),
        (*JSON, (b"content-encoding", b"compress")),
        (*JSON, (b"content-encoding", b"deflate")),
    ],
)
def test_anything_else_is_not_read(headers: tuple[tuple[bytes, bytes], ...]) -> None:
    assert body_of(headers, Room()) is None


@pytest.mark.parametrize("headers", [JSON, EVENTS])
def test_what_is_too_large_for_the_room_is_not_read_and_gives_its_room_back(
    headers: tuple[tuple[bytes, bytes], ...],
) -> None:
    room = Room(10)
    assert read(body_of(headers, room), b"data: 12", b"345678", b"\n\ndata: 1\n\n") == []
    assert room.left == 10


def test_what_is_too_large_by_itself_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 10)
    assert read(body_of(JSON, Room()), b"x" * 11) == []
    assert read(body_of(JSON, Room()), b"x" * 10) != []


def test_bytes_that_are_not_packed_as_they_say_are_not_read() -> None:
    assert read(body_of((*JSON, (b"content-encoding", b"gzip")), Room()), b"plain") == []
