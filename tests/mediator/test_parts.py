"""A part is cut where the server is asked for the whole, and is what the server would have sent."""

from contextlib import suppress
from http.client import HTTPException

import pytest

from hark.bundle.events import LlmResponseEnd
from mediator.parts import Cut, Part, head_of, is_part, part_of
from mediator.transcript import Headers
from tests.fakes.upstream import Call, Upstream
from tests.mediator.rig import API, OTHER, PLACEHOLDER, VALUE, Rig, pair, secret

TEXT = bytes(range(97, 123)) * 40_000
WHOLE: Headers = ((b"Content-Length", b"%d" % len(TEXT)), (b"ETag", b'"e"'))


def asked(value: bytes, *more: tuple[bytes, bytes]) -> Part | None:
    return part_of(((b"Range", value), *more), (), WHOLE)


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (b"bytes=0-9", (0, 10)),
        (b"bytes=5-", (5, len(TEXT) - 5)),
        (b"bytes=-7", (len(TEXT) - 7, 7)),
        (b"bytes=-99999999", (0, len(TEXT))),
        (b"bytes=10-99999999", (10, len(TEXT) - 10)),
    ],
)
def test_one_range_is_one_part(value: bytes, part: tuple[int, int]) -> None:
    assert asked(value) == Part(*part, len(TEXT))


@pytest.mark.parametrize(
    "value",
    [b"bytes=1-2,4-5", b"bytes=9-5", b"bytes=99999999-", b"bytes=-0", b"items=0-9", b"bytes=a-b", b"bytes=-"],
)
def test_any_other_gets_the_whole(value: bytes) -> None:
    assert asked(value) is None


def test_nothing_is_cut_where_that_would_be_wrong() -> None:
    fields = ((b"Range", b"bytes=0-9"),)
    assert part_of(fields, fields, WHOLE) is None  # the server was asked for it
    assert part_of((), (), WHOLE) is None
    assert part_of((*fields, *fields), (), WHOLE) is None
    assert part_of(fields, (), WHOLE[1:]) is None
    assert part_of(fields, (), (*WHOLE, (b"Content-Encoding", b"gzip"))) is None
    assert asked(b"bytes=0-9", (b"If-Range", b'"other"')) is None
    assert asked(b"bytes=0-9", (b"If-Range", b'"e"')) is not None


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_part_is_the_same_however_the_whole_comes(size: int) -> None:
    text = TEXT[:200]
    for first, much in ((0, 1), (0, 200), (5, 20), (199, 1)):
        cut = Cut(Part(first, much, 200))
        got = b"".join(cut.feed(text[at : at + size]) for at in range(0, 200, size)) + cut.finish()
        assert got == text[first : first + much]


def test_what_vouches_for_the_whole_is_left_out_of_its_head() -> None:
    whole = (*WHOLE, (b"X-Amz-Checksum-CRC32", b"AAAAAA=="), (b"Content-MD5", b"AA=="))
    headers = head_of(Part(5, 10, len(TEXT)), whole)
    assert headers == (
        (b"Content-Length", b"10"),
        (b"ETag", b'"e"'),
        (b"Content-Range", b"bytes 5-14/%d" % len(TEXT)),
    )


def _files(upstream: Upstream, text: bytes) -> None:
    def answer(call: Call) -> None:
        call.reply(200, text, [("ETag", '"e"'), ("Content-Type", "text/plain")])

    upstream.routes["/file"] = answer


def _fetched(rig: Rig, *ranges: str) -> list[tuple[int, str | None, bytes]]:
    got = []
    for value in ranges:
        with rig.https() as client:
            client.request("GET", "/file", headers={"Range": value, "Authorization": PLACEHOLDER})
            answer = client.getresponse()
            got.append((answer.status, answer.getheader("Content-Range"), answer.read()))
    return got


def test_a_file_that_is_fetched_in_parts_is_whole_and_its_server_is_asked_for_no_part() -> None:
    """A program that puts each answer where it asked for it made a wrong file of wholes, and ended with 0."""
    half = len(TEXT) // 2
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream):
        _files(upstream, TEXT)
        got = _fetched(rig, f"bytes=0-{half - 1}", f"bytes={half}-", "bytes=1-2,4-5")
        rig.recorder.wait_for(LlmResponseEnd, 3)
    assert [status for status, _, _ in got] == [206, 206, 200]
    assert [where for _, where, _ in got[:2]] == [
        f"bytes 0-{half - 1}/{len(TEXT)}",
        f"bytes {half}-{len(TEXT) - 1}/{len(TEXT)}",
    ]
    assert got[0][2] + got[1][2] == got[2][2] == TEXT
    assert [seen.header("range") for seen in upstream.seen] == [None] * 3


