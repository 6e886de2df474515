"""`hark witness` against a real witness, and then `hark verify` and `hark prove` by its key."""

import pytest

from demo.translog.witness import witnessing
from tests.hark.cli import sample
from tests.hark.cli.program import hark


@pytest.fixture
def one(tmp_path):
    with witnessing(tmp_path, runs=[sample.KEY.public_key], clock=lambda: 1_700_000_000) as one:
        yield one


def test_a_run_is_cosigned_and_shown_and_checked_and_proved(tmp_path, one):
    bundle = sample.write(tmp_path / "a.hark")
    assert hark("verify", "-witness", one.vkey, bundle).code == 1
    code, out, err = hark("witness", "-url", one.url, "-witness", one.vkey, bundle)
    assert (code, err) == (0, "")
    assert "It is cosigned by witness.example/w1, 2023-11-14 22:13:20 UTC." in out
    code, out, _ = hark("verify", "-witness", one.vkey, bundle)
    assert code == 0
    assert "cosigned by witness.example/w1" in out.splitlines()[0]
    assert "was not checked: -witness KEY does" in " ".join(hark("verify", bundle).out.split())
    proof = tmp_path / "p.tlog-proof"
    assert hark("prove", "-tlog", "-seq", "3", "-out", proof, bundle).code == 0
    code, out, _ = hark("prove", "-check", proof, "-witness", one.vkey)
    assert code == 0
    assert "It is cosigned by witness.example/w1" in out


def test_another_witnesses_key_is_refused(tmp_path, one):
    bundle = sample.write(tmp_path / "a.hark")
    (tmp_path / "other").mkdir()
    with witnessing(tmp_path / "other") as other:
        code, _, err = hark("witness", "-url", one.url, "-witness", other.vkey, bundle)
    assert code == 1
    assert "signed with another key or name" in err
    assert hark("verify", "-witness", other.vkey, bundle).code == 1


def test_a_command_line_without_address_or_key_is_refused(tmp_path, one):
    bundle = sample.write(tmp_path / "a.hark")
    assert hark("witness", bundle).code == 2
    assert hark("witness", "-url", one.url, bundle).code == 2
    assert hark("witness", "-url", one.url, "-witness", "nonsense", bundle).code == 2
    assert hark("witness", "-url", "ftp://x", "-witness", one.vkey, bundle).code == 1
    assert hark("witness", "-url", "http://127.0.0.1:1", "-witness", one.vkey, bundle).code == 1
