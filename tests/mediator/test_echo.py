"""Answers that give a credential back are cut, plain or compressed; all others pass byte for byte."""

import base64
import gzip
import json
import zlib
from collections.abc import Callable

import pytest

from mediator.credentials import Broker
from mediator.echo import EchoScan, PackedError
from mediator.scan import FoundError
from tests.mediator.rig import secret

VALUE = "sk-real-5e884898da280471"
TEXT = b'{"echo": "%s"}' % VALUE.encode()
LONG = base64.b64encode(b"x" * 40 + VALUE.encode() + b"y" * 40)


def scan(*encodings: bytes, body: bool = True, name: bytes = b"Content-Encoding") -> EchoScan:
    found = EchoScan(Broker([secret(VALUE, "api.example.test")]))
    found.head(tuple((name, encoding) for encoding in encodings), body=body)
    return found


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def twice(data: bytes) -> bytes:
    return gzip.compress(gzip.compress(data))


def members(data: bytes) -> bytes:
    return gzip.compress(b"harmless") + bytes(3) + gzip.compress(b"") + gzip.compress(data)


def within(data: bytes) -> bytes:
    return gzip.compress(data[:30]) + gzip.compress(data[30:])


PACKINGS = [
    ((), bytes),
    ((b"gzip",), gzip.compress),
    ((b"deflate",), zlib.compress),
    ((b"deflate",), raw_deflate),
    ((b"deflate",), gzip.compress),
    ((b"X-GZIP",), gzip.compress),
    ((b"gzip",), members),
    ((b"gzip",), within),
    ((b"gzip, identity",), gzip.compress),
    ((b"identity",), bytes),
    ((b"gzip, gzip",), twice),
    ((b"gzip", b"gzip"), twice),
    ((b"identity", b"gzip"), gzip.compress),
    ((b"deflate,gzip",), lambda data: gzip.compress(raw_deflate(data))),
    ((b"gzip", b"deflate, gzip"), lambda data: gzip.compress(zlib.compress(gzip.compress(data)))),
]


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(("encodings", "pack"), PACKINGS)
def test_a_value_is_found_however_it_is_packed_and_cut(
    encodings: tuple[bytes, ...], pack: Callable[[bytes], bytes], size: int
) -> None:
    looking = scan(*encodings)
    packed = pack(TEXT * 3)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    with pytest.raises(FoundError):
        list(map(looking.body, pieces))


@pytest.mark.parametrize("size", [1, 9, 100_000])
@pytest.mark.parametrize(("encodings", "pack"), PACKINGS)
def test_the_control_a_harmless_answer_passes_byte_for_byte(
    encodings: tuple[bytes, ...], pack: Callable[[bytes], bytes], size: int
) -> None:
    looking = scan(*encodings)
    packed = pack(b"harmless \\n " * 1000)
    passed = b"".join(looking.body(packed[at : at + size]) for at in range(0, len(packed), size))
    assert passed + looking.finish() == packed


@pytest.mark.parametrize("size", [1, 10, 1000])
@pytest.mark.parametrize(
    "wrap",
    [
        base64.encodebytes,
        lambda data: b"\r\n ".join(LONG[at : at + 11] for at in range(0, len(LONG), 11)),
        lambda data: json.dumps(base64.encodebytes(data).decode()).encode(),
        lambda data: json.dumps(json.dumps(base64.encodebytes(data).decode())).encode(),
        lambda data: data.hex(" ").encode(),
        lambda data: gzip.compress(base64.encodebytes(data)),
    ],
    ids=["mime", "folded", "json", "json-in-json", "hex", "gzip"],
)
def test_a_value_in_base64_is_found_across_line_breaks(wrap: Callable[[bytes], bytes], size: int) -> None:
    wrapped = wrap(b"a header before it, " * 2 + VALUE.encode() * 2)
    looking = scan(b"gzip") if wrapped.startswith(b"\x1f\x8b") else scan()
    pieces = [wrapped[at : at + size] for at in range(0, len(wrapped), size)]
    with pytest.raises(FoundError):
        list(map(looking.body, pieces))


@pytest.mark.parametrize(
    "headers",
    [
        ((b"X-Echo", VALUE.encode()),),
        ((b"X-One", VALUE[:9].encode()), (b"X-Two", VALUE[9:].encode())),
        ((b"X-One", LONG[:50] + b" " + LONG[50:]),),
        ((b"X-One", LONG[:60]), (b"X-Two", LONG[60:] + b"\t")),
    ],
    ids=["one", "two", "blank", "base64-in-two"],
)
def test_a_value_in_headers_is_found(headers: tuple[tuple[bytes, bytes], ...]) -> None:
    with pytest.raises(FoundError):
        scan().head(headers, body=False)
    with pytest.raises(FoundError):
        scan().fields(headers)


def test_the_control_other_headers_pass() -> None:
    scan().head(((b"X-One", VALUE[:9].encode()), (b"X-Two", b"else"), (b"X-Three", b"5e88")), body=True)


@pytest.mark.parametrize("encoding", [b"br", b"zstd", b"gzip, br", b"compress", b"gzip,gzip,gzip,gzip"])
def test_what_cannot_be_searched_is_not_passed(encoding: bytes) -> None:
    with pytest.raises(PackedError):
        scan(encoding)
    scan(encoding, body=False)
    EchoScan(Broker([])).head(((b"Content-Encoding", encoding),), body=True)


def test_a_transfer_coding_other_than_chunked_is_not_passed() -> None:
    with pytest.raises(PackedError, match="transfer coding"):
        scan(b"gzip, chunked", name=b"Transfer-Encoding")
    scan(b"Chunked", name=b"Transfer-Encoding")


@pytest.mark.parametrize(
    "body",
    [b"not gzip at all", gzip.compress(b"x") + b"more", gzip.compress(b"x" * 999)[:-9] + bytes(30)],
    ids=["plain", "behind", "broken"],
)
def test_what_is_not_what_it_says_is_not_passed(body: bytes) -> None:
    looking = scan(b"gzip")
    with pytest.raises(PackedError):
        looking.body(body)
    with pytest.raises(PackedError):
        scan(b"deflate").body(zlib.compress(b"x") + b"more")


def test_a_bomb_is_unpacked_in_pieces() -> None:
    looking = scan(b"gzip")
    bomb = gzip.compress(bytes(50 << 20), 9)
    assert looking.body(bomb) + looking.finish() == bomb


def test_a_bomb_within_a_bomb_is_cut() -> None:
    looking = scan(b"gzip, gzip")
    with pytest.raises(PackedError, match="far more"):
        looking.body(gzip.compress(gzip.compress(bytes(200 << 20), 9), 9))
