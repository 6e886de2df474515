"""The tree under SHA-256, against the local log's, which has it in the words of RFC 6962."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.translog import merkle
from hark.bundle import sha256tree
from hark.errors import BundleError
from tests.hark.bundle.test_mmr import leaves

COUNTS = [1, 7, 8, 9, 16, 17, 24, 25, 63, 64, 65, 100, 129]


def entries(count):
    joined = b"".join(leaves(count))
    return [joined[at : at + 256] for at in range(0, len(joined), 256)]


def hashes(count):
    return [merkle.leaf_hash(entry) for entry in entries(count)]


def test_the_empty_tree_is_the_hash_of_nothing():
    assert sha256tree.Tree().root() == merkle.root([])


@pytest.mark.parametrize("count", COUNTS)
def test_the_root_is_that_of_the_rfc_and_asking_for_it_changes_nothing(count):
    tree = sha256tree.Tree()
    for at, leaf in enumerate(leaves(count), 1):
        tree.add(leaf)
        assert tree.root() == merkle.root(hashes(at))
    assert sha256tree.size_of(count) == len(entries(count))


@pytest.mark.parametrize("count", [8, 16, 64, 1024])
def test_a_perfect_subtree_has_the_root_of_its_entries(count):
    assert sha256tree.subtree(leaves(count)) == merkle.root(hashes(count))


@pytest.mark.parametrize("count", COUNTS)
def test_each_entry_has_the_path_of_the_rfc_which_leads_to_the_root(count):
    size = sha256tree.size_of(count)
    for index in range(size):
        entry, path = sha256tree.prove(leaves(count), index, size)
        assert entry == entries(count)[index]
        assert list(path) == merkle.path(index, hashes(count))
        assert sha256tree.root_of(entry, index, size, path) == merkle.root(hashes(count))


def test_a_path_of_another_shape_is_refused_before_it_is_hashed():
    entry, path = sha256tree.prove(leaves(100), 5, 13)
    for index, size, changed in (
        (5, 13, path[:-1]),
        (5, 13, (*path, path[0])),
        (12, 13, path),
        (13, 13, path),
        (-1, 13, path),
        (5, 13, (path[0][:-1], *path[1:])),
    ):
        with pytest.raises(BundleError):
            sha256tree.root_of(entry, index, size, changed)


@given(st.integers(1, 1 << 40), st.data())
def test_one_length_of_a_path_fits_each_place(size, data):
    index = data.draw(st.integers(0, size - 1))
    fits = 0
    for length in range(45):
        with contextlib.suppress(BundleError):
            sha256tree.root_of(b"", index, size, [bytes(32)] * length)
            fits += 1
    assert fits == 1


def test_no_log_is_larger_than_its_numbers():
    with pytest.raises(BundleError):
        sha256tree.root_of(b"", 0, 1 << 70, [bytes(32)] * 70)


def test_another_entry_or_hash_leads_elsewhere():
    entry, path = sha256tree.prove(leaves(100), 5, 13)
    root = sha256tree.root_of(entry, 5, 13, path)
    assert sha256tree.root_of(entry[::-1], 5, 13, path) != root
    assert sha256tree.root_of(entry, 4, 13, path) != root
    assert sha256tree.root_of(entry, 5, 13, (bytes(32), *path[1:])) != root
