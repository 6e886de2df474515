"""Where values stand in JSON text, and edits of what a string says."""

import json

from hypothesis import given
from hypothesis import strategies as st

from hark.patch import jsontext
from hark.patch.edits import Edit, edited
from hark.patch.jsontext import Literal
from tests.hark.patch.rig import json_values, texts


@given(json_values, st.booleans(), st.sampled_from([None, 2]))
def test_every_value_is_found_where_it_stands(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    for node in jsontext.nodes(text):
        inner = value
        for step in node.path:
            inner = inner[step]
        assert json.loads(text[node.start : node.end]) == inner
        assert node.begin <= node.start < node.end
    assert [node.path for node in jsontext.nodes(text)].count(()) == 1


@given(json_values)
def test_strings_are_all_values_that_are_and_no_names(value):
    def walk(inner):
        if isinstance(inner, str):
            yield inner
        for item in inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ():
            yield from walk(item)

    text = json.dumps(value).encode()
    found = [json.loads(text[node.start : node.end]) for node in jsontext.strings(text)]
    assert found == list(walk(value))


@given(texts, st.booleans(), st.integers(0, 20), st.integers(0, 20), texts)
def test_an_edit_of_what_a_string_says_is_one_of_how_it_is_written(text, ascii_only, one, other, new):
    written = json.dumps(text, ensure_ascii=ascii_only).encode()
    literal = Literal(written)
    assert literal.text == text.encode()
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    edit = Edit(len(text[:start].encode()), len(text[:end].encode()), new.encode())
    made = edited(written, [literal.raw(edit)])
    assert json.loads(made) == text[:start] + new + text[end:]


def test_escapes_outside_of_an_edit_keep_their_spelling():
    written = rb'"\u00fc \/ \ud83d\ude00 x\n"'
    literal = Literal(written)
    at = literal.text.index(b"x")
    assert edited(written, [literal.raw(Edit(at, at + 1, b'"'))]) == rb'"\u00fc \/ \ud83d\ude00 \"\n"'


def test_half_of_a_pair_keeps_its_bytes():
    literal = Literal(rb'"a\ud83d b"')
    assert literal.text == b"a\xed\xa0\xbd b"
    assert edited(rb'"a\ud83d b"', [literal.raw(Edit(5, 6, b"c"))]) == rb'"a\ud83d c"'


def test_what_is_no_object_or_list_has_no_value():
    assert jsontext.load(b'{"a": 1}') == {"a": 1}
    assert jsontext.load(b" [1]") == [1]
    for text in (b"", b'"text"', b"1", b"{", b'{"a":1,"a":2}', b"[" * 100_000, b'["\xff"]', b"[NaN]"):
        assert jsontext.load(text) is None


def test_a_string_of_megabytes_is_one_token():
    text = b'{"a":"' + b"x" * (8 << 20) + b'\\n","b":"y"}'
    assert [node.path for node in jsontext.strings(text)] == [("a",), ("b",)]


@given(json_values, st.booleans())
def test_indented_text_says_the_same(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    made = jsontext.indented(text)
    assert json.loads(made) == value
    assert made.decode() == json.dumps(value, ensure_ascii=ascii_only, indent=2)
    assert jsontext.indented(made) == made


def test_indented_text_spells_strings_and_numbers_as_they_were():
    assert jsontext.indented(rb'{"a":[1.0,"\u00fc\/"],"b":{},"c":[]}') == (
        b'{\n  "a": [\n    1.0,\n    "\\u00fc\\/"\n  ],\n  "b": {},\n  "c": []\n}'
    )
