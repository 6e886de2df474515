"""What threads read when they asked the real clock again, from the log to the bundle and back."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle.events import ClockLog
from hark.errors import BundleError
from hark.replay import clocklog

A, B = b"a" * 16, b"b" * 16


def record(lineage: bytes, index: int, value: int) -> bytes:
    return struct.pack("<16sQQ", lineage, index, value)


def test_records_are_sorted_and_the_first_of_each_counts():
    logged = record(B, 1, 5) + record(A, 2, 7) + record(A, 1, 6) + record(B, 1, 9) + record(A, 3, 0) + b"torn"
    assert clocklog.settle(logged) == record(A, 1, 6) + record(A, 2, 7) + record(B, 1, 5)


@given(
    st.lists(st.tuples(st.binary(min_size=16, max_size=16), st.integers(0, 2**64 - 1), st.integers(1, 99)))
)
def test_what_is_packed_comes_back(rows: list[tuple[bytes, int, int]]) -> None:
    records = clocklog.settle(b"".join(record(*row) for row in rows))
    assert clocklog.unpack(clocklog.events(records)) == records


def test_a_long_log_stands_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocklog, "_PART_BYTES", 10)
    parts = list(clocklog.events(record(A, 1, 6)))
    assert len(parts) > 1
    assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert clocklog.unpack(parts) == record(A, 1, 6)
    with pytest.raises(BundleError, match="breaks off"):
        clocklog.unpack(parts[:-1])


def test_pieces_come_together_and_the_first_of_each_counts():
    pieces = [record(B, 1, 5), record(A, 1, 6) + record(B, 2, 7), record(B, 1, 9)]
    parts = [part for piece in pieces for part in clocklog.events(piece)]
    assert clocklog.unpack(parts) == record(A, 1, 6) + record(B, 1, 5) + record(B, 2, 7)


def test_of_a_bundle_that_breaks_off_whole_pieces_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocklog, "_PART_BYTES", 10)
    parts = [*clocklog.events(record(A, 1, 6)), *clocklog.events(record(A, 2, 7))][:-1]
    with pytest.raises(BundleError, match="breaks off"):
        clocklog.unpack(parts)
    assert clocklog.unpack(parts, broken_off=True) == record(A, 1, 6)


def test_pieces_together_hold_no_more_than_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocklog, "MAX_BYTES", 70)
    parts = [part for number in range(3) for part in clocklog.events(record(A, number, 1))]
    with pytest.raises(BundleError, match="not a sorted log"):
        clocklog.unpack(parts)
    assert len(clocklog.unpack(parts[:2])) == 64


def test_what_is_not_written_yet_ends_what_is():
    assert clocklog.written(record(A, 1, 6) + record(A, 2, 0) + record(A, 3, 7)) == record(A, 1, 6)
    assert clocklog.written(record(A, 1, 6)) == record(A, 1, 6)
    assert clocklog.written(b"") == b""


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no zlib", "cannot be unpacked"),
        (zlib.compress(record(B, 1, 1) + record(A, 1, 1)), "not a sorted log"),
        (zlib.compress(record(A, 1, 1)) + b"more", "not a sorted log"),
        (zlib.compress(record(A, 1, 1))[:-3], "not a sorted log"),
        (zlib.compress(bytes(clocklog.MAX_BYTES + 64)), "not a sorted log"),
    ],
)
def test_a_hostile_log_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(BundleError, match=why):
        clocklog.unpack([ClockLog(data, last=True)])


def test_more_than_a_log_can_hold_is_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocklog, "MAX_BYTES", 50)
    with pytest.raises(BundleError, match="longer than"):
        clocklog.unpack(ClockLog(b"x" * 30) for _ in range(1000))


def test_the_shims_file_begins_with_its_magic_and_the_number_of_records():
    assert clocklog.replayed(record(A, 1, 6))[:16] == b"HARKCK1\0" + struct.pack("=Q", 1)
