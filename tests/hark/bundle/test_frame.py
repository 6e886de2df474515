import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import frame
from hark.errors import BundleError, HarkError

FRAMES = st.builds(
    frame.Frame,
    kind=st.integers(0, 255),
    seq=st.integers(0, 2**64 - 1),
    time=st.integers(0, 2**64 - 1),
    chain=st.binary(min_size=32, max_size=32),
    payload=st.binary(max_size=100),
    leaf=st.binary(min_size=32, max_size=32),
)


@given(FRAMES, st.binary(max_size=9))
def test_a_frame_reads_back_whole_after_other_bytes_and_before_trailing_ones(one, around):
    data = frame.pack(one)
    assert len(data) == one.size
    assert frame.unpack(around + data + around, len(around)) == one


@given(FRAMES)
def test_fed_byte_by_byte_a_frame_is_none_until_its_last_byte(one):
    data = frame.pack(one)
    assert all(frame.unpack(data[:end]) is None for end in range(len(data)))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_none_or_a_bundle_error(data):
    try:
        found = frame.unpack(data)
    except HarkError:
        return
    assert found is None or frame.pack(found) == data[: found.size]


@pytest.mark.parametrize("length", [frame.MAX_PAYLOAD + 1, 0xFFFF_FFFF])
def test_a_claim_over_64_mib_is_refused_before_anything_is_read_for_it(length):
    with pytest.raises(BundleError, match="format 1 allows 67108864"):
        frame.unpack(frame.FRAME_HEAD.pack(length, 1, 0, 0, bytes(32)))


def test_a_payload_over_64_mib_is_not_packed():
    with pytest.raises(BundleError):
        frame.pack(frame.Frame(1, 0, 0, bytes(32), bytes(frame.MAX_PAYLOAD + 1), bytes(32)))


def test_the_sealed_part_is_kind_seq_and_time():
    data = frame.pack(frame.Frame(7, 258, 513, bytes(32), b"", bytes(32)))
    assert data[frame.SEALED_PART] == b"\x07" + (258).to_bytes(8) + (513).to_bytes(8)
