"""The local witness, asked as the specification says, by nothing of hark's."""

import json
import urllib.error
import urllib.request

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from demo.translog import merkle, notes, witness

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
ORIGIN = "log.example/a"
LEAVES = [merkle.leaf_hash(bytes([number])) for number in range(12)]
OTHERS = [merkle.leaf_hash(b"other"), *LEAVES[1:]]


@pytest.fixture
def one(tmp_path):
    logs = [notes.verifier_key(ORIGIN, notes.ED25519, notes.raw(KEY))]
    with witness.witnessing(tmp_path, logs=logs, runs=[notes.raw(KEY)], clock=lambda: 1_700_000_000) as one:
        yield one


def checkpoint(size, origin=ORIGIN, key=KEY, leaves=LEAVES):
    root = merkle.root(leaves[:size])
    return notes.checkpoint(notes.ed25519_signer(origin, key), origin, size, root)


def ask(one, old, signed, proof=()):
    lines = "".join(f"{notes.b64(node)}\n" for node in proof)
    request = urllib.request.Request(f"{one.url}/add-checkpoint", f"old {old}\n{lines}\n{signed}".encode())
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode(), answer.headers["content-type"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers["content-type"]


def test_a_log_that_goes_on_is_cosigned_each_time(one):
    for old, size in ((0, 3), (3, 8), (8, 8), (8, 12)):
        status, said, _ = ask(one, old, checkpoint(size), merkle.consistency(old, LEAVES[:size]))
        text = checkpoint(size).partition("\n\n")[0] + "\n"
        assert (status, said) == (200, notes.cosign(one.name, one._key, text, 1_700_000_000))


def test_a_log_that_does_not_go_on_is_refused_and_nothing_is_remembered_of_it(one):
    assert ask(one, 0, checkpoint(5))[0] == 200
    proof = merkle.consistency(5, LEAVES[:9])
    assert ask(one, 5, checkpoint(9, leaves=OTHERS), proof)[0] == 422
    assert ask(one, 5, checkpoint(9), proof[1:])[0] == 422
    assert ask(one, 5, checkpoint(5, leaves=OTHERS))[0] == 409
    assert ask(one, 5, checkpoint(9), proof)[0] == 200


def test_another_old_size_is_told_the_right_one(one):
    assert ask(one, 0, checkpoint(5))[0] == 200
    assert ask(one, 0, checkpoint(9)) == (409, "5\n", "text/x.tlog.size")
    assert ask(one, 9, checkpoint(5))[0] == 400


def test_strange_logs_and_keys_are_refused(one):
    stranger = Ed25519PrivateKey.generate()
    assert ask(one, 0, checkpoint(5, origin="log.example/b"))[0] == 404
    assert ask(one, 0, checkpoint(5, key=stranger))[0] == 403
    assert ask(one, 0, checkpoint(5, origin="hark/run/X"))[0] == 200
    assert ask(one, 0, checkpoint(5, origin="hark/run/Y", key=stranger))[0] == 403


@pytest.mark.parametrize("old", ["", "x", "-1", "00", "0 "])
def test_what_is_no_request_is_refused(one, old):
    assert ask(one, old, checkpoint(5))[0] == 400
    assert ask(one, 0, "nonsense")[0] == 400
    assert ask(one, 0, checkpoint(5), [bytes(32)] * 64)[0] == 400


def test_what_was_cosigned_outlives_the_witness(tmp_path):
    logs = [notes.verifier_key(ORIGIN, notes.ED25519, notes.raw(KEY))]
    with witness.witnessing(tmp_path, logs=logs) as one:
        assert ask(one, 0, checkpoint(5))[0] == 200
    with witness.witnessing(tmp_path, logs=logs) as again:
        assert again.vkey == one.vkey
        assert ask(again, 0, checkpoint(5, leaves=OTHERS))[0] == 409
    assert json.loads((tmp_path / "witness.json").read_text())[ORIGIN][0] == 5
