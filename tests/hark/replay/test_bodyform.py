"""The form of a body follows from its type, and what is not exactly that counts as its bytes."""

import gzip

import pytest

from hark.replay import bodyform
from hark.replay.bodyform import BYTES, EMPTY, JSON, NOTHING_IGNORED, PAIRS, PARTS, Ignored, formed
from hark.replay.headers import counting
from hark.replay.marks import Marks

NO_MARKS = Marks({})


def form(body, *fields):
    raw = tuple((name.encode(), value.encode()) for name, value in fields)
    return formed(raw, counting(raw, frozenset()), body, NOTHING_IGNORED, NO_MARKS)


def typed(kind, body):
    return form(body, ("Content-Type", kind))[1]


@pytest.mark.parametrize(
    ("kind", "body", "word"),
    [
        ("application/json", b"{}", JSON),
        ("application/json; charset=utf-8", b" 1 ", JSON),
        ("application/vnd.api+json", b"{}", JSON),
        ("application/x-amz-json-1.1", b"{}", JSON),
        ("text/plain;charset=UTF-8", b" {}", JSON),
        ("", b"[1]", JSON),
        ("text/plain", b"1", BYTES),
        ("application/jsonl", b"{}", BYTES),
        ("application/octet-stream", b"{}", BYTES),
        ("application/json", b"{", BYTES),
        ("application/json", b"", EMPTY),
        ("application/x-www-form-urlencoded", b"a=1", PAIRS),
        ("application/x-www-form-urlencoded", b"a=%", BYTES),
        ("application/x-www-form-urlencoded", b"", EMPTY),
        ("multipart/form-data; boundary=b", b"--b\r\n\r\nx\r\n--b--", PARTS),
        ("multipart/form-data; boundary=b", b"--c\r\n\r\nx\r\n--c--", BYTES),
    ],
)
def test_a_body_is_read_as_its_type_says(kind, body, word):
    assert typed(kind, body).word == word


def test_a_boundary_counts_only_where_it_could_not_be_taken_out():
    body = b"--b\r\nContent-Type: application/json\r\n\r\n{ }\r\n--b--\r\n"
    headers, found = form(body, ("Content-Type", "multipart/form-data; boundary=b"))
    assert headers == ((b"content-type", b"multipart/form-data"),)
    other = body.replace(b"--b", b"--other").replace(b"{ }", b"{}")
    assert form(other, ("Content-Type", "multipart/form-data; boundary=other")) == (headers, found)
    headers, _ = form(body + b"x", ("Content-Type", "multipart/form-data; boundary=b"))
    assert headers == ((b"content-type", b"multipart/form-data; boundary=b"),)


def test_a_part_of_another_kind_or_content_is_another_body():
    def one(kind, content):
        body = f"--b\r\nContent-Type: {kind}\r\n\r\n{content}\r\n--b--".encode()
        return form(body, ("Content-Type", "multipart/mixed; boundary=b"))[1].digest

    assert len({one("application/json", "{}"), one("text/html", "{}"), one("application/json", "[]")}) == 3
    assert one("text/html", "{}") != one("text/html", "{ }")


def test_parts_within_parts_are_read_to_a_depth():
    def nested(names):
        body, kind = b"end", b"text/html"
        for name in names:
            body = b"--%s\r\nContent-Type: %s\r\n\r\n%s\r\n--%s--" % (name, kind, body, name)
            kind = b"multipart/mixed; boundary=" + name
        return typed(kind.decode(), body).digest

    assert nested([b"a", b"b", b"c"]) == nested([b"x", b"y", b"z"])
    assert nested([b"a", b"b", b"c", b"d"]) != nested([b"x", b"b", b"c", b"d"])


def test_a_packed_body_counts_as_what_it_holds():
    packed = form(
        gzip.compress(b'{"a": 1}'), ("Content-Type", "application/json"), ("Content-Encoding", "gzip")
    )
    assert packed == form(b'{"a":1.0}', ("Content-Type", "application/json"))
    headers, found = form(b'{"a": 1}', ("Content-Type", "application/json"), ("Content-Encoding", "gzip"))
    assert (found.word, found.body) == (BYTES, b'{"a": 1}')
    assert (b"content-encoding", b"gzip") in headers


def test_two_types_make_bytes_of_a_body():
    assert form(b"{ }", ("Content-Type", "application/json"), ("content-type", "text/html"))[1].body == b"{ }"


def test_the_words_are_apart():
    assert len({EMPTY, JSON, PARTS, PAIRS, BYTES, bodyform.HASHED}) == 6


FORM = "application/x-www-form-urlencoded"
MULTIPART = 'multipart/form-data; boundary="b"'


def parts(**fields):
    """A multipart body with these fields."""
    head = '--b\r\nContent-Disposition: form-data; filename="csrf"; name="{}"\r\n\r\n{}\r\n'
    return "".join(head.format(name, value) for name, value in fields.items()).encode() + b"--b--\r\n"


@pytest.mark.parametrize(
    ("kind", "one", "other", "third"),
    [
        (FORM, b"a=1&csrf=2", b"csrf=3&a=1", b"a=2&csrf=2"),
        (FORM, b"a=1&cs%72f=2", b"a=1", b"a=1&csrf2=2"),
        (MULTIPART, parts(a="1", csrf="2"), parts(csrf="3", a="1"), parts(a="2", csrf="2")),
    ],
)
def test_a_field_that_is_ignored_does_not_count_and_every_other_does(kind, one, other, third):
    raw = (b"Content-Type", kind.encode())
    ignored = Ignored(form=frozenset((b"csrf",)))
    forms = [
        formed((raw,), counting((raw,), frozenset()), body, ignored, NO_MARKS) for body in (one, other, third)
    ]
    assert forms[0] == forms[1]
    assert forms[0] != forms[2]
    assert typed(kind, one) != typed(kind, other)
