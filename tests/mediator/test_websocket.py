"""Frames are read as RFC 6455 says however they come, and leave as frames of whole messages."""

from collections.abc import Iterator, Sequence
from itertools import count

import pytest
from wsproto.frame_protocol import FrameProtocol, Opcode

from mediator.bodies import Chain, RequestBody, StoppedError
from mediator.held import Room
from mediator.websocket import MAX_PIECE, Direction, FramingError, Piece, goodbye


class Stop:
    """A stage that stops a message with this word in it."""

    resizes = False
    waiting = False

    def __init__(self, word: bytes) -> None:
        self._word = word

    def feed(self, data: bytes) -> bytes:
        if self._word in data:
            raise StoppedError("no")
        return data

    def release(self) -> bytes:
        return b""

    def finish(self) -> bytes:
        return b""


def stopping(word: bytes) -> Direction:
    """Return what an agent says; a message with `word` in it is stopped."""
    return Direction(
        from_agent=True, way=lambda: RequestBody(checked=Chain((Stop(word),)), sent=Chain()), room=Room()
    )


def way() -> RequestBody:
    return RequestBody(checked=Chain(), sent=Chain())


def direction(room: Room | None = None) -> Direction:
    return Direction(from_agent=True, way=way, room=room or Room())


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True, client: bool = True) -> bytes:
    """Return one frame as a client masks it."""
    return bytes(FrameProtocol(client=client, extensions=[])._serialize_frame(Opcode(opcode), payload, fin))


def fed(to: Direction, data: bytes, size: int = 1 << 16) -> Iterator[Piece]:
    for at in range(0, len(data), size):
        yield from to.feed(data[at : at + size])


def read(wires: Sequence[bytes]) -> list[tuple[Opcode, bytes, bool]]:
    """Read frames as the server does, which refuses one that is not masked."""
    server = FrameProtocol(client=False, extensions=[])
    got = []
    for wire in wires:
        server.receive_bytes(wire)
        for part in server.received_frames():
            data = part.payload.encode() if isinstance(part.payload, str) else part.payload
            got.append((part.opcode, data, part.message_finished))
    return got


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
@pytest.mark.parametrize("opcode", [1, 2])
@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 65535, 65536])
def test_a_message_of_any_length_passes_in_one_frame(length: int, opcode: int, size: int) -> None:
    if size == 1 and length > 1000:
        size = 997
    payload = b"*" * length
    (piece,) = fed(direction(), frame(opcode, payload), size)
    assert (piece.type, piece.data, piece.more) == ("text" if opcode == 1 else "binary", payload, False)
    assert read([piece.wire]) == [(Opcode(opcode), payload, True)]


def test_fragments_are_joined_and_a_ping_between_them_passes_first() -> None:
    text = "a€b".encode()
    sent = frame(1, text[:2], fin=False) + frame(9, b"now") + frame(0, text[2:], fin=False) + frame(0)
    ping, message = fed(direction(), sent)
    assert (ping.type, ping.data) == ("ping", b"now")
    assert (message.type, message.data, message.more) == ("text", text, False)
    assert read([ping.wire, message.wire]) == [(Opcode.PING, b"now", True), (Opcode.TEXT, text, True)]


