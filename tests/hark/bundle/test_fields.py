import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.bundle import cbor, fields
from hark.errors import BundleError, RecordError

SHAPES = {
    "TEXT": ("x", 1),
    "INT": (-1, True),
    "UINT": (1, -1),
    "BOOL": (True, 1),
    "BYTES": (b"x", "x"),
    "HASH": (b"x" * 32, b"x" * 31),
    "TEXTS": (("x",), ("x", 1)),
    "UINTS": ((1, 2), (1, "2")),
    "PAIRS": (((b"a", b"b"),), ((b"a", "b"),)),
    "TEXT_MAP": ({"a": "b"}, {"a": 1}),
    "HASH_MAP": ({"a": b"h" * 32}, {"a": b"h"}),
    "COUNTS": ({1: 2}, {"1": 2}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_takes_its_own_values_and_refuses_others_both_ways(name):
    good, bad = SHAPES[name]
    layout = {1: getattr(fields, name)}
    raw = fields.dump("thing", layout, (good,))
    assert fields.load("thing", layout, raw) == [good]
    with pytest.raises(RecordError, match="thing: the value for key 1"):
        fields.dump("thing", layout, (bad,))
    with pytest.raises(BundleError, match="thing: key 1 is not"):
        fields.load("thing", layout, {1: bad})


@pytest.mark.parametrize("name", SHAPES)
def test_missing_and_null_read_as_the_zero_value(name):
    shape = getattr(fields, name)
    assert fields.load("thing", {1: shape}, {}) == fields.load("thing", {1: shape}, {1: None}) == [shape.zero]


@pytest.mark.parametrize(
    "name", ["BYTES", "HASH", "TEXTS", "UINTS", "PAIRS", "TEXT_MAP", "HASH_MAP", "COUNTS"]
)
def test_empty_is_written_as_null_unless_it_was_read_as_empty(name):
    shape = getattr(fields, name)
    assert fields.dump("thing", {1: shape}, (shape.zero,)) == {1: None}
    empty = type(shape.given())(shape.zero) if name == "BYTES" else shape.given()
    [read] = fields.load("thing", {1: shape}, {1: empty})
    assert read == shape.zero
    assert fields.dump("thing", {1: shape}, (read,)) == {1: empty}


def test_additions_are_written_only_when_set():
    layout = {1: fields.TEXT, 32: fields.HASH, 33: fields.TEXT}
    assert fields.dump("thing", layout, ("", b"", "")) == {1: ""}
    assert fields.dump("thing", layout, ("", b"h" * 32, "x")) == {1: "", 32: b"h" * 32, 33: "x"}


def test_what_is_not_a_map_of_integer_keys_is_refused():
    for raw in ([], 1, None, {"1": 1}, {True: 1}):
        with pytest.raises(BundleError):
            fields.load("thing", {1: fields.TEXT}, raw)


@given(st.dictionaries(st.integers(-5, 99), st.none() | st.integers() | st.text() | st.binary(), max_size=6))
def test_unknown_keys_are_skipped_and_nothing_but_a_bundle_error_comes_out(raw):
    try:
        values = fields.load("thing", {1: fields.TEXT, 2: fields.BYTES}, raw)
    except BundleError:
        return
    assert values == [raw.get(1) or "", raw.get(2) or b""]


VALUES = {name: st.sampled_from((good, getattr(fields, name).zero)) for name, (good, _) in SHAPES.items()}


@given(st.data(), st.lists(st.sampled_from(sorted(SHAPES)), min_size=1, max_size=6), st.integers(1, 40))
def test_a_plan_writes_what_the_map_would_be_encoded_to(data, names, first):
    layout = {key: getattr(fields, name) for key, name in enumerate(names, first)}
    values = tuple(data.draw(VALUES[name]) for name in names)
    given_empty = tuple(
        data.draw(st.sampled_from((value, shape.given()))) if shape.given and not value else value
        for value, shape in zip(values, layout.values(), strict=True)
    )
    for some in (values, given_empty):
        plan = fields.Plan("thing", layout)
        raw = fields.dump("thing", layout, some)
        assert plan.payload(some) == cbor.encode(raw)
        assert plan.payload(some, (cbor.encode(99), cbor.encode(b"s"))) == cbor.encode(raw | {99: b"s"})


ANY_TEXT = st.text(max_size=4) | st.sampled_from(["\ud800", "\\ud800", "n" * 255, "n" * 256, "\xe9" * 200])
ANY_BYTES = st.binary(max_size=4) | st.sampled_from([bytes(32), bytes(255), bytes(256), bytes(70_000)])
ANY = (
    st.booleans()
    | st.integers(-(1 << 65), 1 << 65)
    | st.sampled_from([255, 256, (1 << 16) - 1, 1 << 16, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63])
    | ANY_TEXT
    | ANY_BYTES
    | st.dictionaries(ANY_TEXT | st.integers(0, 9), ANY_TEXT | ANY_BYTES, max_size=4)
    | st.lists(st.tuples(ANY_BYTES, ANY_BYTES | ANY_TEXT) | ANY_TEXT, max_size=3).map(tuple)
)


@settings(max_examples=1000)
@given(st.sampled_from(sorted(SHAPES)), ANY, st.sampled_from((1, 40)))
def test_a_plan_writes_or_refuses_any_value_as_the_map_is(name, value, key):
    layout = {key: getattr(fields, name)}
    try:
        expected = cbor.encode(fields.dump("thing", layout, (value,)))
    except RecordError as error:
        with pytest.raises(RecordError, match=re.escape(str(error))):
            fields.Plan("thing", layout).payload((value,))
    else:
        assert fields.Plan("thing", layout).payload((value,)) == expected


@pytest.mark.parametrize("name", SHAPES)
def test_a_plan_refuses_what_the_map_refuses(name):
    plan = fields.Plan("thing", {1: getattr(fields, name)})
    with pytest.raises(RecordError, match="thing: the value for key 1"):
        plan.payload((SHAPES[name][1],))
    with pytest.raises(ValueError, match="zip"):
        plan.payload(())


def test_a_plan_takes_only_keys_in_the_order_in_which_they_are_written():
    with pytest.raises(ValueError, match="order"):
        fields.Plan("thing", {2: fields.TEXT, 1: fields.TEXT})
