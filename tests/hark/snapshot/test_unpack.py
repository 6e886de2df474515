"""Decompression of what may be a bomb."""

import sys

import pytest
from blake3 import blake3

from hark.errors import BundleError
from hark.snapshot.unpack import Unpacking

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = bytes(range(256)) * 40_000


def test_what_was_packed_comes_in_the_pieces_that_are_asked_for():
    source = Unpacking(zstd.compress(TEXT))
    pieces = [source.take(1), source.take(3_000_000), source.take(len(TEXT))]
    assert b"".join(pieces) == TEXT
    assert [len(piece) for piece in pieces[:2]] == [1, 3_000_000]
    assert source.take(1) == b""
    assert source.finish() == blake3(TEXT).digest()


def test_no_more_is_unpacked_than_is_asked_for():
    bomb = zstd.compress(bytes(1 << 28))
    source = Unpacking(bomb)
    assert source.take(10) == bytes(10)
    assert len(source._ready) <= 1 << 20
    with pytest.raises(BundleError, match="goes on"):
        source.finish()


def _read_whole(data: bytes) -> None:
    source = Unpacking(data)
    source.take(len(TEXT) + 1)
    source.finish()


@pytest.mark.parametrize(
    "data", [b"", b"no zstd at all", zstd.compress(TEXT)[:-4], zstd.compress(TEXT) + b"x"]
)
def test_what_is_not_one_whole_frame_is_refused(data: bytes):
    with pytest.raises(BundleError):
        _read_whole(data)


def test_a_window_that_takes_too_much_memory_is_refused():
    options = {
        zstd.CompressionParameter.window_log: 30,
        zstd.CompressionParameter.enable_long_distance_matching: 1,
    }
    compressor = zstd.ZstdCompressor(options=options)
    data = compressor.compress(TEXT) + compressor.flush()
    with pytest.raises(BundleError, match="compressed"):
        Unpacking(data).take(1)