def test_a_long_message_passes_in_pieces_with_a_ping_between_them() -> None:
    payload = bytes(range(256)) * (3 * MAX_PIECE // 256) + b"end"
    sent = frame(2, payload[: 2 * MAX_PIECE], fin=False) + frame(9) + frame(0, payload[2 * MAX_PIECE :])
    room = Room()
    pieces = list(fed(direction(room), sent))
    data = [piece for piece in pieces if piece.type == "binary"]
    assert b"".join(piece.data for piece in data) == payload
    assert [piece.more for piece in data] == [True] * (len(data) - 1) + [False]
    assert max(len(piece.data) for piece in data) <= MAX_PIECE + (1 << 16)
    assert len(data) >= 3
    got = read([piece.wire for piece in pieces])
    assert b"".join(part for opcode, part, _ in got if opcode is Opcode.BINARY) == payload
    assert room.left == Room().left


def test_without_room_a_message_passes_as_it_comes() -> None:
    room = Room(10)
    pieces = list(fed(direction(room), frame(2, b"x" * 100), 20))
    assert len(pieces) > 3
    assert b"".join(piece.data for piece in pieces) == b"x" * 100
    assert room.left == 10


@pytest.mark.parametrize("payload", [b"", b"\x03\xe8", b"\x03\xe8bye", b"\x0f\xa0" + "ä".encode()])
def test_a_close_passes_with_its_code_and_reason_and_nothing_after_it(payload: bytes) -> None:
    to = direction()
    (piece,) = fed(to, frame(8, payload) + frame(1, b"late"))
    assert (piece.type, piece.data, to.closed) == ("close", payload, True)
    assert list(fed(to, frame(1, b"later"))) == []


@pytest.mark.parametrize("code", [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535])
def test_a_close_code_that_must_not_be_sent_is_an_error(code: int) -> None:
    with pytest.raises(FramingError):
        list(fed(direction(), frame(8, code.to_bytes(2))))


@pytest.mark.parametrize(
    "code", [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 3000, 3999, 4999]
)
def test_every_other_close_code_passes(code: int) -> None:
    (piece,) = fed(direction(), frame(8, code.to_bytes(2)))
    assert piece.data == code.to_bytes(2)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (frame(1, b"x", client=False), 1002),  # not masked
        (bytes([0xC1]) + frame(1, b"x")[1:], 1002),  # a reserved bit: compressed
        (bytes([0x83]) + frame(1, b"x")[1:], 1002),  # a reserved opcode
        (bytes([0x8B]) + frame(9, b"x")[1:], 1002),
        (frame(9, b"x", fin=False), 1002),
        (frame(0, b"x"), 1002),  # goes on with nothing
        (frame(1, b"x", fin=False) + frame(1, b"y"), 1002),
        (b"\x89\xfe\x00\x7e" + b"\0" * 130, 1002),  # a ping of 126 bytes
        (b"\x81\xfe\x00\x05" + b"\0" * 9, 1002),  # a length that is not the shortest
        (b"\x81\xff" + b"\xff" * 8 + b"\0" * 4, 1002),
        (frame(8, b"\x03"), 1002),
        (frame(8, b"\x03\xe8\xff"), 1007),
        (frame(1, b"\xff"), 1007),
        (frame(1, b"\xce", fin=False) + frame(0, b"\xff"), 1007),
        (frame(1, b"\xe2\x82"), 1007),
        (frame(1, b"\xed\xa0\x80"), 1007),
    ],
    ids=count(),  # a frame's mask is random, and a test's name must not be
)
@pytest.mark.parametrize("size", [1, 1000])
def test_what_is_no_frame_is_an_error_with_its_code(sent: bytes, code: int, size: int) -> None:
    with pytest.raises(FramingError) as error:
        list(fed(direction(), sent, size))
    assert error.value.code == code


def test_a_message_that_is_stopped_does_not_pass() -> None:
    to = stopping(b"stop")
    assert [piece.data for piece in fed(to, frame(1, b"go"))] == [b"go"]
    with pytest.raises(StoppedError):
        list(fed(to, frame(1, b"st", fin=False) + frame(0, b"op")))
    with pytest.raises(StoppedError):
        list(fed(stopping(b""), frame(9, b"stop")))


def test_a_goodbye_of_our_own_is_cut_to_what_a_close_frame_holds() -> None:
    client = FrameProtocol(client=True, extensions=[])
    client.receive_bytes(goodbye(1008, "hark: " + "x" * 500, to_agent=True))
    (close,) = client.received_frames()
    assert close.payload[0] == 1008
    assert len(str(close.payload[1])) == 123
