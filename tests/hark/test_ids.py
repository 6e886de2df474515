import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark import ids

TIMES = st.integers(0, (1 << 48) * 1_000_000 - 1)


@given(TIMES, st.binary(min_size=10, max_size=10))
def test_an_id_is_26_characters_that_tell_time_and_randomness(now, random):
    one = ids.ulid(now, random)
    assert ids.is_ulid(one)
    number = 0
    for character in one:
        number = number * 32 + ids.ALPHABET.index(character)
    assert (number >> 80, (number & (1 << 80) - 1).to_bytes(10)) == (now // 1_000_000, random)


@given(TIMES, TIMES)
def test_later_ids_sort_later(one, other):
    early, late = sorted((one, other))
    assert ids.ulid(early, bytes(10)) <= ids.ulid(late, b"\xff" * 10)


def test_the_value_of_the_specification_is_made():
    assert ids.ulid(1_469_918_176_385 * 1_000_000, bytes(10)).startswith("01ARYZ6S41")


@pytest.mark.parametrize(("now", "random"), [(-1, bytes(10)), (1 << 80, bytes(10)), (0, bytes(9))])
def test_what_does_not_fit_is_refused(now, random):
    with pytest.raises(ValueError, match="ULID"):
        ids.ulid(now, random)


@pytest.mark.parametrize("text", ["", "8" + "0" * 25, "0" * 25, "I" + "0" * 25, "../../etc/passwd0000000000"])
def test_what_is_no_id_is_told_apart(text):
    assert not ids.is_ulid(text)
