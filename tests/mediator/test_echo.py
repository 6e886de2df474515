"""Answers that give a credential back give the placeholder instead, plain or packed; all others pass."""

import base64
import gzip
import json
import zlib
from collections.abc import Callable

import brotli
import pytest

from hark.packers import unpackers
from hark.policy.model import Surface
from mediator import codings
from mediator.authority import Destination
from mediator.credentials import MAX_SPELLED, Broker, Injected, Refused
from mediator.echo import AnswerBody, PackedError, Watched, answer_body, answer_fields
from mediator.scan import FoundError
from tests.mediator.rig import API, API_TARGET, PLACEHOLDER, secret
from tests.support.squeezing import packer

VALUE = "sk-real-5e884898da280471"
TEXT = b'{"echo": "%s"}' % VALUE.encode()
SWAPPED = b'{"echo": "%s"}' % PLACEHOLDER.encode()
LONG = base64.b64encode(b"x" * 40 + VALUE.encode() + b"y" * 40)
BROKER = Broker([secret(VALUE, "api.example.test")])


def way(
    *codings: bytes, name: bytes = b"Content-Encoding", more: tuple[bytes, ...] = ()
) -> AnswerBody | Watched:
    headers = tuple((name, c) for c in codings) + tuple((field, b"x") for field in more)
    found = answer_body(BROKER, headers, API_TARGET)
    assert found is not None
    return found


def through(body: AnswerBody | Watched, packed: bytes, size: int) -> bytes:
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    return b"".join(map(body.feed, pieces)) + body.finish()


def pack(coding: bytes, data: bytes) -> bytes:
    packing = packer(coding)
    return packing.pack(data) + packing.end()


def unpack(coding: bytes, data: bytes) -> bytes:
    return b"".join(unpackers(coding)[0].unpack(data))


def raw_deflate(data: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-15)
    return packing.compress(data) + packing.flush()


def members(data: bytes) -> bytes:
    return gzip.compress(b"") + bytes(3) + gzip.compress(data[:30]) + gzip.compress(data[30:])


PACKINGS: list[tuple[tuple[bytes, ...], Callable[[bytes], bytes], tuple[bytes, ...]]] = [
    ((), bytes, ()),
    ((b"gzip",), gzip.compress, (b"gzip",)),
    ((b"deflate",), zlib.compress, (b"deflate",)),
    ((b"deflate",), raw_deflate, (b"deflate",)),
    ((b"deflate",), gzip.compress, (b"deflate",)),
    ((b"X-GZIP",), gzip.compress, (b"gzip",)),
    ((b"gzip",), members, (b"gzip",)),
    ((b"br",), brotli.compress, (b"br",)),
    ((b"zstd",), lambda data: pack(b"zstd", data[:9]) + pack(b"zstd", data[9:]), (b"zstd",)),
    ((b"gzip, identity",), gzip.compress, (b"gzip",)),
    ((b"identity", b"br"), brotli.compress, (b"br",)),
    ((b"deflate,gzip",), lambda data: gzip.compress(raw_deflate(data)), (b"gzip", b"deflate")),
    ((b"zstd", b"br, gzip"), lambda data: gzip.compress(brotli.compress(pack(b"zstd", data))),
     (b"gzip", b"br", b"zstd")),
]  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(("codings", "packed", "undone"), PACKINGS)
def test_a_value_is_turned_back_however_it_is_packed_and_cut(
    codings: tuple[bytes, ...], packed: Callable[[bytes], bytes], undone: tuple[bytes, ...], size: int
) -> None:
    got = through(way(*codings), packed(TEXT * 3 + b"harmless" * 99), size)
    for coding in undone:
        got = unpack(coding, got)
    assert got == SWAPPED * 3 + b"harmless" * 99


@pytest.mark.parametrize("coding", [b"gzip", b"br", b"zstd", b"deflate"])
def test_what_is_vouched_for_passes_as_it_came_and_stops_at_a_value(coding: bytes) -> None:
    harmless = pack(coding, b"harmless")
    assert through(way(coding, more=(b"Content-MD5",)), harmless, 3) == harmless
    with pytest.raises(FoundError):
        through(way(coding, more=(b"x-amz-checksum-crc32",)), pack(coding, TEXT), 3)


def test_a_piece_of_a_packed_answer_is_passed_at_once() -> None:
    body, packing = way(b"gzip"), zlib.compressobj(wbits=31)
    got = body.feed(packing.compress(b"data: 1\n\n") + packing.flush(zlib.Z_SYNC_FLUSH))
    assert zlib.decompressobj(31).decompress(got) == b"data: 1\n\n"


