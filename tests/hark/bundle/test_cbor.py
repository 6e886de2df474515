import cbor2
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hark.bundle import cbor
from hark.errors import BundleError, HarkError, RecordError

KEYS = st.integers(0, 2**64 - 1) | st.text(max_size=5)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.binary(max_size=40)
    | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.integers(0, 2**64 - 1), inner, max_size=5),
    max_leaves=20,
)


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max((1 + depth(item) for item in inner), default=0)


@given(VALUES)
def test_what_is_written_is_what_the_reference_encoder_writes_and_reads_back(value):
    assume(depth(value) <= cbor.MAX_DEPTH)
    written = cbor.encode(value)
    assert written == cbor2.dumps(value, canonical=True)
    assert cbor.decode(written) == value


@given(st.binary(max_size=200))
def test_any_bytes_decode_to_what_encodes_to_them_or_are_refused(data):
    try:
        value = cbor.decode(data)
    except HarkError:
        return
    assert cbor.encode(value) == data


@given(VALUES, st.data())
def test_every_prefix_and_every_trailing_byte_is_refused(value, data):
    written = cbor.encode(value)
    cut = data.draw(st.integers(0, len(written) - 1))
    for wrong in (written[:cut], written + b"\x00"):
        with pytest.raises(BundleError):
            cbor.decode(wrong)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("c24101", "a tag"),
        ("d81c00", "a tag"),
        ("f93c00", "a float"),
        ("fb3ff0000000000000", "a float"),
        ("f7", "undefined"),
        ("f820", "simple value"),
        ("5f4101ff", "indefinite"),
        ("9f01ff", "indefinite"),
        ("bf0101ff", "indefinite"),
        ("ff", "indefinite|float"),
        ("1801", "shortest"),
        ("190001", "shortest"),
        ("1a00000001", "shortest"),
        ("1b0000000000000001", "shortest"),
        ("580141", "shortest"),
        ("a201000100", "out of order or twice"),
        ("a202000100", "out of order or twice"),
        ("a1800000", "a map key"),
        ("a1a00000", "a map key"),
        ("a20100f500", "a map key"),
        ("a1f600", "a map key"),
        ("61ff", "not UTF-8"),
        ("0000", "follow the value"),
        ("", "middle"),
        ("1c", "indefinite"),
    ],
)
def test_what_deterministic_encoding_forbids_is_refused_in_words(data, why):
    with pytest.raises(BundleError, match=why):
        cbor.decode(bytes.fromhex(data))


@pytest.mark.parametrize("major", [0x5B, 0x7B, 0x9B, 0xBB])
@pytest.mark.parametrize("claim", [1 << 20, (1 << 32) + 1, (1 << 64) - 1])
def test_a_huge_claimed_length_is_refused_before_it_is_allocated(major, claim):
    with pytest.raises(BundleError, match=r"claims|shortest"):
        cbor.decode(bytes([major]) + claim.to_bytes(8) + b"\x00" * 10)


def test_nesting_is_bounded_so_the_stack_is_safe():
    with pytest.raises(BundleError, match="nested deeper"):
        cbor.decode(b"\x81" * 100_000 + b"\x00")
    assert cbor.decode(b"\x81" * cbor.MAX_DEPTH + b"\x00")


def test_the_number_of_items_is_bounded_so_memory_is_safe(monkeypatch):
    monkeypatch.setattr(cbor, "MAX_ITEMS", 10)
    assert cbor.decode(b"\x88" + b"\xf6" * 8)
    with pytest.raises(BundleError, match="more than 10 items"):
        cbor.decode(b"\x8a" + b"\xf6" * 10)


def test_text_that_is_no_unicode_is_escaped_and_not_refused():
    assert cbor.decode(cbor.encode("a\udcffb")) == "a\\udcffb"


@pytest.mark.parametrize(
    "value", [1.5, 1 << 64, -(1 << 64) - 1, object(), {1, 2}, {"\udcff": 1, "\\udcff": 2}]
)
def test_what_has_no_place_in_a_bundle_cannot_be_written(value):
    with pytest.raises(RecordError):
        cbor.encode(value)
