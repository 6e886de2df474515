import pytest

from hark.anchor import stamp as module
from hark.anchor.jsonform import MalformedError
from hark.anchor.stamp import UnknownClockError, time_of
from tests.support.anchored import NOON, local, root_of, stamp


@pytest.fixture
def log(tmp_path):
    return local(tmp_path)


def test_a_stamp_says_when_and_whose_it_is(log):
    clocks = root_of(log).clocks
    assert time_of(stamp(log, b"m"), b"m", clocks) == (int(NOON.timestamp()), log.tsa_url)


def test_the_authority_is_found_among_others(log, tmp_path):
    others = root_of(local(tmp_path / "other")).clocks
    assert time_of(stamp(log, b"m"), b"m", (*others, *root_of(log).clocks))[1] == log.tsa_url


def test_a_stamp_over_something_else_or_with_a_bit_turned_is_malformed(log):
    made, clocks = stamp(log, b"m"), root_of(log).clocks
    with pytest.raises(MalformedError, match="not good"):
        time_of(made, b"n", clocks)
    with pytest.raises(MalformedError):
        time_of(made[:-1] + bytes([made[-1] ^ 1]), b"m", clocks)


def test_an_authority_that_is_not_named_is_unknown(log):
    with pytest.raises(UnknownClockError):
        time_of(stamp(log, b"m"), b"m", ())


@pytest.mark.parametrize("data", [b"", b"\x30", b"\x30\x80" * 500, bytes(module.MAX_STAMP + 1)])
def test_bytes_that_are_no_stamp_are_malformed(log, data):
    with pytest.raises(MalformedError):
        time_of(data, b"m", root_of(log).clocks)


@pytest.mark.slow
def test_every_cut_and_a_flip_in_every_byte_is_a_stamp_or_malformed(log):
    made, clocks = stamp(log, b"m"), root_of(log).clocks
    held = 0
    for at in range(len(made)):
        for data in (made[:at], made[:at] + bytes([made[at] ^ 0x55]) + made[at + 1 :]):
            try:
                held += time_of(data, b"m", clocks)[0] != int(NOON.timestamp())
            except (MalformedError, UnknownClockError):
                continue
    assert held == 0  # none says another time
