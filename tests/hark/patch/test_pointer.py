"""JSON Pointers, as RFC 6901 has them, on a text whose other bytes stay."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hark.errors import PatchError
from hark.patch import jsontext, pointer
from hark.patch.edits import edited
from hark.patch.jsontext import nodes
from tests.hark.patch.rig import json_values

RFC = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}
"""The example of RFC 6901, 5."""


def set_(text, where, new):
    return edited(text, [pointer.setting(text, json.loads(text), pointer.read(where), new)])


def remove(text, where):
    return edited(text, [pointer.removing(text, json.loads(text), pointer.read(where))])


@pytest.mark.parametrize(
    ("where", "value"),
    [("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3),
     ("/g|h", 4), ("/i\\j", 5), ('/k"l', 6), ("/ ", 7), ("/m~0n", 8)],
)  # fmt: skip
def test_the_examples_of_the_standard(where, value):
    made = json.loads(set_(json.dumps(RFC).encode(), where, b'"new"'))
    assert made != RFC
    assert "new" in (made["foo"] if where == "/foo/0" else made.values())
    assert pointer.has(RFC, pointer.read(where))
    assert len(json.dumps(json.loads(remove(json.dumps(RFC).encode(), where)))) < len(json.dumps(RFC))
    assert set_(b"[]", "", b"1") == b"1"
    del value


@pytest.mark.parametrize(
    ("text", "where", "made"),
    [
        (b'{ "a" : 1.0, "b": 2 }', "/a", b'{ "a" : N, "b": 2 }'),
        (b'{ "a" : 1.0 }', "/b", b'{ "a" : 1.0 ,"b":N}'),
        (b"{}", '/q"', b'{"q\\"":N}'),
        (b"[1, 2]", "/-", b"[1, 2,N]"),
        (b"[1, 2]", "/2", b"[1, 2,N]"),
        (b"[ ]", "/0", b"[ N]"),
        (b'{"a": {"b": [1]}}', "/a/b/0", b'{"a": {"b": [N]}}'),
        (b'{"0": 1}', "/0", b'{"0": N}'),
    ],
)
def test_a_value_is_set_and_nothing_else_is_touched(text, where, made):
    assert set_(text, where, b"N") == made
    assert pointer.has_room(json.loads(text), pointer.read(where))


@pytest.mark.parametrize(
    ("text", "where", "made"),
    [
        (b'{"a": 1, "b": 2, "c": 3}', "/a", b'{"b": 2, "c": 3}'),
        (b'{"a": 1, "b": 2, "c": 3}', "/b", b'{"a": 1, "c": 3}'),
        (b'{"a": 1, "b": 2, "c": 3}', "/c", b'{"a": 1, "b": 2}'),
        (b'{"z": 1, "a": {"b": 2}}', "/z", b'{"a": {"b": 2}}'),
        (b'{"a": 1}', "/a", b"{}"),
        (b"[1, [2, 3], 4]", "/1/0", b"[1, [3], 4]"),
        (b"[1, [2, 3], 4]", "/1", b"[1, 4]"),
        (b"[1 ]", "/0", b"[ ]"),
    ],
)
def test_a_value_is_removed_with_its_comma(text, where, made):
    assert remove(text, where) == made


@pytest.mark.parametrize(
    ("where", "words", "near"),
    [
        ("/mesages/0", '/mesages is not there: the body has "messages", "model"', "/messages"),
        ("/messages/7/text", "/messages/7 is not there: /messages is a list of 2, counted from 0", ""),
        ("/messages/00", "/messages is a list of 2", ""),
        ("/messages/-", "/messages is a list of 2", ""),
        ("/messages/0/txt", '/messages/0 has "text"', "/messages/0/text"),
        ("/model/x", "/model is no object and no list", ""),
        ("/nothing/like/it", 'the body has "messages", "model"', ""),
    ],
)
def test_a_pointer_that_leads_nowhere_says_how_far_it_leads(where, words, near):
    text = b'{"messages": [{"text": "a"}, {}], "model": "m"}'
    with pytest.raises(PatchError) as error:
        remove(text, where)
    assert words in error.value.what
    assert error.value.nearest == near
    assert not pointer.has(json.loads(text), pointer.read(where))


def test_a_value_cannot_be_set_in_what_is_not_there():
    for where in ("/a/b", "/l/2", "/l/x", "/s/x"):
        with pytest.raises(PatchError):
            set_(b'{"l": [1], "s": ""}', where, b"1")
        assert not pointer.has_room({"l": [1], "s": ""}, pointer.read(where))


@pytest.mark.parametrize("text", ["a", "$.a", "/~", "/~2", "/a~", "/x" * 65])
def test_what_is_no_pointer_says_why(text):
    with pytest.raises(pointer.PointerError):
        pointer.read(text)


def test_the_likely_pointer_is_named():
    with pytest.raises(pointer.PointerError, match="write /a"):
        pointer.read("$.a")


@given(json_values, st.integers(0, 50), json_values)
def test_what_is_set_is_there_and_what_is_removed_is_not(value, number, new):
    text = json.dumps(value, indent=1).encode()
    assume(jsontext.load(text) is not None)
    found = list(nodes(text))
    path = found[number % len(found)].path
    steps = pointer.read(pointer.written(path))
    made = json.loads(edited(text, [pointer.setting(text, value, steps, json.dumps(new).encode())]))
    assert at(made, path) == new
    if path:
        made = json.loads(edited(text, [pointer.removing(text, value, steps)]))
        inner = at(value, path[:-1])
        want = [*inner[: path[-1]], *inner[path[-1] + 1 :]] if isinstance(inner, list) else dict(inner)
        if isinstance(inner, dict):
            del want[path[-1]]
        assert at(made, path[:-1]) == want


def at(value, path):
    for step in path:
        value = value[step]
    return value
