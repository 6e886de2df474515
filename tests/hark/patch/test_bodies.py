"""Codings are undone chunk by chunk, within a bound, or not at all."""

import gzip
import zlib

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import PatchError
from hark.patch import bodies
from hark.patch.bodies import codings, unpacked
from tests.hark.patch.rig import CODINGS, cut, packed


def named(*values):
    return tuple((b"Content-Encoding", value.encode()) for value in values)


def test_codings_are_read_from_all_headers():
    assert codings(named("gzip, br", " ZSTD ")) == [b"gzip", b"br", b"zstd"]
    assert codings(named("identity", "")) == []
    assert codings(((b"Content-Type", b"gzip"),)) == []


@pytest.mark.parametrize("coding", CODINGS)
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=5))
def test_each_chunk_brings_its_own_text(coding, texts):
    chunks = packed(coding, *texts)
    assert unpacked([coding.encode()], chunks, whole=True) == texts


@given(st.binary(max_size=200), st.lists(st.integers(0, 400)))
def test_wherever_chunks_end_the_text_is_whole(text, places):
    chunks = cut(brotli.compress(gzip.compress(text)), places)
    found = unpacked([b"gzip", b"br"], chunks, whole=True)
    assert b"".join(found) == text
    assert len(found) == len(chunks)


def test_deflate_without_its_wrapper_is_read_too():
    packer = zlib.compressobj(wbits=-15)
    data = packer.compress(b"hello") + packer.flush()
    assert unpacked([b"deflate"], [data], whole=True) == [b"hello"]


@pytest.mark.parametrize("coding", CODINGS)
def test_a_text_that_breaks_off_is_taken_where_the_answer_did(coding):
    first, second = packed(coding, b"hello", b"world")
    with pytest.raises(PatchError, match=f"not packed by {coding}"):
        unpacked([coding.encode()], [first, second[:-3]], whole=True)
    assert unpacked([coding.encode()], [first, second[:-3]], whole=False)[0] == b"hello"


def test_no_bytes_are_no_text():
    assert unpacked([b"gzip"], [], whole=True) == []
    assert unpacked([b"gzip"], [b"", b""], whole=True) == [b"", b""]


@pytest.mark.parametrize(
    ("named_", "chunks", "why"),
    [
        ([b"xz"], [b"x"], 'packed by "xz"'),
        ([b"evil\x1b[31m"], [b"x"], r"evil\\e"),
        ([b"gzip"], [b"plain"], "not packed by gzip"),
        ([b"br"], [b"plain text here"], "not packed by br"),
        ([b"gzip"] * 4, [b"x"], "more than 3 times"),
    ],
)
def test_what_cannot_be_undone_is_an_error(named_, chunks, why):
    with pytest.raises(PatchError, match=why):
        unpacked(named_, chunks, whole=True)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_is_refused_before_it_is_held(monkeypatch, coding):
    monkeypatch.setattr(bodies, "MAX_TEXT", 1 << 20)
    chunks = packed(coding, b"\0" * (3 << 20))
    assert sum(map(len, chunks)) < 100_000
    with pytest.raises(PatchError, match="unpacks to more than"):
        unpacked([coding.encode()], chunks, whole=True)
    with pytest.raises(PatchError, match="has more than"):
        unpacked([], [b"x" * (1 << 20), b"x"], whole=True)


@given(st.sampled_from(CODINGS), st.lists(st.binary(max_size=60), max_size=4), st.booleans())
def test_any_bytes_are_text_or_an_error(coding, chunks, whole):
    try:
        found = unpacked([coding.encode()], chunks, whole=whole)
    except PatchError:
        return
    assert len(found) == len(chunks)
