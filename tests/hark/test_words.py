"""The word list is part of every key's name, so it must not change."""

from blake3 import blake3

from hark.keys import BITS_A_WORD
from hark.words import WORDS


def test_the_list_is_sorted_distinct_and_as_long_as_its_bits():
    assert len(WORDS) == len(set(WORDS)) == 1 << BITS_A_WORD
    assert list(WORDS) == sorted(WORDS)
    assert all(word.isascii() and word.islower() and word.isalpha() and 3 <= len(word) <= 9 for word in WORDS)


def test_the_list_is_the_one_that_named_the_first_key():
    assert (
        blake3(" ".join(WORDS).encode()).hexdigest()
        == "315eac962a617f849cbe587a23e531b4156e6a10135c7037e3661f710f4c30a5"
    )
