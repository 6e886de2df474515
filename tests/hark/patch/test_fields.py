"""Headers are set, taken out, and kept true beside a body that is another one."""

from hashlib import sha256

import pytest

from hark.errors import PatchError
from hark.patch.fields import charset, is_hash, kind, length, true_of, values, with_header, without_header

HEADERS = ((b"A", b"1"), (b"b", b"2"), (b"a", b"3"))


def test_a_header_is_set_in_the_place_of_all_of_its_name():
    assert with_header(HEADERS, b"a", b"x") == ((b"A", b"x"), (b"b", b"2"))
    assert with_header(HEADERS, b"New", b"x") == (*HEADERS, (b"New", b"x"))
    assert with_header(((b"a", b"1"),), b"New", b"x") == ((b"a", b"1"), (b"new", b"x"))
    assert with_header((), b"New", b"x") == ((b"new", b"x"),)
    assert values(HEADERS, b"a") == [b"1", b"3"]


def test_a_header_is_taken_out_or_the_nearest_is_named():
    assert without_header(HEADERS, b"a") == ((b"b", b"2"),)
    with pytest.raises(PatchError) as error:
        without_header(((b"content-type", b"x"),), b"Content-Tpye")
    assert error.value.nearest == "content-type"


def test_headers_are_true_of_the_new_body():
    headers = (
        (b"Content-Length", b"3"), (b"Content-Encoding", b"gzip"), (b"ETag", b'"x"'), (b"Digest", b"y"),
        (b"Content-MD5", b"z"), (b"x-amz-checksum-crc32", b"q"), (b"X-Amz-Content-Sha256", b"0" * 64),
        (b"x-other", b"1"),
    )  # fmt: skip
    made, notes = true_of(headers, 3, b"new body", None)
    assert made == (
        (b"Content-Length", b"8"),
        (b"X-Amz-Content-Sha256", sha256(b"new body").hexdigest().encode()),
        (b"x-other", b"1"),
    )
    assert [note.split()[0] for note in notes] == ["etag", "digest", "content-md5", "x-amz-checksum-crc32"]


def test_an_answer_that_broke_off_lacks_what_it_lacked():
    assert true_of(((b"content-length", b"100"),), 10, b"12345", 90)[0] == ((b"content-length", b"95"),)


def test_beside_chunks_there_is_no_length():
    headers = ((b"Transfer-Encoding", b"chunked"), (b"Content-Length", b"3"))
    assert true_of(headers, 3, b"x", None)[0] == ((b"Transfer-Encoding", b"chunked"),)
    assert length(headers) is None


def test_a_part_of_something_keeps_its_length():
    headers = ((b"content-range", b"bytes 0-2/10"),)
    assert true_of(headers, 3, b"abc", None) == (headers, [])
    with pytest.raises(PatchError, match="content-range"):
        true_of(headers, 3, b"abcd", None)


@pytest.mark.parametrize(
    ("value", "found"),
    [([b"5"], 5), ([b"5", b"5"], 5), ([b"5", b"6"], None), ([b"-5"], None), ([b"9" * 30], None), ([], None),
     ([b"\xb2"], None)],
)  # fmt: skip
def test_a_length_is_a_number(value, found):
    assert length(tuple((b"Content-Length", one) for one in value)) == found


@pytest.mark.parametrize(
    ("value", "codec"),
    [(b"text/html; charset=ISO-8859-1", "latin-1"), (b'text/html;charset="windows-1252"', "cp1252"),
     (b"text/html", "utf-8"), (b"text/html; charset=utf-8", "utf-8"), (b"x; charset=zip_codec", "utf-8")],
)  # fmt: skip
def test_the_codec_is_one_of_a_table(value, codec):
    assert charset(((b"Content-Type", value),)) == codec
    assert kind(((b"content-type", value),)) == value.decode()
    assert kind(()) == ""


def test_hashes_are_told_by_their_names():
    assert is_hash(b"repr-digest")
    assert is_hash(b"x-amz-checksum-sha256")
    assert not is_hash(b"content-type")
