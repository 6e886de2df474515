from hark.bundle.hashing import ZERO_HASH, chain_hash, content_hash, leaf_hash, node_hash
from tests.hark.bundle.bundles import vectors


def test_leaf_node_and_chain_are_those_of_the_vectors():
    seen = set()
    for vector in vectors("hash-mmr")["hash"]:
        raw = {key: bytes.fromhex(value) for key, value in vector.items() if key not in {"op", "seq", "kind"}}
        match vector["op"]:
            case "leaf":
                found = leaf_hash(vector["seq"], vector["kind"], raw["payload"])
            case "node":
                found = node_hash(raw["left"], raw["right"])
            case "chain":
                found = chain_hash(raw["prev"], raw["leaf"])
        assert found == raw["hash"]
        seen.add(vector["op"])
    assert seen == {"leaf", "node", "chain"}


def test_no_construction_can_stand_for_another():
    a, b = b"a" * 32, b"b" * 32
    assert node_hash(a, b) != chain_hash(a, b)
    assert node_hash(a, b) != node_hash(b, a)
    assert leaf_hash(0, 1, a) != leaf_hash(1, 0, a) != leaf_hash(0, 1, b)


def test_a_policy_is_hashed_as_leaf_zero_of_kind_zero():
    assert content_hash(b"x") == leaf_hash(0, 0, b"x") != ZERO_HASH