@pytest.mark.parametrize("size", [1, 10, 1000])
@pytest.mark.parametrize(
    "wrap",
    [
        base64.encodebytes,
        lambda data: b"\r\n ".join(base64.b64encode(data)[at : at + 11] for at in range(0, 200, 11)),
        lambda data: json.dumps(json.dumps(base64.encodebytes(data).decode())).encode(),
        lambda data: data.hex(" ").encode(),
    ],
    ids=["mime", "folded", "json-in-json", "hex"],
)
def test_a_value_in_wrapped_text_does_not_pass(wrap: Callable[[bytes], bytes], size: int) -> None:
    wrapped = wrap(b"a header before it, " * 2 + VALUE.encode())
    got = through(way(), wrapped, size)
    assert BROKER.real_value_in(got) is None
    assert got != wrapped


def test_headers_are_turned_back_too() -> None:
    assert answer_fields(
        BROKER, ((b"X", b"Basic " + base64.b64encode(b"u:" + VALUE.encode())),), API_TARGET
    ) == ((b"X", b"Basic " + base64.b64encode(b"u:" + PLACEHOLDER.encode())),)


@pytest.mark.parametrize(
    "headers",
    [
        ((b"X-One", VALUE[:9].encode()), (b"X-Two", VALUE[9:].encode())),
        ((b"X-One", LONG[:60]), (b"X-Two", LONG[60:] + b"\t")),
        ((b"X-" + VALUE.encode(), b"1"),),
        ((b"X-One", LONG),),
    ],
    ids=["two", "base64-in-two", "name", "longer"],
)
def test_a_value_in_headers_that_cannot_be_turned_back_is_found(
    headers: tuple[tuple[bytes, bytes], ...],
) -> None:
    with pytest.raises(FoundError):
        answer_fields(BROKER, headers, API_TARGET)


def test_the_control_other_headers_pass() -> None:
    headers = ((b"X-One", VALUE[:9].encode()), (b"X-Two", b"else"), (b"X-Three", b"5e88"))
    assert answer_fields(BROKER, headers, API_TARGET) == headers


@pytest.mark.parametrize("coding", [b"compress", b"gzip, xz", b"gzip,gzip,gzip,gzip"])
def test_what_cannot_be_searched_is_not_passed(coding: bytes) -> None:
    with pytest.raises(PackedError):
        way(coding)
    assert answer_body(Broker([]), ((b"Content-Encoding", coding),), API_TARGET) is None


def test_a_transfer_coding_other_than_chunked_is_not_passed() -> None:
    with pytest.raises(PackedError, match="transfer coding"):
        way(b"gzip, chunked", name=b"Transfer-Encoding")
    way(b"Chunked", name=b"Transfer-Encoding")


@pytest.mark.parametrize(
    "body",
    [b"not gzip at all", gzip.compress(b"x") + b"more", gzip.compress(b"x" * 999)[:-9] + bytes(30),
     gzip.compress(b"x" * 999)[:-9]],
    ids=["plain", "behind", "broken", "cut"],
)  # fmt: skip
def test_what_is_not_what_it_says_is_not_passed(body: bytes) -> None:
    with pytest.raises(PackedError):
        through(way(b"gzip"), body, 5)


def test_an_answer_keeps_its_length_where_value_and_placeholder_have_the_same() -> None:
    even = Broker([secret(PLACEHOLDER[:-1] + "x", "api.example.test", placeholder="sk-hark" + "y" * 22)])
    announced = ((b"Content-Length", b"9"),)
    kept, changed = (answer_body(broker, announced, API_TARGET) for broker in (even, BROKER))
    assert kept is not None
    assert changed is not None
    assert (kept.resizes, changed.resizes) == (False, True)


def test_a_bomb_is_unpacked_in_pieces_and_a_bomb_within_a_bomb_is_cut() -> None:
    alike = bytes(codings.MANY)
    assert unpack(b"gzip", through(way(b"gzip"), gzip.compress(alike, 9), 9999)) == alike
    with pytest.raises(PackedError, match="far more"):
        through(way(b"gzip"), gzip.compress(alike + b"x", 9), 9999)
    long = b"".join(b"request %d took 9 ms and was answered with 200\n" % at for at in range(400_000))
    packed = gzip.compress(long)
    assert len(long) > codings.MANY
    assert len(long) < codings.MANY_RATIO * len(packed)
    assert unpack(b"gzip", through(way(b"gzip"), packed, 99_999)) == long
    with pytest.raises(PackedError, match="far more"):
        through(way(b"gzip, gzip"), gzip.compress(gzip.compress(bytes(200 << 20), 9), 9), 9999)


