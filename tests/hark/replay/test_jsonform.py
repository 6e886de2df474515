"""JSON by value: one spelling for one value, two for two, and what has no one meaning is not JSON."""

import json
import math
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.policy import jsonpath
from hark.replay.jsonform import MAX_DEPTH, MAX_NUMBER, NotJsonError, Raw, load, number, spell, without


def spelled(text: str | bytes) -> str:
    return spell(load(text.encode() if isinstance(text, str) else text)).decode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        # RFC 8785, appendix B
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_a_double_is_spelled_as_rfc_8785_has_it(bits, text):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert number(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_double_is_spelled_so_that_it_reads_back(value):
    assert float(number(value)) == value
    assert spelled(number(value)) == number(value)
    assert spelled(repr(value)) == number(value)


@pytest.mark.parametrize(
    "texts",
    [
        ("1", "1.0", "1e0", "10e-1", "1.000"),
        ("0", "-0", "0.0", "0e5", "-0.0e-7"),
        ("0.1", "0.10", "1e-1"),
        ("100000000000000000000", "1e20", "1.0E+20"),
        ("1e21", "1000000000000000000000"),
        ('{"b":1,"a":[true,null]}', ' { "a" : [ true , null ], "\\u0062": 1.0 }\n'),
        ('"é"', '"\\u00e9"', '"\\u00E9"'),
        ('"\\ud83d\\ude00"', '"\U0001f600"'),
        ('"\\/"', '"/"'),
    ],
)
def test_one_value_has_one_spelling(texts):
    assert len({spelled(text) for text in texts}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("9007199254740993", "9007199254740992"),
        ("1e400", "1e401"),
        ("0.1", "0.1000000000000000055511151231257827"),
        ("1", '"1"'),
        ("1", "true"),
        ("0", "false"),
        ("null", '"null"'),
        ("[]", "{}"),
        ('{"a":1}', '{"a":1,"b":null}'),
        ("[1,2]", "[2,1]"),
        ('"a"', '"a "'),
        ('"\\ud800"', '"\\udc00"'),
        ("1e-400", "0"),
        ("123456789012345678901234567890", "123456789012345678901234567891"),
    ],
)
def test_two_values_have_two_spellings(one, other):
    assert spelled(one) != spelled(other)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b'{"a":1}]junk', b'{"a":1} {}', b"[1,]", b"NaN", b"[Infinity]", b"-Infinity", b"01", b"+1",
        b"1.", b".5", b"'a'", b'"\x01"', b'"\\x41"', b"\xef\xbb\xbf{}", b"\xff", b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":2}',
        b"[" * 100_000, b'{"a":' * 100_000, "{}".encode("utf-16"), b'"\xed\xa0\x80"', b"tru", b"[1]\x00",
    ],
)  # fmt: skip
def test_what_has_no_one_meaning_is_not_json(text):
    with pytest.raises(NotJsonError):
        load(text)


def test_depth_is_bounded_by_our_own_count():
    load(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    load(b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH)
    for opened, closed in ((b"[", b"]"), (b'{"a":', b"}")):
        with pytest.raises(NotJsonError, match="nests more than 200 deep"):
            load(opened * (MAX_DEPTH + 1) + b"1" + closed * (MAX_DEPTH + 1))


def test_a_number_without_end_stands_as_its_text():
    text = "1" * (MAX_NUMBER + 1)
    assert load(text.encode()) == Raw(text)
    assert spelled(f"[{text},1e{text}]") == f"[{text},1e{text}]"
    assert spelled("9" * 100_000) == "9" * 100_000


def test_members_are_sorted_by_utf_16_as_rfc_8785_has_it():
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    text = json.dumps(dict.fromkeys(names, 0))
    assert list(json.loads(spelled(text))) == [
        "\r",
        "1",
        "\u0080",
        "\u00f6",
        "\u20ac",
        "\U0001f600",
        "\ufb33",
    ]


def test_control_characters_are_spelled_as_rfc_8785_has_them():
    assert (
        spelled('"\\u0000\\u001F\\u0008\\t\\n\\f\\r\\"\\\\\\u007f"')
        == '"\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\\x7f"'
    )


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def same(one, other):
    """Compare as values: numbers by value, truth values only with each other."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return Decimal(repr(one)) == Decimal(repr(other))
    return type(one) is type(other) and one == other


@given(VALUES, VALUES)
def test_spellings_are_equal_exactly_where_values_are(one, other):
    assert (spelled(json.dumps(one)) == spelled(json.dumps(other))) is same(one, other)


@given(VALUES, st.integers(0, 3))
def test_how_a_value_was_written_does_not_matter(value, indent):
    once = spelled(json.dumps(value))
    assert spelled(json.dumps(value, indent=indent, ensure_ascii=has_lone_surrogate(once))) == once
    assert spelled(escaped(once)) == once
    assert same(json.loads(once), value) or any(abs(x) > 2**53 for x in numbers(value))


def test_a_lone_surrogate_is_one_only_where_it_is_escaped():
    once = spelled('"\\ud800"')
    assert spelled(escaped(once)) == once == '"\ud800"'
    with pytest.raises(NotJsonError):
        load(once.encode("utf-8", "surrogatepass"))


def has_lone_surrogate(text):
    """Tell whether UTF-8 has no bytes for a text: such a value can only be written with escapes."""
    return any(0xD800 <= ord(letter) < 0xE000 for letter in text)


def escaped(text):
    """Write what UTF-8 has no bytes for as JSON escapes."""
    return "".join(f"\\u{ord(one):04x}" if has_lone_surrogate(one) else one for one in text)


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [found for item in value for found in numbers(item)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


@given(st.binary(max_size=60) | st.text('[]{}":,0123456789.eE+-truefalsn \\u\n', max_size=60).map(str.encode))
def test_any_bytes_are_json_or_a_sentence(data):
    try:
        value = load(data)
    except NotJsonError:
        return
    assert spell(load(spell(value))) == spell(value)


@pytest.mark.parametrize(
    ("paths", "left"),
    [
        (["$.a"], {"b": [{"id": 1, "x": 2}, {"id": 3}], "c": 4}),
        (["$.b[*].id"], {"a": 0, "b": [{"x": 2}, {}], "c": 4}),
        (["$.b[1]"], {"a": 0, "b": [{"id": 1, "x": 2}, None], "c": 4}),
        (["$.b[*]"], {"a": 0, "b": [None, None], "c": 4}),
        (["$.b[0].*"], {"a": 0, "b": [{}, {"id": 3}], "c": 4}),
        (["$.*"], {}),
        (
            ["$.a", "$.c", "$.none", "$.a.b", "$.b[9]", "$.b.id", "$[0]"],
            {"b": [{"id": 1, "x": 2}, {"id": 3}]},
        ),
    ],
)
def test_what_is_ignored_is_taken_out_and_nothing_else(paths, left):
    value = load(b'{"a":0,"b":[{"id":1,"x":2},{"id":3}],"c":4}')
    assert without(value, [jsonpath.read(path) for path in paths]) == left


def test_the_value_itself_cannot_be_ignored():
    assert without([1], [()]) == [1]


def test_infinity_is_no_number_that_is_spelled():
    assert math.isinf(float("1e999"))
    assert spelled("1e999") == "1e999"
