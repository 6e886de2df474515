"""What a packed answer's borders and lengths would tell of a credential in it reaches no agent."""

import gzip
import random
import string
import time
import zlib

import pytest

from hark.bundle.events import LlmResponseEnd
from mediator.authority import Destination
from mediator.codings import PackedError
from mediator.collected import MAX_TEXT
from mediator.credentials import Broker
from mediator.echo import answer_body
from mediator.entire import Entire
from mediator.held import Room
from tests.fakes.upstream import Call
from tests.mediator.rig import API, PLACEHOLDER, VALUE, pair, secret

GZIP = ((b"Content-Encoding", b"gzip"),)
DIGEST = (*GZIP, (b"Content-MD5", b"x"))
BROKER = Broker([secret(VALUE, API)])


def entire(room: Room, headers: tuple[tuple[bytes, bytes], ...] = GZIP) -> Entire:
    way = answer_body(BROKER, headers, Destination(API, 443), bound=True, room=room)
    assert way is not None
    return Entire(way, room)


def test_nothing_passes_before_the_end_and_then_all_with_the_value_turned() -> None:
    room = Room(MAX_TEXT)
    body, packed = entire(room), gzip.compress(b"a %s b" % VALUE.encode())
    assert [body.feed(packed[:9]), body.feed(packed[9:]), body.release()] == [b"", b"", b""]
    assert room.left == 0
    assert gzip.decompress(body.finish()) == b"a %s b" % PLACEHOLDER.encode()
    assert room.left == MAX_TEXT


def test_what_is_vouched_for_passes_whole_as_it_came() -> None:
    body, packed = entire(Room(), DIGEST), gzip.compress(b"harmless")
    assert body.feed(packed) == b""
    assert (body.finish(), body.resizes) == (packed, True)


def test_an_empty_body_stays_empty() -> None:
    assert entire(Room()).finish() == b""


def drawn(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def test_what_is_vouched_for_takes_room_too() -> None:
    room = Room(MAX_TEXT + 100)
    one = entire(room, DIGEST)
    with pytest.raises(PackedError, match="too many such answers"):
        entire(room, DIGEST)
    packed = gzip.compress(b"harmless")
    assert one.feed(packed) == b""
    assert (one.finish(), room.left) == (packed, MAX_TEXT + 100)


@pytest.mark.parametrize("text", [b"x" * MAX_TEXT, drawn(MAX_TEXT)], ids=["packs well", "does not pack"])
def test_how_much_passes_is_a_length_of_the_text_whatever_it_was_packed_to(text: bytes) -> None:
    body = entire(Room())
    body.feed(gzip.compress(text, 1))
    assert gzip.decompress(body.finish()) == text
    other = entire(Room())
    with pytest.raises(PackedError, match="passes up to 8 MiB of text"):
        other.feed(gzip.compress(text + b"x", 1))


def test_what_is_vouched_for_is_bounded_too() -> None:
    body = entire(Room(), DIGEST)
    with pytest.raises(PackedError, match="passes up to 8 MiB"):
        body.feed(gzip.compress(drawn(MAX_TEXT)))


def test_room_is_taken_whole_as_the_head_comes_and_comes_back_from_a_body_that_was_left() -> None:
    """Room that an answer takes as it grows could be set so that it just fits, and tells how long that is."""
    room = Room(MAX_TEXT + 100)
    one = entire(room)
    with pytest.raises(PackedError, match="too many such answers"):
        entire(room)
    del one
    assert entire(room).finish() == b""


def echo(call: Call) -> None:
    """Give the Authorization header back, and what was sent, packed in buffers of 2 KiB, to HEAD alike."""
    text = call.headers["Authorization"].encode() + b"\n" + call.body
    packing = zlib.compressobj(6, zlib.DEFLATED, 31)
    body = packing.compress(text) + packing.flush()
    coding = [("Content-Encoding", "gzip")]
    if call.command == "HEAD":
        call.reply(200, body, coding)
        return
    call.begin_chunked("text/plain", coding)
    for at in range(0, len(body), 2048):
        call.chunk(body[at : at + 2048])
        time.sleep(0.02)  # so that each is read by itself
    call.chunk(b"")


def shown() -> tuple[list[bytes], list[str | None]]:
    """Return what a right and a wrong guess at a key's end show: a first piece, and the length to HEAD."""
    order = random.Random(7)
    noise = "".join(order.choices(string.printable[:90], k=6000))
    right, wrong = VALUE, VALUE[:-8] + "zyxwvuts"
    pieces, lengths = [], []
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream):
        upstream.on("/echo")(echo)
        for guess in (right, wrong):
            body = f"Bearer {guess[:-1]}!{noise}"
            fields = {"Authorization": f"Bearer {PLACEHOLDER}"}
            with rig.https() as client:
                client.request("POST", "/echo", body=body.encode(), headers=fields)
                answer = client.getresponse()
                pieces.append(zlib.decompressobj(31).decompress(answer.read1(1 << 20)))
                answer.read()
                client.request("HEAD", "/echo", headers=fields)
                lengths.append(client.getresponse().getheader("content-length"))
        rig.recorder.wait_for(LlmResponseEnd, 4)
        assert upstream.seen[0].header("accept-encoding") == "identity"
    assert VALUE.encode() not in rig.recorder.bytes()
    return pieces, lengths


def test_a_right_guess_beside_a_value_looks_like_a_wrong_one() -> None:
    pieces, lengths = shown()
    assert len(pieces[0]) == len(pieces[1])
    assert lengths == [None, None]


def test_the_control_in_pieces_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mediator.bodies.Entire", lambda way, _room: way)
    monkeypatch.setattr("mediator.echo.Collected", lambda text, room: text)
    monkeypatch.setattr("mediator.bodies.unmeasured", lambda headers, *, stored: headers)
    monkeypatch.setattr("mediator.bodies.was_there", lambda headers, age: True)
    pieces, lengths = shown()
    assert len(pieces[0]) > len(pieces[1])
    assert None not in lengths
