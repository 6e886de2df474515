"""Placeholders in bodies become values, spelled for the body's kind, only for hosts and places allowed."""

import base64
import gzip
import json
from collections.abc import Callable
from urllib.parse import parse_qs

import pytest

from hark.packers import unpackers
from hark.policy.model import HostRule, Secret, Surface
from mediator.authority import Destination
from mediator.credentials import Broker
from mediator.scan import FoundError
from mediator.spelling import Place
from mediator.substitution import MessageText, RequestText, place_of
from tests.support.squeezing import packer

API, OTHER = Destination("api.example.test", 443), Destination("other.example.test", 443)
VALUE = 'sk-real/5e8+84"898&da 28<0471'
PLACEHOLDER = "sk-harkAbCdEfGhIjKlMnOpQrStUv"
EVEN = "sk-real5e884898da28047151d0e56"[: len(PLACEHOLDER)]
JSON, FORM = b"application/json; charset=utf-8", b"application/x-www-form-urlencoded"


def broker(value: str = VALUE, *places: Surface) -> Broker:
    return Broker([Secret("KEY", value, PLACEHOLDER, (HostRule(API.host),), places or (Surface.BODY,))])


def sent(
    body: bytes,
    kind: bytes,
    target: Destination = API,
    *headers: tuple[bytes, bytes],
    held: Broker | None = None,
) -> bytes:
    way = RequestText(held or broker(), target, ((b"Content-Type", kind), *headers))
    return b"".join(way.feed(body[at : at + 5]) for at in range(0, len(body), 5)) + way.finish()


def test_json_is_read_back_with_the_value() -> None:
    assert json.loads(sent(json.dumps({"a": PLACEHOLDER}).encode(), JSON)) == {"a": VALUE}
    escaped = '{"a": "' + "".join(f"\\u{ord(char):04x}" for char in PLACEHOLDER) + '"}'
    assert json.loads(sent(escaped.encode(), JSON)) == {"a": VALUE}


def test_a_form_is_read_back_with_the_value() -> None:
    body = f"grant=x&token={PLACEHOLDER}&more={PLACEHOLDER.replace('-', '%2D')}".encode()
    assert parse_qs(sent(body, FORM).decode()) == {"grant": ["x"], "token": [VALUE], "more": [VALUE]}


def test_multipart_and_plain_text_hold_the_value_as_it_is() -> None:
    body = f'--b\r\nContent-Disposition: form-data; name="k"\r\n\r\n{PLACEHOLDER}\r\n--b--\r\n'.encode()
    assert sent(body, b"multipart/form-data; boundary=b") == body.replace(
        PLACEHOLDER.encode(), VALUE.encode()
    )
    assert sent(b"key " + PLACEHOLDER.encode(), b"text/plain") == b"key " + VALUE.encode()


def test_xml_holds_the_value_with_its_entities() -> None:
    assert sent(f"<k>{PLACEHOLDER}</k>".encode(), b"application/soap+xml") == (
        b"<k>sk-real/5e8+84&quot;898&amp;da 28&lt;0471</k>"
    )


def test_base64_that_ends_with_the_placeholder_holds_the_value() -> None:
    body = json.dumps({"auth": base64.b64encode(f"user:{PLACEHOLDER}".encode()).decode()}).encode()
    assert base64.b64decode(json.loads(sent(body, JSON))["auth"]) == f"user:{VALUE}".encode()


@pytest.mark.parametrize("coding", [b"gzip", b"br", b"zstd", b"deflate"])
def test_a_packed_body_is_packed_again(coding: bytes) -> None:
    packing = packer(coding)
    packed = packing.pack(json.dumps({"a": PLACEHOLDER}).encode()) + packing.end()
    got = sent(packed, JSON, API, (b"Content-Encoding", coding))
    assert json.loads(b"".join(unpackers(coding)[0].unpack(got))) == {"a": VALUE}


