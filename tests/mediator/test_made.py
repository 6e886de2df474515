"""A packed file that may be made for the request passes whole and searched, or tells nothing of itself."""

import contextlib
import gzip
import http.client
import io
import random
import threading
import zipfile
import zlib
from collections.abc import Callable

import pytest

from hark.bundle.events import LlmResponseChunk, LlmResponseEnd
from mediator import stored
from mediator.codings import PackedError
from mediator.credentials import Broker
from mediator.held import MAX_FILE, Room
from mediator.made import MIXED, REFUSED, Made
from mediator.scan import FoundError
from tests.fakes.upstream import Call
from tests.mediator.rig import API, PLACEHOLDER, VALUE, pair, secret
from tests.mediator.test_echo import BROKER

NONE: frozenset[str] = frozenset()
WITH_VALUE = b"Authorization: Bearer %s, and more" % VALUE.encode()


def made(room: Room | None = None, astray: frozenset[str] = NONE, *, late: bool = True) -> Made:
    return Made(BROKER, room or Room(MAX_FILE), astray, late=late)


def drawn(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@pytest.mark.parametrize("size", [1, 1000])
def test_nothing_passes_before_the_end_and_then_all_as_it_came(size: int) -> None:
    room = Room(MAX_FILE)
    body, packed = made(room), gzip.compress(drawn(3000))
    assert not any(body.feed(packed[at : at + size]) for at in range(0, len(packed), size))
    assert room.left == 0
    assert body.finish() == packed
    assert room.left == MAX_FILE


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("data", [b"", b"\x1f", b"PK\x03\x05", b"plain, and long enough to be no chance"])
def test_what_is_no_such_file_passes_as_it_comes(data: bytes, size: int) -> None:
    body = made()
    passed = [body.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert b"".join(passed) + body.finish() == data
    assert len(data) < 5 or passed[-1]


WRONG: dict[str, Callable[[], bytes]] = {
    "with a value": lambda: gzip.compress(WITH_VALUE),
    "damaged": lambda: gzip.compress(drawn(999))[:500] + b"\xff" * 499,
    "encrypted": lambda: b"PK\x03\x04\x14\x00\x01\x00" + bytes(40),
}


@pytest.mark.parametrize("what", WRONG)
def test_whatever_is_wrong_is_said_at_the_end_and_in_the_same_words(what: str) -> None:
    body, data = made(), WRONG[what]()
    assert not any(body.feed(data[at : at + 50]) for at in range(0, len(data), 50))
    assert body.feed(b"and more that comes behind") == b""
    with pytest.raises(PackedError) as refused:
        body.finish()
    assert str(refused.value) == REFUSED


def test_one_that_is_too_long_is_refused_in_those_words_too() -> None:
    fits, more = made(), made()
    data = gzip.compress(drawn(MAX_FILE - 9000), 0)
    assert fits.feed(data) == b""
    assert fits.finish() == data
    more.feed(data)
    with pytest.raises(PackedError) as refused:
        more.feed(gzip.compress(drawn(9000), 0))
    assert str(refused.value) == REFUSED


def test_one_without_room_is_read_to_its_end_and_refused_likewise() -> None:
    room = Room(MAX_FILE)
    first, second, packed = made(room), made(room), gzip.compress(b"harmless")
    first.feed(packed)
    assert second.feed(packed) == b""
    with pytest.raises(PackedError) as refused:
        second.finish()
    assert str(refused.value) == REFUSED
    assert first.finish() == packed


def test_one_that_says_it_is_a_text_does_not_pass_since_its_head_has() -> None:
    with pytest.raises(PackedError) as refused:
        made(late=False).feed(gzip.compress(b"harmless"))
    assert str(refused.value) == MIXED
    assert made(late=False).feed(b"a text indeed") == b"a text indeed"


def test_a_value_from_elsewhere_is_told_at_once() -> None:
    with pytest.raises(FoundError):
        made(astray=frozenset({"API_KEY"})).feed(gzip.compress(WITH_VALUE))


def exported(call: Call) -> None:
    """Give the Authorization header back beside what was asked, in a packed file; to HEAD its length."""
    text = call.headers["Authorization"].replace(" ", ":").encode() + b"\n" + call.path.encode()
    if call.path.startswith("/export.gz"):
        body = gzip.compress(text, mtime=0)
    else:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(zipfile.ZipInfo("a"), text, zipfile.ZIP_DEFLATED)
        body = out.getvalue()
    call.reply(200, body, [("Content-Type", "application/octet-stream")])


def shown(method: str, path: str) -> list[tuple[object, ...]]:
    """Return what a right and a wrong guess at a key's end show of an answer: status, head and body."""
    seen = []
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream):
        for file in ("/export.gz", "/export.zip"):
            upstream.on(file)(exported)
        for guess in (VALUE[:-1], f"{VALUE[:-9]}zyxwvuts"):
            with rig.https() as client, contextlib.suppress(http.client.HTTPException, OSError):
                asked = f"{path}?q=Bearer:{guess}"
                client.request(method, asked, headers={"Authorization": f"Bearer {PLACEHOLDER}"})
                answer = client.getresponse()
                lengths = [value for name, value in answer.getheaders() if name.lower() == "content-length"]
                seen.append((answer.status, lengths))
                seen[-1] = (*seen[-1], answer.read())
        assert VALUE.encode() not in rig.recorder.bytes()
    return seen


@pytest.mark.parametrize("path", ["/export.gz", "/export.zip"])
@pytest.mark.parametrize(("method", "status"), [("GET", 502), ("HEAD", 200)])
def test_a_right_guess_beside_a_value_in_a_file_looks_like_a_wrong_one(
    method: str, status: int, path: str
) -> None:
    right, wrong = shown(method, path)
    assert right == wrong
    assert right[0] == status


@pytest.mark.parametrize("path", ["/export.gz", "/export.zip"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_control_a_file_whose_length_passes_tells_them_apart(
    monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    monkeypatch.setattr("mediator.bodies.was_there", lambda headers, age: True)
    monkeypatch.setattr(Broker, "even", True)  # as of keys and their placeholders, but of the rig's
    right, wrong = shown(method, path)
    assert right[1] != wrong[1]


def test_one_without_a_value_in_it_comes_with_its_length_and_is_on_the_record_as_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Broker, "even", True)
    data = gzip.compress(drawn(1 << 20))
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.https() as client:
        upstream.on("/file")(lambda call: call.reply(200, data, [("Content-Type", "application/gzip")]))
        client.request("GET", "/file")
        answer = client.getresponse()
        assert answer.getheader("content-length") == str(len(data))
        assert answer.read() == data
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
    assert end.status == 200
    assert b"".join(event.data for event in rig.recorder.of(LlmResponseChunk)) == data


@pytest.mark.parametrize("was", [True, False], ids=["before the run", "the control, in the run"])
def test_one_that_was_there_before_the_run_passes_as_it_comes(
    monkeypatch: pytest.MonkeyPatch, was: bool
) -> None:
    packing = zlib.compressobj(6, zlib.DEFLATED, 31)
    first = packing.compress(drawn(50_000)) + packing.flush(zlib.Z_SYNC_FLUSH)
    got, ends = threading.Event(), threading.Event()
    if not was:
        monkeypatch.setattr(stored, "MARGIN_S", 1e12)
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.https() as client:

        @upstream.on("/file")
        def file(call: Call) -> None:
            call.begin_chunked("application/gzip", [("Last-Modified", "Mon, 30 Nov 2020 12:00:00 GMT")])
            call.chunk(first)
            if was:
                assert got.wait(60)
            ends.set()
            call.chunk(packing.flush())
            call.chunk(b"")

        client.request("GET", "/file")
        answer = client.getresponse()
        begun = answer.read1(100)
        assert ends.is_set() is not was
        got.set()
        assert zlib.decompressobj(31).decompress(begun + answer.read()) == drawn(50_000)
