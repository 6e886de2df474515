"""Places that belong together in two sequences, against a longest common subsequence by the book."""

import random
import time
from itertools import pairwise

import pytest

from hark.diff.order import MAX_EDITS, Effort, gaps, matched


def longest(one, other):
    """Return the length of a longest common subsequence, by the quadratic table."""
    row = [0] * (len(other) + 1)
    for item in one:
        before = 0
        for at, wanted in enumerate(other, 1):
            before, row[at] = row[at], before + 1 if item == wanted else max(row[at], row[at - 1])
    return row[-1]


def is_common(one, other, pairs):
    ascending = all(x < v and y < w for (x, y), (v, w) in pairwise(pairs))
    return ascending and all(one[x] == other[y] for x, y in pairs)


@pytest.mark.parametrize("seed", range(200))
def test_few_edits_leave_a_longest_common_subsequence(seed):
    draw = random.Random(seed)
    one = [draw.choice("abcd") for _ in range(draw.randrange(30))]
    other = [draw.choice("abcd") for _ in range(draw.randrange(30))]
    pairs = matched(one, other)
    assert is_common(one, other, pairs)
    assert len(pairs) == longest(one, other)


def test_sequences_too_unlike_for_that_are_paired_by_occurrence():
    draw = random.Random(1)
    one = list(range(3 * MAX_EDITS))
    other = draw.sample(one, len(one))
    pairs = matched(one, other)
    assert is_common(one, other, pairs)
    assert len(pairs) > 20


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_hostile_sequence_costs_no_square(shuffle):
    one = [number % 7 for number in range(100_000)]
    other = [number % 5 for number in range(100_000)]
    if shuffle:
        random.Random(2).shuffle(other)
    began = time.process_time()
    assert is_common(one, other, matched(one, other))
    assert time.process_time() - began < 20


def test_what_lies_between_the_pairs_is_all_of_the_rest():
    pairs = matched("abcxd", "abyycd")
    assert pairs == [(0, 0), (1, 1), (2, 4), (4, 5)]
    assert gaps(pairs, 5, 6) == [(range(2, 2), range(2, 4)), (range(3, 4), range(5, 5))]
    assert gaps([], 2, 0) == [(range(2), range(0))]


def test_a_long_chain_that_is_undone_from_its_begin_costs_no_square():
    size = 60_000
    one = [*range(size, 2 * size), *range(size)]
    other = [*range(size - 1, -1, -1), *range(size, 2 * size)]
    began = time.process_time()
    pairs = matched(one, other)
    assert is_common(one, other, pairs)
    assert len(pairs) == size
    assert time.process_time() - began < 5


def test_what_is_spent_ends_for_all_comparisons_of_a_command():
    one, other = ["a"] * 1000, ["b", "a"] * 500
    effort = Effort(200_000)
    while not effort.spent:
        before = effort.left
        matched(one, other, effort)
        if effort.left == before:
            break
    assert effort.left < 2000
    assert matched(one, one, effort) == [(at, at) for at in range(1000)]
