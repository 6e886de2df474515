"""A needle is found however the stream is cut, before its last byte passes, and nothing else is held up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediator.scan import HOLD_FROM, FoundError, Needles, StreamScan

SECRET = b"sk-real-0123456789"
NEEDLES = Needles({SECRET: "KEY", b"other-value": "OTHER"})


def passed(pieces: list[bytes]) -> bytes:
    scan = StreamScan(NEEDLES)
    out = b""
    try:
        for piece in pieces:
            out += scan.feed(piece)
        return out + scan.finish()
    except FoundError as found:
        raise FoundError(found.name) from AssertionError(out.decode("latin-1"))


@pytest.mark.parametrize("size", range(1, len(SECRET) + 3))
def test_a_needle_is_found_at_every_cut(size: int) -> None:
    stream = b"data: " + SECRET + b"\n\n"
    with pytest.raises(FoundError) as found:
        passed([stream[at : at + size] for at in range(0, len(stream), size)])
    assert found.value.name == "KEY"
    let_through = str(found.value.__cause__)
    assert SECRET[: HOLD_FROM + size] not in let_through.encode() or size >= len(SECRET)


@given(
    st.lists(
        st.sampled_from([b"s", b"sk-", b"sk-real-", SECRET[:10], b"\n", b"xx", b"other-valu"]), max_size=12
    )
)
def test_without_a_needle_every_byte_passes_in_order(pieces: list[bytes]) -> None:
    stream = b"".join(pieces)
    if any(needle in stream for needle in NEEDLES.names):
        with pytest.raises(FoundError):
            passed(pieces)
    else:
        assert passed(pieces) == stream


def test_a_piece_that_ends_in_no_beginning_passes_at_once() -> None:
    scan = StreamScan(NEEDLES)
    assert scan.feed(b"data: one\n\n") == b"data: one\n\n"
    assert scan.feed(b"ends in s") == b"ends in s"


def test_a_beginning_is_held_and_released_when_it_turns_out_otherwise() -> None:
    scan = StreamScan(NEEDLES)
    assert scan.feed(b"data sk-real") == b"data "
    assert scan.feed(b"ity") == b"sk-reality"


def test_a_beginning_at_the_end_of_the_stream_is_no_needle() -> None:
    scan = StreamScan(NEEDLES)
    assert scan.feed(b"sk-real-") == b""
    assert scan.finish() == b"sk-real-"


def test_a_needle_that_drips_in_byte_by_byte_stops_after_its_first_bytes() -> None:
    scan = StreamScan(NEEDLES)
    out = b"".join(scan.feed(SECRET[at : at + 1]) for at in range(len(SECRET) - 1))
    assert out == SECRET[: HOLD_FROM - 1]
    with pytest.raises(FoundError):
        scan.feed(SECRET[-1:])


def test_no_needles_cost_nothing_and_hold_nothing() -> None:
    scan = StreamScan(Needles({}))
    assert scan.feed(SECRET) == SECRET
    assert scan.finish() == b""
