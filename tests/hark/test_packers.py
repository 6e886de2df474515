"""Each coding there and back, in pieces, bounded. (What is made of them: test_codings, test_echo.)"""

import gzip
import os
import sys
import time
import zlib
from typing import TYPE_CHECKING

import brotli  # type: ignore[import-untyped]
import pytest

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

from hark.packers import STEP, Damaged, packer, unpackers

SQUEEZED = {b"gzip": gzip.compress, b"deflate": zlib.compress, b"br": brotli.compress, b"zstd": zstd.compress}
CODINGS = list(SQUEEZED)


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
@pytest.mark.parametrize("coding", CODINGS)
def test_what_is_packed_comes_out_again_whole(coding: bytes, size: int) -> None:
    text = os.urandom(3000) + b"text " * 500
    packing, undoing = packer(coding), unpackers(coding)[0]
    packed = b"".join(packing.pack(text[at : at + 999]) for at in range(0, len(text), 999)) + packing.end()
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    out = b""
    for piece in pieces:
        assert undoing.whole is False
        out += b"".join(undoing.unpack(piece))
    assert (out == text, undoing.whole) == (True, True)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("size", [0, 1, 1 << 16, (1 << 16) + 1, 1 << 17, (1 << 17) + 1])
def test_pieces_of_every_size_are_packed_as_the_standard_says(coding: bytes, size: int) -> None:
    packing, undoing = packer(coding), unpackers(coding)[0]
    text = os.urandom(size)
    packed = packing.pack(b"") + packing.pack(text) + packing.pack(b"") + packing.end()
    assert (b"".join(undoing.unpack(packed)), undoing.whole) == (text, True)


@pytest.mark.parametrize("coding", CODINGS)
def test_the_length_of_what_is_packed_says_nothing_of_the_text(coding: bytes) -> None:
    def length(guess: bytes) -> int:
        packing = packer(coding)
        return len(packing.pack(b"key_9b2c8d1e") + packing.pack(b" and " + guess) + packing.end())

    assert length(b"key_9b2c8d1e") == length(b"key_33333333") == length(b"zzzzzzzzzzzz")
    assert len(gzip.compress(b"key_9b2c8d1e" * 2)) < len(gzip.compress(b"key_9b2c8d1ezzyxwvutsrqp")), (
        "the control: a packer that compresses tells the guess"
    )


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_comes_in_steps(coding: bytes) -> None:
    undoing, packed = unpackers(coding)[0], SQUEEZED[coding](bytes(20 * STEP))
    assert len(packed) < STEP
    sizes = [len(piece) for piece in undoing.unpack(packed)]
    assert (sum(sizes), max(sizes) <= 4 * STEP) == (20 * STEP, True)


@pytest.mark.parametrize("coding", CODINGS)
def test_other_bytes_are_damaged(coding: bytes) -> None:
    packing = packer(coding)
    whole = packing.pack(b"text") + packing.end()
    for wrong in (b"\xff" * 40, whole + b"more" * 9):
        with pytest.raises(Damaged):
            list(unpackers(coding)[0].unpack(wrong))


def test_a_window_larger_than_the_web_allows_is_damaged() -> None:
    frame = bytes.fromhex("28b52ffd00") + bytes([(27 - 10) << 3]) + bytes.fromhex("01000000")
    with pytest.raises(Damaged):
        list(unpackers(b"zstd")[0].unpack(frame))


@pytest.mark.parametrize("coding", [b"gzip", b"zstd"])
def test_many_streams_in_one_piece_are_no_work_of_their_square(coding: bytes) -> None:
    packing = packer(coding)
    one = packing.pack(b"x" * 400) + packing.end()

    def seconds(streams: int) -> float:
        begun = time.process_time()
        assert b"".join(unpackers(coding)[0].unpack(one * streams)) == b"x" * 400 * streams
        return time.process_time() - begun

    assert seconds(80_000) < 32 * max(seconds(10_000), 0.02)


SIGNED = b";chunk-signature=" + b"0a" * 32
TRAILER = b"x-amz-checksum-crc32:AAAAAA=="
CHUNKED = [
    (b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
    (b"5\r\nhel\r\n\r\n3\r\nabc\r\n0\r\n" + TRAILER + b"\r\n\r\n", b"hel\r\nabc"),
    (b"1" + SIGNED + b"\r\nx\r\n0" + SIGNED + b"\r\n" + TRAILER + b"\n\r\n", b"x"),
    (b"0\r\n" + TRAILER + b"\r\nx-amz-trailer-signature:" + b"0a" * 32 + b"\r\n\r\n", b""),
]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(("sent", "text"), CHUNKED)
def test_chunks_of_s3_are_undone_at_every_cut(sent: bytes, text: bytes, size: int) -> None:
    (undoing,) = unpackers(b"aws-chunked")
    out = b""
    for at in range(0, len(sent), size):
        assert undoing.whole is False
        out += b"".join(undoing.unpack(sent[at : at + size]))
    assert (out, undoing.whole) == (text, True)


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n",
        b"5;ext=any\r\nhello\r\n0\r\n\r\n",
        b"3\r\nhello\r\n",
        b"0\r\nx-any: text\r\n\r\n",
        b"0\r\n\r\nmore\r\n",
        b"5" + b" " * 200,
        b"0\r\n" + b"x" * 200,
    ],
)
def test_what_s3_would_not_take_is_damaged(sent: bytes, size: int) -> None:
    (undoing,) = unpackers(b"aws-chunked")
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    with pytest.raises(Damaged):
        _ = [list(undoing.unpack(piece)) for piece in pieces]
