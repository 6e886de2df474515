import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import proof
from hark.bundle.mmr import Mmr
from hark.errors import BundleError, HarkError
from tests.hark.bundle.bundles import KEY, vectors
from tests.hark.bundle.test_mmr import leaves

WITH_PROOFS = [vector for vector in vectors("hash-mmr")["mmr"] if vector.get("proofs")]


def as_lists(one):
    return [[part.hex() for part in parts] for parts in (one.siblings, one.left_peaks, one.right_peaks)]


@pytest.mark.parametrize("vector", WITH_PROOFS, ids=lambda vector: str(vector["leaves"]))
def test_every_proof_of_the_vectors_is_built_and_checked(vector):
    all_leaves = leaves(vector["leaves"])
    assert len(vector["proofs"]) > 0
    for expected in vector["proofs"]:
        index = expected["leaf_index"]
        built = proof.build(iter(all_leaves), index, len(all_leaves))
        assert as_lists(built) == [expected[key] or [] for key in ("siblings", "left", "right")]
        given_hashes = [
            tuple(map(bytes.fromhex, expected[key] or [])) for key in ("siblings", "left", "right")
        ]
        assert (
            proof.root_of(proof.Proof(index, len(all_leaves), *given_hashes), all_leaves[index]).hex()
            == vector["root"]
        )


@given(st.integers(1, 130), st.data())
def test_a_proof_leads_to_the_root_and_to_no_other_leaf(count, data):
    index = data.draw(st.integers(0, count - 1))
    all_leaves = leaves(count)
    mmr = Mmr()
    for leaf in all_leaves:
        mmr.append(leaf)
    one = proof.build(all_leaves, index, count)
    assert proof.root_of(one, all_leaves[index]) == mmr.root()
    assert proof.root_of(one, bytes(32)) != mmr.root()


@pytest.mark.parametrize("part", ["siblings", "left_peaks", "right_peaks"])
def test_a_proof_of_the_wrong_shape_is_refused_before_hashing(part):
    one = proof.build(leaves(13), 9, 13)
    for wrong in (
        (*getattr(one, part), bytes(32)),
        getattr(one, part)[1:],
        (*getattr(one, part)[:-1], b"short"),
    ):
        with pytest.raises(BundleError, match=r"shape|32 bytes"):
            proof.root_of(one._replace(**{part: wrong}), leaves(13)[9])


@pytest.mark.parametrize(("seq", "count"), [(13, 13), (0, 0), (2**64 - 1, 5)])
def test_a_leaf_that_is_not_among_the_leaves_is_refused(seq, count):
    with pytest.raises(BundleError):
        proof.root_of(proof.Proof(seq, count, (), (), ()), bytes(32))


def test_too_few_leaves_are_refused():
    with pytest.raises(BundleError, match="fewer than 9"):
        proof.build(leaves(8), 3, 9)


def test_json_is_written_as_the_format_says():
    single = proof.ProofFile("RUN", b"l" * 32, b"r" * 32, proof.Proof(0, 1, (), (), ()))
    assert proof.to_json(single).splitlines() == [
        "{",
        '  "run": "RUN",',
        '  "seq": 0,',
        f'  "leaf_hash": "{"6c" * 32}",',
        f'  "root": "{"72" * 32}",',
        '  "leaf_count": 1,',
        '  "siblings": null,',
        '  "left_peaks": null,',
        '  "right_peaks": null',
        "}",
    ]


def test_json_reads_back_signed_and_unsigned():
    from hark.bundle.tree_head import sign

    one = proof.ProofFile("RUN", leaves(13)[9], b"r" * 32, proof.build(leaves(13), 9, 13))
    for file in (one, one._replace(tree_head=sign(KEY, "RUN", 13, b"r" * 32, 7))):
        assert proof.from_json(proof.to_json(file)) == file


def test_each_missing_or_wrong_part_of_a_proof_file_is_refused():
    good = json.loads(
        proof.to_json(proof.ProofFile("R", bytes(32), bytes(32), proof.build(leaves(13), 9, 13)))
    )
    for name in ("run", "seq", "leaf_hash", "root", "leaf_count"):
        with pytest.raises(BundleError, match="not a proof"):
            proof.from_json(json.dumps({key: value for key, value in good.items() if key != name}))
    for name in good:
        for wrong in (1.5, True, {"a": 1}, -1, ["00"]):
            with pytest.raises(BundleError, match="not a proof"):
                proof.from_json(json.dumps(good | {name: wrong}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("00" * 32),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
NAMES = [
    "run",
    "seq",
    "leaf_hash",
    "root",
    "leaf_count",
    "siblings",
    "left_peaks",
    "right_peaks",
    "tree_head",
]


@given(st.dictionaries(st.sampled_from(NAMES), JSON))
def test_hostile_proof_files_raise_nothing_but_ours(raw):
    try:
        file = proof.from_json(json.dumps(raw))
        proof.root_of(file.proof, file.leaf_hash)
    except HarkError:
        return
    assert set(raw) >= {"run", "seq", "leaf_hash", "root", "leaf_count"}


@given(st.binary(max_size=99))
def test_what_is_not_json_is_refused(data):
    with pytest.raises(BundleError):
        proof.from_json(b"[" * 60_000 if data == b"" else b"\x00" + data)
    with pytest.raises(BundleError):
        proof.from_json(b" " * (proof.MAX_PROOF_FILE + 1))