@pytest.mark.parametrize(
    ("target", "places", "words"),
    [
        (OTHER, (Surface.BODY,), "secrets.KEY is not bound to other.example.test:443"),
        (Destination(API.host, 80), (Surface.BODY,), "is not bound"),
        (
            API,
            (Surface.HEADER, Surface.QUERY),
            'write `in = ["header", "query", "body"]` under [secrets.KEY]',
        ),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_anywhere_else_the_body_stops_and_says_why(
    target: Destination, places: tuple[Surface, ...], words: str, pack: Callable[[bytes], bytes]
) -> None:
    coding = ((b"Content-Encoding", b"gzip"),) if pack is gzip.compress else ()
    with pytest.raises(FoundError) as found:
        sent(pack(b"." * 2000 + PLACEHOLDER.encode()), JSON, target, *coding, held=broker(VALUE, *places))
    assert words in found.value.reason


CHUNKED = (b"Content-Encoding", b"aws-chunked")


@pytest.mark.parametrize("places", [(Surface.BODY,), (Surface.HEADER,)])
def test_what_awss_programs_upload_passes_and_a_placeholder_across_its_chunks_does_not(
    places: tuple[Surface, ...],
) -> None:
    held = broker(VALUE, *places)
    cut_off = b"d\r\nx %s\r\n%x\r\n%s y\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n"
    first, second = PLACEHOLDER[:11].encode(), PLACEHOLDER[11:].encode()
    body = cut_off % (first, len(second) + 2, second)
    assert PLACEHOLDER.encode() not in body
    other = body.replace(second, second[::-1])  # the control
    assert sent(other, b"text/plain", API, CHUNKED, held=held) == other
    with pytest.raises(FoundError) as found:
        sent(body, b"text/plain", API, CHUNKED, held=held)
    assert "aws-chunked" in found.value.reason
    stray = b"0\r\nx-amz-checksum-x:%s\r\n\r\n" % PLACEHOLDER.replace("-", "").encode()
    bare = Broker([Secret("KEY", VALUE, PLACEHOLDER.replace("-", ""), (HostRule(API.host),), places)])
    with pytest.raises(FoundError, match="KEY"):
        sent(stray, b"text/plain", API, CHUNKED, held=bare)
    packed = gzip.compress(b"x " + PLACEHOLDER.encode())
    within = b"%x\r\n%s\r\n0\r\n\r\n" % (len(packed), packed)
    with pytest.raises(FoundError, match="KEY"):
        sent(within, b"text/plain", API, (b"Content-Encoding", b"gzip, aws-chunked"), held=held)


def test_a_body_with_nothing_in_it_passes_as_it_is() -> None:
    packed = gzip.compress(b"harmless " * 99)
    coding = (b"Content-Encoding", b"gzip")
    assert sent(packed, JSON, OTHER, coding) == packed
    assert gzip.decompress(sent(packed, JSON, API, coding)) == b"harmless " * 99
    assert sent(b"harmless", JSON) == b"harmless"


def test_a_body_keeps_its_length_where_value_and_placeholder_have_the_same() -> None:
    length = ((b"Content-Length", b"1"),)
    assert RequestText(broker(), API, length).resizes
    assert not RequestText(broker(EVEN), API, length).resizes
    assert not RequestText(broker(), OTHER, length).resizes
    assert RequestText(broker(EVEN), API, ((b"content-encoding", b"gzip"),)).resizes
    body = json.dumps({"a": PLACEHOLDER}).encode()
    assert sent(body, JSON, API, *length, held=broker(EVEN)) == body.replace(
        PLACEHOLDER.encode(), EVEN.encode()
    )


def test_what_went_in_is_told_once() -> None:
    way = RequestText(broker(), API, ((b"content-type", b"text/plain"),))
    way.feed(f"{PLACEHOLDER} {PLACEHOLDER} ".encode())
    assert [injection.ref for injection in way.injected()] == ["secrets.KEY"]
    assert list(way.injected()) == []


@pytest.mark.parametrize(
    ("kind", "place"),
    [(JSON, Place.JSON), (b"application/vnd.api+json", Place.JSON), (FORM, Place.FORM),
     (b"text/xml", Place.XML), (b"text/plain", Place.PLAIN), (b"", Place.PLAIN)],
)  # fmt: skip
def test_a_body_is_what_its_type_says(kind: bytes, place: Place) -> None:
    assert place_of(((b"CONTENT-TYPE", kind),)) is place


def test_a_message_of_a_websocket_holds_the_value_where_the_secret_may_stand_there() -> None:
    message = f'{{"k": "{PLACEHOLDER}"}}'.encode()
    way = MessageText(broker(VALUE, Surface.WS), API)
    assert json.loads(way.feed(message) + way.finish()) == {"k": VALUE}
    assert [injection.ref for injection in way.injected()] == ["secrets.KEY"]
    elsewhere = MessageText(broker(VALUE, Surface.HEADER), API)
    with pytest.raises(FoundError) as found:
        elsewhere.feed(message)
    assert 'in = ["header", "ws"]' in found.value.reason
