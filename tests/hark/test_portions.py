"""Bytes in short pieces."""

import pytest

from hark.portions import GIVEN, portions


@pytest.mark.parametrize("size", [0, 1, GIVEN - 1, GIVEN, GIVEN + 1, 3 * GIVEN])
def test_the_pieces_are_short_and_together_the_bytes(size):
    data = bytes(range(256)) * (size // 256 + 1)
    pieces = list(portions(data[:size]))
    assert b"".join(pieces) == data[:size]
    assert max(map(len, pieces)) <= GIVEN
