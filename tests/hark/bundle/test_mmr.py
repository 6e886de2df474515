import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle.hashing import ZERO_HASH, leaf_hash
from hark.bundle.mmr import Mmr, fold, mountain, subtree
from hark.errors import BundleError
from tests.hark.bundle.bundles import vectors


def leaves(count):
    return [leaf_hash(index, 1, str(index).encode()) for index in range(count)]


@pytest.mark.parametrize("vector", vectors("hash-mmr")["mmr"], ids=lambda vector: str(vector["leaves"]))
def test_roots_are_those_of_the_vectors(vector):
    mmr = Mmr()
    for leaf in leaves(vector["leaves"]):
        mmr.append(leaf)
    assert mmr.root().hex() == vector["root"]


def test_no_leaves_have_the_zero_root():
    assert Mmr().root() == fold([]) == ZERO_HASH


@given(st.integers(0, 200), st.integers(0, 5))
def test_appending_whole_subtrees_is_appending_their_leaves(count, height):
    block = 1 << height
    all_leaves = leaves(count)
    one, other = Mmr(), Mmr()
    for leaf in all_leaves:
        one.append(leaf)
    whole = count - count % block
    for start in range(0, whole, block):
        other.append_tree(subtree(all_leaves[start : start + block]), height)
    for leaf in all_leaves[whole:]:
        other.append(leaf)
    assert (one.count, one.peaks) == (other.count, other.peaks)


def test_a_subtree_that_starts_in_the_middle_of_another_is_refused():
    mmr = Mmr()
    mmr.append(ZERO_HASH)
    with pytest.raises(ValueError, match="cannot start at leaf 1"):
        mmr.append_tree(ZERO_HASH, 1)


@given(st.integers(1, 1 << 40))
def test_only_as_many_peaks_are_kept_as_the_count_has_bits(count):
    start, height, position = mountain(count - 1, count)
    assert start + (1 << height) == count
    assert position == count.bit_count() - 1
    with pytest.raises(BundleError):
        mountain(count, count)