@pytest.mark.parametrize("coding", [b"gzip", b"br", b"deflate"])
def test_of_what_is_vouched_for_no_piece_passes_that_a_value_begins_in(coding: bytes) -> None:
    """Else all but its last character would be there, and that is soon guessed."""
    body, packing = way(coding, more=(b"Content-MD5",)), packer(coding)
    assert body.feed(first := packing.pack(b"harmless")) == first
    assert body.feed(packing.pack(VALUE[:-1].encode())) == b""
    with pytest.raises(FoundError):
        body.feed(packing.pack(VALUE[-1:].encode()) + packing.end())


def test_what_only_began_as_a_value_passes_once_that_is_known() -> None:
    body, packing = way(b"gzip", more=(b"Content-MD5",)), packer(b"gzip")
    first, last = packing.pack(VALUE[:-1].encode()), packing.pack(b"!") + packing.end()
    assert body.feed(first) == b""
    assert body.feed(last) + body.finish() == first + last


def _percent(text: str) -> bytes:
    return "".join(f"%{ord(char):02X}" for char in text).encode()


@pytest.mark.parametrize(
    "packed", [base64.b64encode, lambda data: data.hex().encode()], ids=["base64", "hex"]
)
@pytest.mark.parametrize(
    "spelled",
    [_percent, lambda text: text.encode().hex().encode(), lambda text: base64.b64encode(text.encode())],
    ids=["percent", "hex", "base64"],
)
@pytest.mark.parametrize("sent", [True, False])
def test_what_a_server_makes_of_a_spelling_that_the_agent_chose_stops(
    spelled: Callable[[str], bytes], packed: Callable[[bytes], bytes], *, sent: bool
) -> None:
    """A server that echoes bodies in base64 is no accomplice. The control: nothing was sent so."""
    broker = Broker([secret(VALUE, API, surfaces=(Surface.BODY,))])
    if sent:
        swap = broker.outgoing(Destination(API, 443), Surface.BODY)
        assert swap.feed(b"a " + spelled(PLACEHOLDER)) + swap.finish() == b"a " + spelled(VALUE)
    given = b"x" + packed(b"{ " + spelled(VALUE) + b" }")
    body = answer_body(broker, (), API_TARGET)
    assert body is not None
    if sent:
        with pytest.raises(FoundError):
            through(body, given, 10)
        assert broker.real_value_in(given) == "API_KEY"
    else:
        assert through(body, given, 10) == given


def test_a_basic_authorisation_within_base64_stops_too() -> None:
    broker = Broker([secret(VALUE, API)])
    basic = (b"Authorization", b"Basic " + base64.b64encode(f"user:{PLACEHOLDER}".encode()))
    sent = broker.inject([basic], Destination(API, 443))
    assert isinstance(sent, Injected)
    assert broker.real_value_in(base64.b64encode(b"GET / " + sent.headers[0][1])) == "API_KEY"


def test_an_agent_that_spells_a_placeholder_in_ever_new_ways_is_stopped() -> None:
    broker = Broker([secret("sk-realZyXwVuTsRqPoNmLkJiHgFe", API)])  # else only spelled through
    target = Destination(API, 443)

    def sent(number: int) -> Injected | Refused:
        chars = enumerate(PLACEHOLDER)
        spelled = "".join(f"%{ord(char):02X}" if number >> at & 1 else char for at, char in chars)
        return broker.inject([(b"X", spelled.encode())], target)

    for number in [*range(MAX_SPELLED + 1), MAX_SPELLED]:  # the first of them is as it is
        assert isinstance(sent(number), Injected)
    refused = sent(MAX_SPELLED + 1)
    assert isinstance(refused, Refused)
    assert "spelled in too many ways" in refused.reason
    for number in range(200):  # names of users are no spelling
        basic = (b"Authorization", b"Basic " + base64.b64encode(f"{number}:{PLACEHOLDER}".encode()))
        assert isinstance(BROKER.inject([basic], Destination("api.example.test", 443)), Injected)


@pytest.mark.parametrize("coding", [b"", b"gzip"])
def test_a_whole_body_is_turned_as_its_pieces_are(coding: bytes) -> None:
    body = way(*(coding,) if coding else ())
    assert isinstance(body, AnswerBody)
    done = body.whole(pack(coding, TEXT) if coding else TEXT)
    assert (unpack(coding, done) if coding else done) == SWAPPED
