"""Codings are undone in the right order, and a request asks for no others. (What is found: test_echo.)"""

import os
import zlib

import pytest

from hark.packers import STEP
from mediator import codings
from mediator.codings import PackedError, Unpacking, accepted, codings_of


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (b"gzip, deflate, br, zstd, xz", b"gzip, deflate, br, zstd"),
        (b"br;q=1.0, gzip;q=0.8, *;q=0.1", b"br;q=1.0, gzip;q=0.8"),
        (b"compress", b"identity"),
        (b"", b"identity"),
        (b"*", b"identity"),
        (b"Identity, X-GZip", b"Identity, X-GZip"),
        (b"gzipped", b"identity"),
    ],
)
def test_only_what_can_be_searched_is_asked_for(asked: bytes, sent: bytes) -> None:
    assert accepted(asked) == sent


def test_codings_are_undone_from_the_last() -> None:
    headers = ((b"content-encoding", b"deflate, identity"), (b"X", b"br"), (b"CONTENT-ENCODING", b"gzip"))
    assert codings_of(headers) == (b"gzip", b"deflate")
    with pytest.raises(PackedError):
        codings_of((*headers, (b"content-encoding", b"xz")))


def test_what_a_full_step_leaves_inside_is_looked_at_although_nothing_follows() -> None:
    """A match that reaches over the step's end needs no more input to come out."""
    packer = zlib.compressobj(9)
    packed = packer.compress(bytes(STEP + 100)) + packer.flush(zlib.Z_SYNC_FLUSH)
    seen: list[bytes] = []
    Unpacking((b"deflate",), lambda: seen.append).feed(packed)
    assert sum(map(len, seen)) == STEP + 100
    assert max(map(len, seen)) <= STEP


@pytest.mark.parametrize("name", [b"grpc-encoding", b"Connect-Content-Encoding"])
def test_messages_that_are_packed_one_by_one_cannot_be_searched(name: bytes) -> None:
    with pytest.raises(PackedError, match="each message in it is packed by `gzip`"):
        codings_of(((name, b"gzip"),))
    assert codings_of(((name, b"identity"), (b"grpc-accept-encoding", b"gzip"))) == ()


@pytest.mark.parametrize("way", ["looked at", "changed"])
def test_what_unpacks_to_much_and_far_more_than_was_sent_is_given_up_early(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Same:
        def feed(self, data: bytes) -> bytes:
            return data

        def finish(self) -> bytes:
            return b""

    def unpack(text: bytes) -> None:
        packed = zlib.compress(text)
        if way == "changed":
            codings.Repacking((b"deflate",), Same()).feed(packed)
        else:
            Unpacking((b"deflate",), lambda: len).feed(packed)

    bomb = bytes(2 << 20)
    unpack(bomb)  # the control: so little is no bomb yet
    monkeypatch.setattr(codings, "MANY", 1 << 20)
    with pytest.raises(PackedError, match="unpacks to far more than was sent"):
        unpack(bomb)
    unpack(bytes(range(256)) * 8 + os.urandom(1 << 20).hex().encode())
