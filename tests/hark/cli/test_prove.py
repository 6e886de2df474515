"""Proofs on the command line: made from what verifies, and checked with their root's origin said."""

import json

import pytest

from hark import keys
from tests.hark.cli import sample
from tests.hark.cli.program import hark

PUBLIC = sample.KEY.public_key.hex()
ZEROS = "0" * 64
DENIED = str(sample.DENIED)


@pytest.fixture
def bundle(tmp_path):
    return sample.write(tmp_path / "a.hark")


@pytest.fixture
def proof(tmp_path, bundle):
    assert hark("prove", "-seq", DENIED, "-out", tmp_path / "p.json", bundle).code == 0
    return tmp_path / "p.json"


def edited(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path


def test_a_proof_is_printed_or_written_and_says_who_signed(bundle, proof):
    code, out, err = hark("prove", bundle, "-seq", DENIED)
    assert (code, out) == (0, proof.read_text())
    assert err == f"hark: the root is signed by {PUBLIC} ({keys.name(sample.KEY.public_key)})\n"
    assert list(json.loads(out))[:8] == [
        "run", "seq", "leaf_hash", "root", "leaf_count", "siblings", "left_peaks", "right_peaks"
    ]  # fmt: skip
    assert out.startswith('{\n  "run": ')


def test_a_proof_is_never_written_over_a_file(bundle, proof):
    before = proof.read_text()
    code, _, err = hark("prove", "-seq", "3", "-out", proof, bundle)
    assert (code, err) == (2, f"hark: {proof} exists, and hark overwrites nothing; name another file\n")
    assert proof.read_text() == before


def test_a_pinned_key_or_a_root_from_outside_proves_and_the_event_is_shown(proof):
    root = json.loads(proof.read_text())["root"]
    for words, origin in (
        (["-key", PUBLIC], "a key that you named"),
        (["-root", root, "-key", PUBLIC], "the root that you gave"),
    ):
        code, out, err = hark("prove", "-check", proof, *words)
        assert (code, err) == (0, "")
        assert out.startswith(f"PROVED: event 6 (EgressDecision), one of 13, is in run {sample.RUN_ID}\n")
        assert "event  DENIED 192.0.2.7" in out
        assert origin in out
        assert out.replace("\n", "").isprintable()


UNSHOWN = ", whose kind and content the proof does not show,"


def test_a_forged_kind_without_a_payload_is_never_named(proof):
    edited(proof, payload=None, kind=16)
    for words, said in (
        (["-key", PUBLIC], f"PROVED: event 6{UNSHOWN} one of 13, is in run {sample.RUN_ID}"),
        ([], f"UNVOUCHED: event 6{UNSHOWN} one of 13, is in run {sample.RUN_ID}"),
    ):
        code, out, _ = hark("prove", "-check", proof, *words)
        assert (code, out.splitlines()[0]) == (0, said)
        assert "RunEnd" not in out


def test_a_root_alone_proves_neither_a_run_nor_a_number_of_events(proof):
    record = json.loads(proof.read_text())
    edited(proof, run="another", tree_head=None)
    code, out, _ = hark("prove", "-check", proof, "-root", record["root"])
    claim = "that it is one of 13 in run another is the file's word"
    said = f"PROVED: event 6 (EgressDecision) is under your root; {claim}"
    assert (code, out.splitlines()[0]) == (0, said)
    edited(proof, payload=None)
    out = hark("prove", "-check", proof, "-root", record["root"]).out
    assert out.startswith(f"PROVED: what the file calls event 6{UNSHOWN} is under your root; {claim}\n")


def test_a_node_inside_the_tree_cannot_pass_for_an_event(tmp_path):
    from hark.bundle.hashing import node_hash

    five = sample.write(tmp_path / "five.hark", (*sample.EVENTS[:3], sample.EVENTS[-1]))
    record = json.loads(hark("prove", "-seq", "4", five).out)
    left, right = record["left_peaks"][0], record["leaf_hash"]
    assert node_hash(bytes.fromhex(left), bytes.fromhex(right)).hex() == record["root"]
    forged = {"seq": 0, "leaf_count": 2, "leaf_hash": left, "siblings": [right], "left_peaks": None}
    (tmp_path / "p.json").write_text(json.dumps({**record, **forged, "payload": None}))
    assert hark("prove", "-check", tmp_path / "p.json", "-key", PUBLIC).code == 1
    edited(tmp_path / "p.json", tree_head=None)
    out = hark("prove", "-check", tmp_path / "p.json", "-root", record["root"]).out
    assert out.startswith("PROVED: what the file calls event 0, whose kind and content")


def test_a_hostile_run_id_does_not_reach_the_terminal(tmp_path):
    hostile = "\x9b31m\u202e\x7f\x1b[2Jrun"
    events = (sample.EVENTS[0]._replace(run_id=hostile), *sample.EVENTS[1:])
    bundle = sample.write(tmp_path / "h.hark", events, run_id=hostile)
    code, out, err = hark("prove", "-seq", "1", "-out", tmp_path / "p.json", bundle)
    assert (code, out) == (0, "")
    code, printed, err = hark("prove", "-seq", "1", bundle)
    checked = hark("prove", "-check", tmp_path / "p.json").out
    for text in (printed, err, checked):
        assert text.isascii()
        assert text.replace("\n", "").isprintable()
    assert json.loads(printed)["run"] == json.loads((tmp_path / "p.json").read_text())["run"] == hostile


def test_whoever_makes_a_proof_without_a_payload_is_told(tmp_path, bundle):
    hark("redact", bundle, "-seq", DENIED, "-o", tmp_path / "r.hark")
    code, _, err = hark("prove", "-seq", DENIED, tmp_path / "r.hark")
    assert code == 0
    assert err.startswith(
        "hark: the proof does not show what event 6 says, nor its kind: its payload is redacted\n"
    )
    assert "redacted" not in hark("prove", "-seq", "5", tmp_path / "r.hark").err


def test_a_key_that_nobody_vouches_for_is_not_called_proof(proof):
    code, out, _ = hark("prove", "-check", proof)
    assert code == 0
    assert out.startswith("UNVOUCHED: ")
    assert "nobody vouches" in out


def test_a_root_that_comes_from_the_file_alone_proves_nothing(tmp_path):
    bundle = sample.write(tmp_path / "u.hark", key=None)
    code, _, err = hark("prove", "-seq", "6", "-out", tmp_path / "p.json", bundle)
    assert code == 0
    assert "the bundle is unsigned" in err
    code, out, _ = hark("prove", "-check", tmp_path / "p.json")
    assert code == 1
    assert out.startswith("NOT PROVED: ")
    assert "proves nothing about any run" in out
    assert hark("prove", "-check", tmp_path / "p.json", "-key", PUBLIC).code == 1
    root = json.loads((tmp_path / "p.json").read_text())["root"]
    assert hark("prove", "-check", tmp_path / "p.json", "-root", root).code == 0


@pytest.mark.parametrize(
    "words", [["-root", "0" * 64], ["-key", "0" * 64], ["-payload", __file__]], ids=["root", "key", "payload"]
)
def test_what_was_asked_for_and_does_not_hold_is_rejected(proof, words):
    code, out, _ = hark("prove", "-check", proof, *words)
    assert code == 1
    assert out.startswith(f"REJECTED: {proof}: ")


@pytest.mark.parametrize(
    "changes",
    [
        {"payload": "a0"}, {"kind": 10}, {"kind": 999}, {"payload": "zz"}, {"seq": 5}, {"run": "another"},
        {"root": ZEROS}, {"leaf_hash": ZEROS}, {"siblings": None}, {"tree_head": "a0"}, {"leaf_count": 12},
    ],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_a_proof_that_was_edited_is_rejected(proof, changes):
    code, out, err = hark("prove", "-check", edited(proof, **changes), "-key", PUBLIC)
    assert (code, err) == (1, "")
    assert out.startswith("REJECTED: ")


def test_the_payload_from_outside_is_compared_with_the_leaf(tmp_path, proof):
    payload = tmp_path / "payload"
    payload.write_bytes(bytes.fromhex(json.loads(proof.read_text())["payload"]))
    edited(proof, payload=None)
    assert "event  not shown" in hark("prove", "-check", proof, "-key", PUBLIC).out
    code, out, _ = hark("prove", "-check", proof, "-key", PUBLIC, "-payload", payload)
    assert code == 0
    assert "event  DENIED 192.0.2.7" in out
    payload.write_bytes(payload.read_bytes() + b"x")
    assert hark("prove", "-check", proof, "-key", PUBLIC, "-payload", payload).code == 1


def test_nothing_is_proved_from_a_broken_bundle_not_even_a_good_event(tmp_path, bundle):
    bundle.write_bytes(bundle.read_bytes().replace(b"192.0.2.7", b"192.0.2.8", 1))
    code, out, err = hark("prove", "-seq", "1", "-out", tmp_path / "p.json", bundle)
    assert (code, out) == (1, "")
    assert "event 5 (EgressAttempt" in err
    assert not (tmp_path / "p.json").exists()


def test_nothing_is_proved_from_a_killed_run(tmp_path):
    sample.opened(tmp_path / "k.hark").close()
    assert hark("prove", "-seq", "1", tmp_path / "k.hark").code == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "hark prove needs -seq N and a BUNDLE, or -check FILE"),
        (["x.hark"], "hark prove needs -seq N, the number of the event"),
        (["-seq", "1", "-root", "00", "x.hark"], "-root goes only with -check FILE"),
        (["-check", "p", "-seq", "1"], "-seq does not go with -check"),
        (["-check", "p", "x.hark"], "-check needs the proof alone, and no use is made of x.hark"),
        (["-check", "p", "-root", "12"], "-root needs 64 hex digits, not '12'"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(words, sentence):
    assert hark("prove", *words) == (2, "", f"hark: {sentence}\n")


def test_an_event_that_is_not_there_is_a_usage_error(bundle):
    code, _, err = hark("prove", "-seq", "13", bundle)
    assert code == 2
    assert "no event 13" in err


def test_the_callers_own_key_is_vouched_for_by_the_caller(tmp_path, proof):
    (tmp_path / "config" / "hark").mkdir(parents=True)
    keys.create_public(str(tmp_path / "config" / "hark" / "signing.key.pub"), sample.KEY.public_key)
    code, out, _ = hark("prove", "-check", proof, env={"XDG_CONFIG_HOME": str(tmp_path / "config")})
    assert (code, out.split(":")[0], "your own key" in out) == (0, "PROVED", True)
