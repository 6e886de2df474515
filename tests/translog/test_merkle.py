"""The log's tree: the RFC's recursion against its own iterative checks, and sigstore's."""

import pytest
from sigstore._internal import merkle as theirs

from demo.translog import merkle

LEAVES = [merkle.leaf_hash(bytes([number])) for number in range(33)]


def test_paths_lead_to_the_root_by_sigstores_reckoning():
    for count in range(1, 34):
        leaves = LEAVES[:count]
        for index in range(count):
            path = merkle.path(index, leaves)
            inner, border = theirs._decomp_inclusion_proof(index, count)
            assert len(path) == inner + border
            middle = theirs._chain_inner(leaves[index], path[:inner], index)
            assert theirs._chain_border_right(middle, path[inner:]) == merkle.root(leaves)


def test_every_tree_goes_on_from_every_smaller_one_and_from_no_other():
    for size in range(1, 34):
        root = merkle.root(LEAVES[:size])
        for old in range(size + 1):
            proof = merkle.consistency(old, LEAVES[:size])
            old_root = merkle.root(LEAVES[:old])
            assert merkle.consistent(old, size, old_root, root, proof)
            if old:
                assert not merkle.consistent(old, size, bytes(32), root, proof)
                assert not merkle.consistent(old, size, old_root, bytes(32), proof)
            assert not merkle.consistent(old, size, old_root, root, [*proof, bytes(32)])
            if proof:
                assert not merkle.consistent(old, size, old_root, root, proof[:-1])


@pytest.mark.parametrize("old", [0, 5])
def test_a_larger_old_tree_or_a_proof_from_nothing_is_refused(old):
    assert not merkle.consistent(9, 5, bytes(32), bytes(32), [bytes(32)])
    assert not merkle.consistent(0, 5, merkle.root([]), merkle.root(LEAVES[:5]), [bytes(32)])
