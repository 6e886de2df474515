"""`hark anchor`, `hark verify` over what it did, and sigstore's own program; with a real log on loopback."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from demo import translog
from hark import keys
from tests.hark.cli import sample
from tests.hark.cli.program import hark


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    with translog.serving(folder) as served:
        yield served


@pytest.fixture
def bundle(tmp_path):
    keys.create_private(str(tmp_path / "key"), sample.KEY)
    return sample.write(tmp_path / "a.hark")


def anchor(log, bundle, *words, **options):
    named = ("-signing-config", log.signing_config, "-trusted-root", log.trusted_root)
    return hark("anchor", *named, *words, bundle, **options)


def by_key(log, bundle):
    return anchor(log, bundle, "-key", bundle.parent / "key")


def test_a_bundle_is_anchored_and_verify_says_so_offline(log, bundle):
    code, out, err = by_key(log, bundle)
    assert (code, err) == (0, "")
    assert out.startswith("It is anchored: entry 3 of 127.0.0.1:")
    log.lie("v2", "500")  # nobody is asked any more
    code, out, _ = hark("verify", "-trusted-root", log.trusted_root, "-anchored", bundle)
    assert code == 0
    assert ", anchored 20" in out.splitlines()[0]
    assert "It is anchored: entry 3 of 127.0.0.1:" in out
    assert (
        hark("verify", "-trusted-root", log.trusted_root, "-log-witness", log.witness_vkey, bundle).code == 1
    )
    log.lie("v2")
    log.witnessed()
    other = sample.write(bundle.parent / "b.hark")
    assert by_key(log, other).code == 0
    words = ("verify", "-trusted-root", log.trusted_root, "-log-witness", log.witness_vkey)
    assert "cosigned by" in hark(*words, other).out


def test_a_rejected_anchor_is_the_one_verdict_and_its_exit_code(log, bundle):
    """Trap 53."""
    assert by_key(log, bundle).code == 0
    stored = bundle.read_bytes()
    at = stored.index(b'"rootHash":"') + 12
    bundle.write_bytes(stored[:at] + (b"B" if stored[at : at + 1] == b"A" else b"A") + stored[at + 1 :])
    code, out, _ = hark("verify", "-trusted-root", log.trusted_root, bundle)
    assert code == 1
    assert out.startswith("REJECTED: its anchor does not hold: ")
    assert "VERIFIED" not in out
    assert "It is anchored" not in out
    found = json.loads(hark("verify", "-json", "-trusted-root", log.trusted_root, bundle).out)
    assert (found["verdict"], found["anchored"], found["anchors"][0]["state"]) == (
        "REJECTED",
        False,
        "rejected",
    )


def test_without_an_anchor_verify_says_so_and_refuses_where_one_is_asked_for(log, bundle):
    code, out, _ = hark("verify", bundle)
    assert (code, "It is not anchored." in out.splitlines()) == (0, True)
    assert hark("verify", "-anchored", bundle).code == 1
    assert by_key(log, bundle).code == 0
    code, out, _ = hark("verify", bundle)
    assert (code, "anchor not checkable" in out.splitlines()[0]) == (0, True)
    assert hark("verify", "-anchored", bundle).code == 1


@pytest.mark.slow
def test_what_is_extracted_sigstores_own_program_takes_by_itself(log, bundle, tmp_path):
    token = {"SIGSTORE_IDENTITY_TOKEN": log.token("me@x.example")}
    code, out, _ = anchor(log, bundle, "-identity", env=token)
    assert (code, "under the identity me@x.example" in out) == (0, True)
    assert hark("anchor", "-extract", tmp_path / "out", bundle).code == 0
    verify = [
        *(sys.executable, "-m", "sigstore", "--trust-config", str(log.trust_config), "verify", "identity"),
        *("--bundle", str(tmp_path / "out/anchor-1.sigstore.json"), "--cert-oidc-issuer", f"{log.url}/oidc"),
    ]
    artifact = str(tmp_path / "out/tree-head.cbor")
    done = subprocess.run(
        [*verify, "--cert-identity", "me@x.example", artifact], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [*verify, "--cert-identity", "you@x.example", artifact], capture_output=True, check=False
    )
    assert done.returncode != 0
    Path(artifact).write_bytes(Path(artifact).read_bytes() + b"x")
    done = subprocess.run(
        [*verify, "--cert-identity", "me@x.example", artifact], capture_output=True, check=False
    )
    assert done.returncode != 0


def test_a_log_that_fails_leaves_the_bundle_as_it_was_and_is_named(log, bundle):
    before = bundle.read_bytes()
    for lie, words in (("500", "status 500"), ("garbage", "no entry"), ("proof", "does not hold")):
        log.lie("v2", lie)
        code, out, err = by_key(log, bundle)
        assert (code, out) == (1, "")
        assert err.startswith("hark: ")
        assert words in err
        assert bundle.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-rekor", "https://a", "-signing-config", "f"), "give one of the two"),
        (("-tsa", "https://a"), "-tsa goes with -rekor"),
        (("-signing-config", "nowhere"), "cannot use nowhere"),
        (("-trusted-root", "nowhere"), "cannot use nowhere"),
        (("-extract", "out"), "is not anchored"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(bundle, words, said):
    code, _, err = hark("anchor", *words, bundle, cwd=bundle.parent)
    assert code == 2
    assert said in err


def test_who_has_no_key_or_another_is_told_so(log, bundle, tmp_path):
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    code, _, err = anchor(log, bundle, env=home)
    assert (code, "signing.key" in err) == (2, True)
    assert not (tmp_path / "config").exists()  # no key is made to anchor with
    assert hark("keygen", "-out", tmp_path / "other").code == 0
    code, _, err = anchor(log, bundle, "-key", tmp_path / "other")
    assert (code, "is signed by" in err) == (2, True)


def test_without_an_identity_here_it_says_where_one_would_come_from(log, bundle):
    unset = {
        "SIGSTORE_IDENTITY_TOKEN": "",
        "GITHUB_ACTIONS": "",
        "GITLAB_CI": "",
        "BUILDKITE": "",
        "CIRCLECI": "",
    }
    code, _, err = anchor(log, bundle, "-identity", env=unset)
    assert (code, "SIGSTORE_IDENTITY_TOKEN is not set" in err) == (2, True)


def test_a_proof_carries_the_anchor_and_its_check_says_what_it_is_worth(log, bundle, tmp_path):
    assert by_key(log, bundle).code == 0
    proof = tmp_path / "p.json"
    assert hark("prove", "-seq", "3", "-out", proof, bundle).code == 0
    key = ("-key", sample.KEY.public_key.hex())
    code, out, _ = hark("prove", "-check", proof, "-trusted-root", log.trusted_root, *key)
    assert (code, "It is anchored: entry 3 of 127.0.0.1:" in out) == (0, True)
    code, out, _ = hark("prove", "-check", proof, *key)
    assert (code, "Its anchor is not checkable" in out) == (0, True)
    changed = json.loads(proof.read_text())
    changed["anchors"][0]["bundle"] = changed["anchors"][0]["bundle"].replace(
        '"treeSize":"4"', '"treeSize":"5"'
    )
    proof.write_text(json.dumps(changed))
    code, out, _ = hark("prove", "-check", proof, "-trusted-root", log.trusted_root, *key)
    assert (code, out.startswith("REJECTED: ")) == (1, True)


def test_a_report_and_the_tree_name_the_anchor(log, bundle, tmp_path):
    assert by_key(log, bundle).code == 0
    page = tmp_path / "page.html"
    assert hark("report", "-o", page, "-trusted-root", log.trusted_root, bundle).code == 0
    assert "It is anchored: entry 3 of 127.0.0.1:" in page.read_text()
    assert "anchor not checked" in hark("tree", tmp_path).out
    assert json.loads(hark("tree", "-json", tmp_path).out)["anchors"] == 1


def test_only_an_anchor_under_the_expected_identity_is_enough(log, bundle):
    believed = ("verify", "-trusted-root", log.trusted_root)
    mine = ("-identity", "me@x.example", "-issuer", f"{log.url}/oidc")
    assert by_key(log, bundle).code == 0
    code, out, _ = hark(*believed, *mine, bundle)
    assert (code, "no anchor of it holds under the identity" in out.splitlines()[0]) == (1, True)
    assert (
        anchor(log, bundle, "-identity", env={"SIGSTORE_IDENTITY_TOKEN": log.token("me@x.example")}).code == 0
    )
    code, out, _ = hark(*believed, *mine, bundle)
    assert (code, f"under the expected identity me@x.example ({log.url}/oidc)" in out.splitlines()[0]) == (
        0,
        True,
    )
    for theirs in (("-identity", "you@x.example", *mine[2:]), (*mine[:2], "-issuer", "https://x.example")):
        code, out, _ = hark(*believed, *theirs, bundle)
        assert (code, out.startswith("REJECTED: its anchor does not hold: it is under the identity me@")) == (
            1,
            True,
        )
        assert hark("report", "-trusted-root", log.trusted_root, *theirs, bundle).code == 1
    assert hark("report", "-trusted-root", log.trusted_root, *mine, bundle).code == 0
    assert hark("verify", *mine, bundle).code == 1  # of logs that nobody here believes


@pytest.mark.parametrize("words", [("-identity", "me"), ("-issuer", "u"), ("-identity=", "-issuer", "u")])
@pytest.mark.parametrize("command", [("verify",), ("prove", "-check", "p.json")])
def test_an_identity_without_its_issuer_is_refused(bundle, words, command):
    code, _, err = hark(*command, *words, *([bundle] if command == ("verify",) else []))
    assert (code, "-issuer" in err) == (2, True)


def test_a_proof_is_held_against_the_expected_identity(log, bundle, tmp_path):
    assert (
        anchor(log, bundle, "-identity", env={"SIGSTORE_IDENTITY_TOKEN": log.token("me@x.example")}).code == 0
    )
    proof = tmp_path / "p.json"
    assert hark("prove", "-seq", "3", "-out", proof, bundle).code == 0
    check = (
        "prove",
        "-check",
        proof,
        "-trusted-root",
        log.trusted_root,
        "-issuer",
        f"{log.url}/oidc",
        "-identity",
    )
    assert hark(*check, "you@x.example").code == 1
    code, out, _ = hark(*check, "me@x.example", "-key", sample.KEY.public_key.hex())
    assert (code, "under the identity me@x.example" in out) == (0, True)
