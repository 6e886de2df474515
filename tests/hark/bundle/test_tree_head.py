import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import tree_head
from hark.errors import BundleError, HarkError
from tests.hark.bundle.bundles import OTHER_KEY, vectors

V = vectors("sth")
KEY = tree_head.SigningKey(bytes.fromhex(V["seed_hex"]))
HEAD = tree_head.sign(KEY, V["run_id"], V["leaf_count"], bytes.fromhex(V["root"]), int(V["signed_at"]))


def test_the_vector_is_signed_byte_for_byte():
    message = tree_head.signed_bytes(
        V["run_id"], V["leaf_count"], bytes.fromhex(V["root"]), int(V["signed_at"])
    )
    assert message.hex() == V["signed_bytes"]
    assert HEAD.public_key.hex() == V["public_key"]
    assert HEAD.signature.hex() == V["signature"]
    assert tree_head.encode_tree_head(HEAD).hex() == V["cbor"]
    assert tree_head.decode_tree_head(bytes.fromhex(V["cbor"])) == HEAD
    assert tree_head.signature_is_good(HEAD)


def test_key_files_are_those_of_the_vector_and_read_back():
    assert tree_head.public_key_to_pem(KEY.public_key) == V["public_pem"]
    assert tree_head.parse_public_key(V["public_pem"]).hex() == V["public_key"]
    assert tree_head.parse_public_key(V["public_key"]).hex() == V["public_key"]
    private = KEY.to_pem()
    assert private.startswith(f"-----BEGIN {V['key_file_pem_type']}-----\n")
    assert len(tree_head._from_pem(V["key_file_pem_type"], private)) == V["key_file_bytes_len"]
    assert tree_head.parse_signing_key(private).public_key == KEY.public_key
    assert tree_head.parse_public_key(private) == KEY.public_key


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": "another"},
        {"leaf_count": 18},
        {"root": bytes(32)},
        {"signed_at": 5},
        {"public_key": OTHER_KEY.public_key},
        {"public_key": b"\xff" * 32},
        {"public_key": b""},
        {"signature": bytes(64)},
        {"signature": b""},
        {"root": b""},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_change_to_a_tree_head_makes_its_signature_bad(change):
    assert not tree_head.signature_is_good(HEAD._replace(**change))


def test_a_private_key_file_whose_halves_disagree_is_refused():
    mixed = tree_head._to_pem(tree_head.PRIVATE_PEM, bytes.fromhex(V["seed_hex"]) + OTHER_KEY.public_key)
    with pytest.raises(BundleError, match="do not belong together"):
        tree_head.parse_signing_key(mixed)


@pytest.mark.parametrize(
    "text", ["", "zz", "ab", "-----BEGIN X-----\nAA==\n-----END X-----", "A" * 5000, "-" * 5000]
)
def test_what_is_no_key_is_refused_in_words(text):
    for parse in (tree_head.parse_public_key, tree_head.parse_signing_key):
        with pytest.raises(BundleError):
            parse(text)


def test_a_signing_key_does_not_show_its_secret():
    assert V["seed_hex"] not in repr(KEY)
    assert V["public_key"] in repr(KEY)


@given(st.binary(max_size=150))
def test_hostile_tree_heads_raise_nothing_but_ours(data):
    try:
        head = tree_head.decode_tree_head(data)
    except HarkError:
        return
    assert not tree_head.signature_is_good(head)


@pytest.mark.parametrize("gone", ["cryptography.hazmat.bindings._rust", None])
def test_signatures_are_checked_alike_by_the_short_way_and_the_promised_one(monkeypatch, gone):
    if gone:
        import cryptography.hazmat.primitives.asymmetric.ed25519  # noqa: F401 - before its inner module goes

        monkeypatch.setitem(sys.modules, gone, None)
    assert tree_head.signature_is_good(HEAD)
    assert not tree_head.signature_is_good(HEAD._replace(signed_at=5))
    assert not tree_head.signature_is_good(HEAD._replace(public_key=b"\xff" * 32))
