import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.translog import merkle
from hark.anchor.inclusion import leaf_hash, root_of


def leaves(count):
    return [leaf_hash(b"%d" % number) for number in range(count)]


@pytest.mark.parametrize("size", range(1, 34))
def test_every_proof_of_another_hand_leads_to_its_root_and_no_other_index_does(size):
    hashed = leaves(size)
    assert hashed == [merkle.leaf_hash(b"%d" % number) for number in range(size)]
    for index in range(size):
        path = merkle.path(index, hashed)
        assert root_of(hashed[index], index, size, path) == merkle.root(hashed)
        for other in range(size):
            if other != index:
                try:
                    assert root_of(hashed[index], other, size, path) != merkle.root(hashed)
                except ValueError:
                    continue


@given(st.integers(1, 1 << 40), st.data())
def test_a_path_of_another_length_is_refused(size, data):
    index = data.draw(st.integers(0, size - 1))
    lengths = []
    for length in range(45):
        try:
            root_of(bytes(32), index, size, [bytes(32)] * length)
        except ValueError:
            continue
        lengths.append(length)
    assert len(lengths) == 1


@pytest.mark.parametrize(
    ("index", "size", "path"),
    [(1, 1, []), (-1, 1, []), (0, 0, []), (0, 2, [b"short"]), (0, 1 << 70, [bytes(32)] * 70)],
)
def test_what_is_no_place_and_what_is_no_hash_is_refused(index, size, path):
    with pytest.raises(ValueError, match=r"leaf|hash"):
        root_of(bytes(32), index, size, path)
