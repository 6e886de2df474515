"""tlog-proofs on the command line."""

import pytest

from hark.bundle import note
from hark.bundle.note import Verifier
from tests.hark.cli import sample
from tests.hark.cli.program import hark

PUBLIC = sample.KEY.public_key.hex()
DENIED = str(sample.DENIED)
WITNESS = Verifier("w.example/1", note.COSIGNATURE, bytes(range(32))).text()


@pytest.fixture
def proof(tmp_path):
    bundle = sample.write(tmp_path / "a.hark")
    assert hark("prove", "--tlog", "-seq", DENIED, "-out", tmp_path / "p.tlog-proof", bundle).code == 0
    return tmp_path / "p.tlog-proof"


def test_a_proof_is_made_and_checked_with_the_key(proof):
    assert proof.read_text().startswith("c2sp.org/tlog-proof@v1\nextra ")
    code, out, err = hark("prove", "-check", proof, "-key", PUBLIC)
    assert (code, err) == (0, "")
    assert out.startswith(f"PROVED: event 6 (EgressDecision) is in run {sample.RUN_ID}\n")
    assert "event  DENIED 192.0.2.7" in out
    assert "SHA-256, 2 entries" in out
    assert "a key that you named" in out


def test_without_a_key_nobody_vouches_and_with_a_root_the_run_is_the_files_word(proof):
    code, out, _ = hark("prove", "-check", proof)
    assert code == 0
    assert out.startswith("UNVOUCHED: event 6")
    root = next(line.split()[1] for line in out.splitlines() if line.startswith("  root"))
    code, out, _ = hark("prove", "-check", proof, "-root", root)
    assert code == 0
    assert out.startswith("PROVED: event 6 (EgressDecision) is under your root; that it is in run")


def test_a_changed_proof_another_key_or_a_missing_witness_is_rejected(proof):
    for words in (["-key", "0" * 64], ["-root", "0" * 64], ["-witness", WITNESS]):
        code, out, _ = hark("prove", "-check", proof, *words)
        assert code == 1
        assert out.startswith("REJECTED: ")
    proof.write_text(proof.read_text().replace("index 0", "index 1"))
    assert hark("prove", "-check", proof, "-key", PUBLIC).code == 1


def test_options_that_do_not_go_together_are_refused(tmp_path, proof):
    assert hark("prove", "-tlog", "-check", proof).code == 2
    assert hark("prove", "-seq", "3", "-witness", WITNESS, tmp_path / "a.hark").code == 2
    assert hark("prove", "-check", proof, "-witness", "nonsense").code == 2
    assert hark("prove", "-seq", "3", "-out", tmp_path / "p.json", tmp_path / "a.hark").code == 0
    code, _, err = hark("prove", "-check", tmp_path / "p.json", "-witness", WITNESS)
    assert code == 2
    assert "goes only with a tlog-proof" in err