def test_the_control_a_server_that_knows_no_credential_is_asked_for_the_part() -> None:
    with pair(secrets=(secret(VALUE, OTHER),)) as (rig, upstream), rig.https() as client:
        _files(upstream, TEXT)
        client.request("GET", "/file", headers={"Range": "bytes=0-9"})
        answer = client.getresponse()
        assert (answer.status, answer.read() == TEXT) == (200, True)  # this one knows no parts
    assert upstream.seen[0].header("range") == "bytes=0-9"


@pytest.mark.attack
@pytest.mark.parametrize("placeholder", [PLACEHOLDER[:24], PLACEHOLDER], ids=["as long", "longer"])
def test_of_a_value_no_part_reaches_the_agent(placeholder: str) -> None:
    """It is turned back before the part is cut; where its placeholder has another length nothing passes."""
    value = VALUE[:24]
    text = b"x" * 100 + value.encode() + b"y" * 100
    parts = []
    with pair(secrets=(secret(value, API, placeholder=placeholder),)) as (rig, upstream):
        _files(upstream, text)
        for first in range(90, 124, 4):
            with rig.https() as client:
                client.request("GET", "/file", headers={"Range": f"bytes={first}-{first + 15}"})
                with suppress(OSError, HTTPException):
                    parts.append(client.getresponse().read())
    pieces = [value[at : at + 6].encode() for at in range(3, len(value) - 6)]
    assert not any(piece in part for piece in pieces for part in parts)
    assert any(placeholder[8:14].encode() in part for part in parts) == (len(placeholder) == len(value))
    assert any(piece in text for piece in pieces)
    assert value.encode() not in rig.recorder.bytes()


def _in_parts(call: Call) -> None:
    """Answer as a server that knows ranges by some name which hark may not."""
    text = b"x" * 100 + VALUE.encode() + b"y" * 100
    said = [value for name, value in call.headers.items() if name.lower() in (*OTHER_NAMES, "x-new-range")]
    if not said:
        call.reply(200, text)
        return
    first, _, last = said[0].removeprefix("bytes=").partition("-")
    where = [("Content-Range", f"bytes {first}-{last}/{len(text)}")]
    call.reply(206, text[int(first) : int(last) + 1], where)


OTHER_NAMES = ("request-range", "x-ms-range", "a-im")


@pytest.mark.attack
@pytest.mark.parametrize("name", [*OTHER_NAMES, "x-new-range"])
def test_parts_by_other_names_are_not_asked_for_or_not_passed_on(name: str) -> None:
    got = []
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream):
        upstream.routes["/file"] = _in_parts
        for first in range(90, 90 + 16 * 4, 16):
            with rig.https() as client, suppress(OSError, HTTPException):
                client.request("GET", "/file", headers={name: f"bytes={first}-{first + 15}"})
                answer = client.getresponse()
                got.append((answer.status, answer.read()))
    assert {status for status, _ in got} == {200 if name in OTHER_NAMES else 502}
    assert not any(VALUE[at : at + 6].encode() in body for _, body in got for at in range(3, len(VALUE) - 6))
    assert {seen.header(name) for seen in upstream.seen} == ({None} if name in OTHER_NAMES else set(LINES))


LINES = [f"bytes={first}-{first + 15}" for first in range(90, 90 + 16 * 4, 16)]


@pytest.mark.attack
def test_the_control_where_it_is_not_looked_for_a_part_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mediator.answering.is_part", lambda *_: False)
    with pair(secrets=(secret(VALUE, API),)) as (rig, upstream), rig.https() as client:
        upstream.routes["/file"] = _in_parts
        client.request("GET", "/file", headers={"x-new-range": "bytes=100-109"})
        assert client.getresponse().read() == VALUE[:10].encode()


@pytest.mark.parametrize(
    ("status", "head", "part"),
    [
        (200, (), False),
        (206, (), True),
        (226, (), True),
        (200, ((b"Content-Range", b"bytes 0-9/30"),), True),
        (416, ((b"Content-Range", b"bytes */30"),), False),
        (200, ((b"Content-Type", b"multipart/byteranges; boundary=x"),), True),
        (200, ((b"Content-Type", b"multipart/x-byteranges"),), True),
        (200, ((b"Content-Type", b"multipart/mixed"),), False),
    ],
)
def test_what_says_that_it_is_a_part_is_one(status: int, head: Headers, part: bool) -> None:
    assert is_part(status, head) is part
