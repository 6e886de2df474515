import pytest

from hark.anchor import jsonform
from hark.anchor.jsonform import MalformedError

BAD = {
    "not-json": b"{",
    "list": b"[]",
    "name-twice": b'{"a": 1, "a": 1}',
    "name-twice-inside": b'{"a": {"b": 1, "b": 2}}',
    "fraction": b'{"a": 1.5}',
    "infinity": b'{"a": Infinity}',
    "not-utf8": b'{"a": "\xff"}',
    "deep": b'{"a":' * 100_000,
    "long-number": b'{"a": ' + b"9" * 100_000 + b"}",
    "empty": b"",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_what_is_no_strict_object_is_malformed(data):
    with pytest.raises(MalformedError):
        jsonform.load(data, "it")


def test_a_size_is_refused_before_it_is_parsed():
    with pytest.raises(MalformedError, match="larger than 3"):
        jsonform.load(b'{"a"', "it", 3)


def test_fields_have_their_type_or_are_malformed():
    value = {"n": 7, "s": "8", "t": True, "neg": -1, "big": 1 << 63, "x": "\N{SUPERSCRIPT TWO}", "b": "AAA="}
    assert (jsonform.number(value, "n"), jsonform.number(value, "s")) == (7, 8)
    assert jsonform.octets(value, "b") == b"\0\0"
    for name in ("t", "neg", "big", "x", "missing"):
        with pytest.raises(MalformedError):
            jsonform.number(value, name)
    for read in (jsonform.text, jsonform.child, jsonform.octets):
        with pytest.raises(MalformedError):
            read(value, "n")
    with pytest.raises(MalformedError, match="more than 1"):
        jsonform.children({"a": [{}, {}]}, "a", 1)


@pytest.mark.parametrize("text", ["AAB=", "AA", "A A=", "AAA=\n", "-_==", "é"])
def test_base64_of_another_spelling_is_malformed(text):
    with pytest.raises(MalformedError):
        jsonform.unbase64(text, "it")


def test_what_is_written_has_one_form():
    assert jsonform.dump({"b": "é", "a": [1]}) == '{"a":[1],"b":"é"}'.encode()
