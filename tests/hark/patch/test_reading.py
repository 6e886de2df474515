"""Mistakes in a patch's JSON are told with their place and what was likely meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import ForkError
from hark.patch.reading import MAX_PATCH, load

KNOWN = {"a": "a", "b": "b", "alpha": "a"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1,}', "p:1:8: is not JSON"),
        ('{\n  "a": 1\n  "b": 2}', "p:3:3: is not JSON: Expecting ',' delimiter"),
        ("{'a': 1}", "p:1:2: is not JSON"),
        ("{'a': 1}", "stand in double quotes"),
        ('{"a": 1} // why', "JSON has no comments"),
        ('{"a": "x\ny"}', r"a line break in a text is written as \n"),
        ("", "the file is empty"),
        ('{"a": 1, "b": 2,\n "a": 3}', 'p:2:2: "a" stands twice; keep one'),
        ('{"a": NaN}', "NaN is no number"),
        ("[" * 300 + "]" * 300, "nests more than 200 deep"),
        ("[" * 100_000, "is not JSON"),
        ('{"ü": "ü", "a" 1}', "p:1:16: is not JSON"),
    ],
)
def test_what_is_not_json_says_where(text, words):
    with pytest.raises(ForkError) as error:
        load(text.encode(), "p")
    assert words in str(error.value)


def test_bytes_that_are_no_text_say_where():
    with pytest.raises(ForkError, match="p:2:2: is not UTF-8"):
        load(b'{"a"\n: "\xff"}'.replace(b': "', b":"), "p")
    with pytest.raises(ForkError, match="is larger than"):
        load(b" " * (MAX_PATCH + 1), "p")


def test_a_mark_of_the_byte_order_is_no_mistake():
    assert load(b"\xef\xbb\xbf[1]", "p").value == [1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"alpha": 1}', 'p:1:2: "alpha" is no key of a patch; did you mean "a"?'),
        ('{"zzzzz": 1}', "known are a, b"),
        ("[]", "must be an object"),
        ('{"ev\\u001b[31m": 1}', r"ev\e[31m"),
    ],
)
def test_an_unknown_key_has_its_place_and_the_likely_one(text, words):
    with pytest.raises(ForkError) as error:
        load(text.encode(), "p").members(KNOWN)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "read", "words"),
    [
        ("1", lambda node: node.string(), '"a" must be a text'),
        ('"\\ud800"', lambda node: node.string(), "surrogate"),
        ("true", lambda node: node.number(0, 9), "whole number from 0 to 9"),
        ("10", lambda node: node.number(0, 9), "whole number from 0 to 9"),
        ("1.5", lambda node: node.number(0, 9), "whole number from 0 to 9"),
        ("{}", lambda node: node.items(), "must be a list"),
    ],
)
def test_a_value_of_another_type_has_its_place(text, read, words):
    node = load(b'{\n "a": ' + text.encode() + b"}", "p").members(KNOWN)["a"]
    with pytest.raises(ForkError) as error:
        read(node)
    assert str(error.value).startswith("p:2:2: ")
    assert words in str(error.value)


def test_values_are_read_as_they_are():
    members = load(b'{"a": [1, "x"], "b": {"d": 1.0, "c": 2}}', "p").members(KNOWN)
    assert [members["a"].items()[0].number(0, 1), members["a"].items()[1].string()] == [1, "x"]
    assert members["b"].spelled() == b'{"c":2,"d":1}'
    assert members["a"].name == "a"


@given(st.binary(max_size=60) | st.text('{}[]",:01ae\\', max_size=40).map(str.encode))
def test_any_bytes_are_json_or_a_sentence(raw):
    try:
        load(raw, "p")
    except ForkError as error:
        words = str(error)
    else:
        words = "p:"
    assert words.startswith("p:")
