"""Differences in words: the first one, where it is, and nothing where there is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle.events import LlmRequest
from hark.replay.canonical import canonical
from hark.replay.difference import SHOWN, common, of_bytes, of_fields, of_requests
from tests.support.steps import steps

HOSTILE = "\x1b[2J\u202e"


def request(body=b"", kind="application/json", path="/v1", *, method="POST", host="api.example", headers=()):
    raw = ((b"content-type", kind.encode()), *headers)
    return canonical(LlmRequest(host, method, path, {}, body, raw_headers=raw))


def said(one, other):
    return [str(found) for found in of_requests(one, other)]


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        ('{"a":[{"c":"hello"}]}', '{"a":[{"c":"help"}]}', "$.a[0].c differs at byte 3"),
        ('{"a":"x"}', '{"a":"xy"}', "$.a goes on at byte 1"),
        ('{"a":"xy"}', '{"a":"x"}', "$.a ends at byte 1"),
        ('{"a":"\u00e9x"}', '{"a":"\u00e9y"}', "$.a differs at byte 2"),
        ('{"a":"1\\n2\\n3"}', '{"a":"1\\n2\\n4"}', "$.a differs at byte 4 (line 3)"),
        ('{"a":1}', '{"a":2}', "$.a is 2 and was 1"),
        ('{"a":1}', '{"a":true}', "$.a is true or false and was a number"),
        ('{"a":1}', '{"a":1.5}', "$.a is 1.5 and was 1"),
        ('{"a":9007199254740993}', '{"a":1}', "$.a is 1 and was 9007199254740993"),
        ('{"a":{}}', '{"a":[]}', "$.a is a list and was an object"),
        ('{"a":null}', '{"a":""}', "$.a is a string and was null"),
        ('{"a":1}', "{}", "$.a is missing"),
        ("{}", '{"a b":1}', '$["a b"] is new'),
        ("[1]", "[1,2]", "$ has 2 items and had 1"),
        ("[1,2]", "[2]", "$[0] is 2 and was 1"),
        ("1", "2", "$ is 2 and was 1"),
        ("[false]", "[true]", "$[0] is true and was false"),
    ],
)
def test_json_differs_by_path(was, now, words):
    assert str(of_bytes("body", was.encode(), now.encode())) == words
    assert said(request(was.encode()), request(now.encode())) == [words]


def test_text_differs_by_byte_and_line():
    assert str(of_bytes("body", b"a\nb\nc", b"a\nb\nd")) == "body differs at byte 4 (line 3)"
    assert str(of_bytes("body", b"abc", b"ab")) == "body ends at byte 2"
    assert str(of_bytes("body", b"", b"ab")) == "body goes on at byte 0"
    assert str(of_bytes("body", b"[1", b"[1]")) == "body goes on at byte 2"
    assert of_bytes("body", b"x", b"x") is None


def test_json_of_one_value_that_was_written_otherwise_differs_by_byte():
    assert str(of_bytes("body", b"[1, 2]", b"[1,2]")) == "body differs at byte 3"


def test_what_is_around_a_body_is_named():
    base = request(b"{}")
    assert said(base, request(b"{}", method="PUT")) == ["method was POST and is PUT"]
    assert said(base, request(b"{}", host="b.example", path="/v2")) == [
        "host was api.example and is b.example",
        "path was /v1 and is /v2",
    ]
    assert said(request(path="/v1?a=1&b"), request(path="/v1?a=2&c")) == [
        "query a was 1 and is 2",
        "query b is missing; it was nothing",
        "query c is new: nothing",
    ]
    assert said(request(path="/v1?a=1&b=2"), request(path="/v1?b=2&a=1")) == [
        "query has the same names in another order"
    ]
    assert said(base, request(b"{}", headers=((b"X-A", b"1"), (b"X-A", b"2")))) == ["header x-a is new: 1, 2"]
    assert said(base, request(b"{", kind="application/json")) == ["body is bytes and was json"]
    long = b"v" * SHOWN
    (found,) = said(request(headers=((b"x", long + b"a"),)), request(headers=((b"x", long + b"b"),)))
    assert found == f"header x differs at byte {SHOWN}"


def test_forms_and_parts_are_named_by_number():
    form = "application/x-www-form-urlencoded"
    assert said(request(b"a=1&b=2", form), request(b"a=1&b=3", form)) == ["field 2 of the body differs"]
    assert said(request(b"a=1&b=2", form), request(b"a=1", form)) == ["body has 1 fields and had 2"]
    one, other = (b"--b\r\n\r\n%s\r\n--b--" % text for text in (b"x", b"y"))
    kind = "multipart/form-data; boundary=b"
    assert said(request(one, kind), request(other, kind)) == ["part 1 of the body differs"]


def test_a_body_that_is_not_held_differs_as_a_whole():
    one = request(b"{}")
    gone = [one._replace(form="hash", body=b"", size=5, digest=digest) for digest in (b"a" * 32, b"b" * 32)]
    assert said(*gone) == ["body has 5 bytes of other content; it had 5"]
    assert said(gone[0], gone[0]) == []


def test_whatever_is_said_is_safe_to_print():
    body = json.dumps({HOSTILE: HOSTILE}).encode()
    one = request(b"{}", headers=((HOSTILE.encode(), b"1"),), path="/?" + HOSTILE)
    other = request(
        body, headers=((b"x", HOSTILE.encode() + b"\xff"),), method=HOSTILE, host=HOSTILE, path=f"/{HOSTILE}"
    )
    for found in of_requests(one, other):
        assert all(part.isprintable() for part in found)
    assert len(list(of_requests(one, other))) == 7


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_what_two_texts_begin_with_is_counted(one, other):
    size = common(one, other)
    assert one[:size] == other[:size]
    assert size in (len(one), len(other)) or one[size] != other[size]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_there_is_a_difference_exactly_where_keys_differ(one, other):
    requests = [request(json.dumps(value).encode()) for value in (one, other)]
    assert bool(said(*requests)) is (requests[0].key != requests[1].key)


PAIRS = st.lists(st.tuples(st.binary(max_size=2), st.none() | st.binary(max_size=2)), max_size=4)


@given(PAIRS, PAIRS)
def test_lists_of_fields_differ_or_do_not(one, other):
    assert bool(list(of_fields("query", one, other))) is (one != other)


@pytest.mark.attack
def test_four_times_as_many_headers_are_four_times_the_work():
    def differing(count):
        was = [(b"x-%d" % number, b"1") for number in range(count)]
        now = [(name, b"2") for name, _ in was]
        return lambda: len(list(of_fields("header", was, now)))

    few, many = (steps(differing(count)) for count in (100, 400))
    assert few > 100
    assert many < few * 6
