import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import cbor
from hark.bundle.header import (
    Footer,
    Header,
    decode_footer,
    decode_header,
    decode_written_footer,
    encode_footer,
    encode_header,
)
from hark.errors import BundleError, HarkError
from tests.hark.bundle.bundles import vectors

BLOCKS = vectors("events")


@pytest.mark.parametrize("name", ["header_typical", "header_zero"])
def test_header_vectors_go_both_ways(name):
    data = bytes.fromhex(BLOCKS[name])
    assert encode_header(decode_header(data)) == data


def test_the_zero_header_is_the_header_without_arguments():
    assert encode_header(Header()).hex() == BLOCKS["header_zero"]


@pytest.mark.parametrize("name", ["footer_signed", "footer_unsigned"])
def test_footer_vectors_go_both_ways(name):
    data = bytes.fromhex(BLOCKS[name])
    footer = decode_written_footer(data)
    assert footer == decode_footer(data)
    assert encode_footer(footer) == data
    assert (footer.tree_head is None) == (name == "footer_unsigned")


def test_redacted_events_stand_under_key_32():
    data = encode_footer(Footer(3, b"r" * 32, b"c" * 32, redacted=(1, 2)))
    assert cbor.decode(data)[32] == [1, 2]
    assert decode_written_footer(data).redacted == (1, 2)


def test_later_additions_from_32_on_are_skipped_but_a_key_missing_below_is_not():
    raw = cbor.decode(bytes.fromhex(BLOCKS["footer_unsigned"]))
    assert decode_written_footer(cbor.encode(raw | {40: "later"})).leaf_count == 1
    for wrong in (raw | {7: 0}, {key: value for key, value in raw.items() if key != 6}):
        assert decode_footer(cbor.encode(wrong)).leaf_count == 1
        with pytest.raises(BundleError, match="not written as format 1 says"):
            decode_written_footer(cbor.encode(wrong))


@given(st.binary(max_size=200))
def test_hostile_blocks_raise_nothing_but_ours(data):
    for read in (decode_header, decode_footer, decode_written_footer):
        try:
            read(data)
        except HarkError:
            continue
        assert cbor.encode(cbor.decode(data)) == data
