"""Multipart bodies: the boundary does not count, all else does, and what is not exactly parts is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.replay.multipart import MAX_PARTS, Part, boundary, parts


def body(named, *pieces):
    return b"".join(b"--%s\r\n%s\r\n" % (named, piece) for piece in pieces) + b"--%s--\r\n" % named


FIELD = b'Content-Disposition: form-data; name="a"\r\n\r\nvalue'
FILE = b'Content-Disposition: form-data; name="f"\r\nContent-Type: text/plain\r\n\r\nx\r\n--y\r\n\r\nz'


def test_parts_are_found_whatever_the_boundary():
    expected = (
        Part(((b"content-disposition", b'form-data; name="a"'),), b"value"),
        Part(
            ((b"content-disposition", b'form-data; name="f"'), (b"content-type", b"text/plain")),
            b"x\r\n--y\r\n\r\nz",
        ),
    )
    assert parts(b"abc", body(b"abc", FIELD, FILE)) == expected
    assert parts(b"'( )", body(b"'( )", FIELD, FILE)) == expected
    assert parts(b"abc", body(b"abc", FIELD, FILE)[:-2]) == expected
    assert expected[1].header(b"content-type") == b"text/plain"
    assert expected[0].header(b"content-type") == b""


def test_no_parts_and_parts_without_a_header():
    assert parts(b"b", b"--b--\r\n") == ()
    assert parts(b"b", body(b"b", b"\r\nx")) == (Part((), b"x"),)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"--b\r\n",
        b"pre\r\n" + body(b"b", FIELD),
        body(b"b", FIELD) + b"post",
        body(b"b", FIELD).replace(b"\r\n", b"\n"),
        body(b"b", b"no header line\r\n\r\nx"),
        body(b"b", b"A: 1"),
        body(b"b", FIELD).replace(b"--b\r\n", b"--b \r\n"),
        body(b"b", FIELD, b"\r\n\r\n--bc\r\n"),
        body(b"c", FIELD),
    ],
)
def test_what_is_not_exactly_delimiters_and_parts_is_none(data):
    assert parts(b"b", data) is None


def test_parts_without_end_are_none():
    assert len(parts(b"b", body(b"b", *[b"\r\n"] * MAX_PARTS))) == MAX_PARTS
    assert parts(b"b", body(b"b", *[b"\r\n"] * (MAX_PARTS + 1))) is None


@pytest.mark.parametrize(
    ("kind", "named", "rest"),
    [
        (b"multipart/form-data; boundary=abc", b"abc", b"multipart/form-data"),
        (b'Multipart/Mixed;Boundary="a b\\"c"; type=x', b'a b"c', b"Multipart/Mixed; type=x"),
        (b"multipart/related; type=x; boundary=a", b"a", b"multipart/related; type=x"),
    ],
)
def test_a_boundary_is_read_and_taken_out(kind, named, rest):
    assert boundary(kind) == (named, rest)


@pytest.mark.parametrize(
    "kind",
    [
        b"",
        b"text/plain; boundary=a",
        b"multipart/form-data",
        b"multipart/x; boundary=a; boundary=b",
        b"multipart/x; xboundary=a",
    ],
)
def test_a_type_without_one_boundary_has_none(kind):
    assert boundary(kind) is None


CONTENTS = st.lists(st.binary(max_size=30), min_size=1, max_size=4)


@given(CONTENTS, CONTENTS)
def test_bodies_have_the_same_parts_exactly_where_contents_are_the_same(one, other):
    def written(named, contents):
        return parts(named, body(named, *[b"A: 1\r\n\r\n" + content for content in contents]))

    assert (written(b"0123456789abcdefg", one) == written(b"gfedcba9876543210", other)) is (one == other)


@given(st.binary(min_size=1, max_size=6), st.binary(max_size=60))
def test_any_bytes_have_parts_or_none(named, data):
    found = parts(named, data)
    assert found is None or all(isinstance(part, Part) for part in found)
    boundary(data)
