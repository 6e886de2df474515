"""Path and query: one spelling for what every reader takes for one, and two otherwise."""

from urllib.parse import parse_qsl, quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.replay.target import form_pairs, normal, split


@pytest.mark.parametrize(
    ("one", "other"),
    [(b"/%61", b"/a"), (b"/%7e%2F", b"/~%2f"), (b"/?a=%41", b"/?a=A"), (b"/a?%71=1", b"/a?q=1")],
)
def test_needless_encoding_does_not_count(one, other):
    assert split(one) == split(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"/a", b"/A"),
        (b"/a/b", b"/a%2Fb"),
        (b"/a", b"/a?"),
        (b"/?a", b"/?a="),
        (b"/?a=1&b=2", b"/?b=2&a=1"),
        (b"/?a=+", b"/?a=%20"),
        (b"/?a=+", b"/?a=%2B"),
        (b"/?a&b", b"/?a%26b"),
        (b"/%", b"/%25"),
        (b"/?a=1", b"/?a=1&"),
        (b"//a", b"/a"),
        (b"/a/../b", b"/b"),
    ],
)
def test_two_targets_stay_two(one, other):
    assert split(one) != split(other)


def presigned(
    signer="Amz", date="20260101T000000Z", day="20260101", signature="ab", key="AKID", expires="900"
):
    return split(
        f"/k?X-{signer}-Algorithm=AWS4-HMAC-SHA256&X-{signer}-Credential={key}%2f{day}%2Fus-east-1%2Fs3%2Faws4_request"
        f"&X-{signer}-Date={date}&X-{signer}-Expires={expires}&X-{signer}-SignedHeaders=host&X-{signer}-Signature={signature}".encode()
    )


@pytest.mark.parametrize("signer", ["Amz", "Goog"])
def test_of_a_signed_query_date_and_signature_do_not_count(signer):
    base = presigned(signer)
    assert base == presigned(signer, date="20270202T000000Z", day="20270202", signature="cd")
    assert base != presigned(signer, key="OTHER")
    assert base != presigned(signer, expires="901")


def test_a_date_without_a_signature_counts():
    assert split(b"/?X-Amz-Date=1") != split(b"/?X-Amz-Date=2")


@given(st.binary(max_size=40))
def test_spelling_is_done_once_and_any_bytes_have_one(data):
    assert normal(normal(data)) == normal(data)
    split(data)
    form_pairs(data)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=8), st.text(max_size=8)), max_size=4))
def test_a_form_is_read_as_the_standard_library_reads_it(pairs):
    body = "&".join(f"{quote(name)}={quote(value)}" for name, value in pairs).encode()
    found = form_pairs(body)
    assert [(name.decode(), value.decode()) for name, value in found] == parse_qsl(
        body.decode(), keep_blank_values=True
    )


def test_a_percent_sign_that_encodes_nothing_makes_no_form():
    assert form_pairs(b"a=%zz") is None
    assert form_pairs(b"a=%25zz") == ((b"a", b"%zz"),)
    assert form_pairs(b"a=1+2") == form_pairs(b"%61=1%202") == ((b"a", b"1 2"),)
