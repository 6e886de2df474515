"""Content codings undone: all of the text, or None."""

import gzip
import io
import sys
import time
import zlib

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.replay.packed import MAX_STREAMS, MAX_UNPACKED, MIN_CHUNK, plain, unpacked

if sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd


def raw_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


SIGNED = b"0f" * 32
PACK = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
    "aws-chunked": lambda data: (
        b"%x;chunk-signature=%s\r\n%s\r\n0;chunk-signature=%s\r\n\r\n" % (len(data), SIGNED, data, SIGNED)
        if data
        else b"0\r\n\r\n"
    ),
}
TEXT = b'{"prompt": "hello"}' * 20


@pytest.mark.parametrize("coding", PACK)
@given(text=st.binary(max_size=300))
def test_what_was_packed_is_found_again(coding, text):
    assert unpacked([coding], PACK[coding](text)) == text


@given(st.binary(max_size=300))
def test_deflate_without_its_wrapper_is_read_too(text):
    assert unpacked(["deflate"], raw_deflate(text)) == text


@pytest.mark.parametrize("coding", PACK)
def test_a_body_that_breaks_off_or_goes_on_is_not_unpacked(coding):
    whole = PACK[coding](TEXT)
    assert unpacked([coding], whole[:-1]) is None
    assert unpacked([coding], b"") is None
    assert unpacked([coding], b"\x01" + TEXT) is None
    assert unpacked([coding], whole + b"junk") is None
    assert unpacked([coding], whole + b"junk\r\n") is None


def test_members_of_gzip_and_frames_of_zstd_follow_each_other():
    assert unpacked(["gzip"], gzip.compress(b"a", mtime=7) + gzip.compress(b"b", mtime=7)) == b"ab"
    assert unpacked(["zstd"], zstd.compress(b"a") + zstd.compress(b"b")) == b"ab"


def test_codings_are_undone_from_the_last_to_the_first():
    assert unpacked(["gzip", "identity", "br"], brotli.compress(gzip.compress(TEXT))) == TEXT
    assert unpacked(["br", "gzip"], brotli.compress(gzip.compress(TEXT))) is None
    assert unpacked(["", "identity"], TEXT) == TEXT
    assert unpacked(["gzip"] * 4, TEXT) is None
    assert unpacked(["compress"], TEXT) is None


LONG = b"l" * MIN_CHUNK + b"de"


def trailing(signature, checksum):
    """Return the text LONG as S3's clients send it, with trailers."""
    return (
        b"2000;chunk-signature=%s\r\n%s\r\n2\r\nde\r\n0;chunk-signature=%s\r\n"
        b"x-amz-checksum-crc32:%s\r\nx-amz-trailer-signature:%s\r\n\r\n"
        % (signature, LONG[:-2], signature, checksum, signature)
    )


def test_signatures_of_chunks_do_not_count():
    one, other = trailing(b"aa" * 32, b"aaaaaa=="), trailing(b"bb" * 32, b"bbbbbb==")
    assert unpacked(["aws-chunked"], one) == unpacked(["aws-chunked"], other) == LONG
    assert unpacked(["aws-chunked"], one.replace(b"lll", b"mmm", 1)) == LONG.replace(b"lll", b"mmm", 1)
    assert unpacked(["aws-chunked"], b"4\r\nabc\r\n0\r\n\r\n") is None


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (b"0;chunk-signature", b"0;chunk-extension"),
        (b"2000;chunk-signature=a", b"2000;chunk-signature=ax"),
        (b"2000;chunk-signature=", b"1fff;chunk-signature="),
        (b"2\r\nde", b"2;more=x\r\nde"),
        (b"aaaaaa==\r\n", b"aaaaaa==\r\nx-more: x\r\n"),
        (b"aaaaaa==", b"a" * 89),
        (b"x-amz-checksum-crc32", b"x-amz-meta-name"),
    ],
)
def test_what_s3_does_not_define_beside_its_chunks_counts_as_it_was_sent(was, now):
    whole = trailing(b"aa" * 32, b"aaaaaa==")
    assert whole.replace(was, now) != whole
    assert unpacked(["aws-chunked"], whole.replace(was, now)) is None


def named(text):
    """Return gzip with a name of a file in its head, as the program `gzip` writes it."""
    out = io.BytesIO()
    with gzip.GzipFile("anything", "wb", fileobj=out) as file:
        file.write(text)
    return out.getvalue()


SKIPPED = b"\x5f\x2a\x4d\x18\x03\0\0\0any"
"""A frame of zstd that decoders skip (RFC 8878, 3.1.2)."""


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", named(TEXT)),
        ("gzip", gzip.compress(TEXT) + named(TEXT)),
        ("gzip", gzip.compress(b"") + gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT) + gzip.compress(b"")),
        ("zstd", SKIPPED + zstd.compress(TEXT)),
        ("zstd", zstd.compress(TEXT) + SKIPPED),
        ("zstd", zstd.compress(TEXT) + zstd.compress(b"") + zstd.compress(TEXT)),
    ],
)
def test_what_a_sender_may_put_beside_the_text_counts_as_it_was_sent(coding, body):
    """A server may keep it, and a decoder says nothing of it."""
    assert unpacked([coding], body) is None


def test_chunks_that_are_smaller_than_any_client_of_s3_makes_them_count_as_they_were_sent():
    """Each has a signature of its own: with chunks of one byte most of a body would not count."""
    small = trailing(b"aa" * 32, b"aaaaaa==").replace(b"2000;", b"1fff;").replace(LONG[:-2], LONG[:-3])
    assert unpacked(["aws-chunked"], small) is None


def test_members_of_gzip_that_say_other_times_count_as_they_were_sent():
    one, other = gzip.compress(TEXT, mtime=1), gzip.compress(TEXT, mtime=2)
    assert unpacked(["gzip"], one + one) == unpacked(["gzip"], other + other) == TEXT + TEXT
    assert unpacked(["gzip"], one + other) is None


def test_the_control_decoders_say_nothing_of_it():
    assert gzip.decompress(named(TEXT)) == TEXT
    assert zstd.decompress(SKIPPED + zstd.compress(TEXT)) == TEXT


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_left_packed(coding):
    assert unpacked([coding], PACK[coding](bytes(MAX_UNPACKED + 1))) is None
    assert len(unpacked([coding], PACK[coding](bytes(MAX_UNPACKED)))) == MAX_UNPACKED


@given(st.lists(st.sampled_from([*PACK, "identity", "x"]), max_size=4), st.binary(max_size=80))
def test_any_bytes_are_unpacked_or_not(codings, data):
    found = unpacked(codings, data)
    assert found is None or isinstance(found, bytes)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_body_of_many_streams_is_no_work_of_its_square(coding):
    one = PACK[coding](b"x" * 400)
    begun = time.process_time()
    assert unpacked([coding], one * 30_000) == b"x" * 12_000_000
    assert time.process_time() - begun < 20  # it was minutes


def test_more_streams_than_anybody_sends_count_as_they_were_sent():
    assert unpacked(["gzip"], gzip.compress(b"x") * MAX_STREAMS) == b"x" * MAX_STREAMS
    assert unpacked(["gzip"], gzip.compress(b"x") * (MAX_STREAMS + 1)) is None


def test_headers_say_how_a_body_is_packed_and_what_is_not_stays_as_it_is() -> None:
    packed, headers = gzip.compress(gzip.compress(b"text")), ((b"Content-Encoding", b"GZIP, gzip"),)
    assert plain(headers, packed) == b"text"
    assert plain(headers, b"text") == b"text"
    assert plain((), packed) == packed
