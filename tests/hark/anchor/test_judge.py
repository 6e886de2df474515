"""A test for each number of `hark.anchor.judge`, which only that step makes pass; vectors; hostile bytes."""

import contextlib
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from demo.translog import certificates, notes
from hark.anchor import entry, keys
from hark.anchor.body import Claim
from hark.anchor.jsonform import MalformedError
from hark.anchor.judge import judge
from hark.anchor.outcome import RejectedError, UncheckableError
from hark.anchor.trusted_root import TrustedRoot, parse
from hark.bundle.note import verifier_key
from hark.verify.anchor import public_data
from tests.support.anchored import ARTIFACT, NOON, WHO, later, local, logged, make, root_of, stamp

OWN = Path(__file__).parents[2] / "vectors" / "transparency"
SHARED = Path(__file__).parents[4] / "shared" / "vectors" / "transparency"


@pytest.fixture
def log(tmp_path):
    return local(tmp_path)


def step_of(data, root, *, key=b"", artifact=ARTIFACT, witnesses=()):
    with pytest.raises(RejectedError) as caught:
        judge(data, artifact, root, key=key, witnesses=witnesses)
    return caught.value.step


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("identity", [False, True])
def test_what_the_local_log_takes_in_holds(log, version, identity):
    made = make(log, version=version, identity=identity)
    held = judge(made.data(), ARTIFACT, root_of(log), key=made.key)
    assert held.time == int(NOON.timestamp())
    assert held.log.startswith("log.example:3000")
    assert held.number == (1003 if version == 1 else 3)
    assert held.identity == (WHO if identity else "")
    assert held.issuer == ("https://log.example:3000/oidc" if identity else "")
    assert held.clock == ("log.example:3000" if version == 1 else log.tsa_url)


def test_1_an_anchor_without_proof_or_with_a_checkpoint_of_no_form_is_rejected(log):
    made, root = make(log), root_of(log)
    assert step_of(b"{}", root, key=made.key) == 1
    assert step_of(made.of_entry(proof=None), root, key=made.key) == 1
    assert step_of(made.of_proof(checkpoint="log.example:3000\n\n"), root, key=made.key) == 1


def test_2_an_entry_for_another_artifact_is_rejected(log):
    made, other = make(log), make(log, b"another artifact")
    assert step_of(made.data(entry=other.signed.entry), root_of(log), key=made.key) == 2
    assert step_of(made.data(), root_of(log), key=made.key, artifact=b"another artifact") == 2


def test_2_an_entry_by_another_key_is_rejected(log):
    made, other = make(log), make(log)
    assert step_of(made.data(), root_of(log), key=other.key) == 2
    assert step_of(made.data(), root_of(log)) == 2  # nobody says whose key
    certified = make(log, identity=True)
    assert step_of(certified.data(), root_of(log), key=made.key) == 2


def test_2_an_entry_that_is_of_another_kind_than_the_bundle_says_is_rejected(log):
    made = make(log)
    assert step_of(made.of_entry(version="0.0.1"), root_of(log), key=made.key) == 2


def test_3_a_signature_that_is_not_the_keys_is_rejected_though_the_log_has_it(log):
    made = make(log)
    forged = made.signed.signature[:-1] + bytes([made.signed.signature[-1] ^ 1])
    stored = made.signed.entry.body.replace(
        notes.b64(made.signed.signature).encode(), notes.b64(forged).encode()
    )
    number = log.v2.add(stored, 0)
    again = entry.parse_entry(log.v2.entry_v2(number, log.v2.prove(number)))
    data = made.data(signature=forged, entry=again, stamps=(stamp(log, forged),))
    assert step_of(data, root_of(log), key=made.key) == 3


def test_4_a_log_that_the_trust_root_does_not_name_cannot_be_checked(log, tmp_path):
    made = make(log)
    with pytest.raises(UncheckableError, match="does not name"):
        judge(made.data(), ARTIFACT, root_of(local(tmp_path / "other")), key=made.key)


def test_5_a_proof_with_one_bit_turned_is_rejected(log):
    made = make(log, lie="proof")
    assert step_of(made.data(), root_of(log), key=made.key) == 5


def test_5_a_root_that_the_log_signed_and_the_proof_does_not_lead_to_is_rejected(log):
    """Trap 52: the root of the same answer is no root to compare with."""
    made = make(log, lie="root")
    assert step_of(made.data(), root_of(log), key=made.key) == 5


def test_5_an_index_that_nobody_signed_for_is_rejected(log):
    made = make(log)
    assert step_of(made.of_entry(number=7), root_of(log), key=made.key) == 5
    assert step_of(made.of_proof(leaf=2), root_of(log), key=made.key) == 5
    assert step_of(made.of_proof(path=()), root_of(log), key=made.key) == 5


@pytest.mark.parametrize("version", [1, 2])
def test_6_a_checkpoint_that_a_stranger_signed_is_rejected(log, version):
    """Trap 52: the log's word for it is nobody's word."""
    made = make(log, version=version, lie="checkpoint")
    assert step_of(made.data(), root_of(log), key=made.key) == 6


def test_7_a_checkpoint_of_another_log_by_the_same_key_is_rejected(log):
    made = make(log)
    proof = made.signed.entry.proof
    other = notes.checkpoint(log.v2.signer, "another.example", proof.size, proof.root)
    assert step_of(made.of_proof(checkpoint=other), root_of(log), key=made.key) == 7


def test_8_a_checkpoint_over_another_tree_is_rejected(log):
    made = make(log)
    proof = made.signed.entry.proof
    for size, root in ((proof.size + 1, proof.root), (proof.size, bytes(32))):
        other = notes.checkpoint(log.v2.signer, log.v2.origin, size, root)
        assert step_of(made.of_proof(checkpoint=other), root_of(log), key=made.key) == 8


def test_9_a_witness_that_was_asked_for_must_have_cosigned(log):
    witness = verifier_key(log.witness_vkey)
    assert step_of((bare := make(log)).data(), root_of(log), key=bare.key, witnesses=(witness,)) == 9
    log.witnessed()
    made = make(log)
    held = judge(made.data(), ARTIFACT, root_of(log), key=made.key, witnesses=(witness,))
    assert held.witnesses == (witness.name,)
    stranger = notes.verifier_key(witness.name, 4, notes.raw(Ed25519PrivateKey.generate()))
    assert step_of(made.data(), root_of(log), key=made.key, witnesses=(verifier_key(stranger),)) == 9


def test_10_a_promise_that_a_stranger_signed_is_rejected(log):
    made = make(log, version=1, lie="promise")
    assert step_of(made.data(), root_of(log), key=made.key) == 10


def test_10_a_time_or_number_that_the_promise_is_not_over_is_rejected(log):
    made = make(log, version=1)
    assert step_of(made.of_entry(time=made.signed.entry.time - 1), root_of(log), key=made.key) == 10
    assert step_of(made.of_entry(number=5), root_of(log), key=made.key) == 10


def test_11_a_time_stamp_over_something_else_is_rejected(log):
    made = make(log)
    assert step_of(made.data(stamps=(stamp(log, b"other"),)), root_of(log), key=made.key) == 11
    assert step_of(made.data(stamps=(b"no stamp",)), root_of(log), key=made.key) == 11
    assert step_of(made.data(stamps=made.signed.stamps * 2), root_of(log), key=made.key) == 11


def test_11_a_stamp_of_an_unknown_authority_alone_cannot_be_checked_and_beside_a_known_one_says_nothing(
    log, tmp_path
):
    made, other = make(log), local(tmp_path / "other")
    later(other, days=-3)
    strange = stamp(other, made.signed.signature)
    with pytest.raises(UncheckableError, match="authority"):
        judge(made.data(stamps=(strange,)), ARTIFACT, root_of(log), key=made.key)
    held = judge(made.data(stamps=(strange, *made.signed.stamps)), ARTIFACT, root_of(log), key=made.key)
    assert held.time == int(NOON.timestamp())


def test_12_an_anchor_without_any_time_is_rejected(log):
    made = make(log)
    assert step_of(made.data(stamps=()), root_of(log), key=made.key) == 12
    promised = make(log, version=1)
    assert step_of(promised.of_entry(promise=b"", number=3), root_of(log), key=promised.key) == 12


def test_12_a_log_that_was_not_believed_at_that_time_is_rejected(log):
    root = root_of(log)
    over = [one._replace(period=one.period._replace(end=NOON.timestamp() - 1)) for one in root.logs]
    made = make(log)
    assert step_of(made.data(), root._replace(logs=tuple(over)), key=made.key) == 12


def test_13_a_certificate_that_had_run_out_is_rejected(log):
    key = certificates.new_key()
    held = x509.load_der_x509_certificate(certificate_of(log, key))
    later(log, days=1)
    assert step_of(signed_by(log, key, held).data(), root_of(log)) == 13


def test_13_a_certificate_of_an_authority_that_is_not_named_cannot_be_checked(log):
    root = root_of(log)
    made = make(log, identity=True)
    with pytest.raises(UncheckableError, match="certificate"):
        judge(made.data(), ARTIFACT, root._replace(authorities=()))


def test_13_a_certificate_by_a_stranger_of_the_same_name_is_rejected(log, tmp_path):
    made = make(log, identity=True)
    other = root_of(local(tmp_path / "other"))
    assert step_of(made.data(), root_of(log)._replace(authorities=other.authorities)) == 13


def test_14_a_certificate_that_is_not_for_signing_code_is_rejected(log, monkeypatch):
    monkeypatch.setattr(
        certificates.ExtendedKeyUsageOID, "CODE_SIGNING", x509.ExtendedKeyUsageOID.SERVER_AUTH
    )
    made = make(log, identity=True)
    monkeypatch.undo()
    assert step_of(made.data(), root_of(log)) == 14


def test_15_a_certificate_that_no_log_signed_for_is_rejected(log):
    log.authority.ct_key = certificates.new_key()
    made = make(log, identity=True)
    assert step_of(made.data(), root_of(log)) == 15


def certificate_of(log, key):
    from tests.support.anchored import certificate

    return certificate(log, key)


def signed_by(log, key, held):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding

    from tests.support.anchored import Made

    signature = key.sign(ARTIFACT, ec.ECDSA(hashes.SHA256()))
    digest = hashes.Hash(hashes.SHA256())
    digest.update(ARTIFACT)
    claim = Claim(digest.finalize(), signature, b"", held.public_bytes(Encoding.DER))
    return Made(logged(log, claim), b"")


def judged(case, artifact):
    """What became of a vector: True if it holds."""
    own = case / "trusted_root.json"
    root = parse(own.read_bytes() if own.exists() else public_data("trusted_root.json"))
    named = case / "key.pub"
    try:
        key = keys.from_pem(named.read_bytes()).der if named.exists() else b""
        judge((case / "bundle.sigstore.json").read_bytes(), artifact, root, key=key)
    except (RejectedError, UncheckableError, MalformedError):
        return False
    return True


def cases(folder):
    return sorted(path for path in folder.glob("*") if path.is_dir())


def artifact_of(case):
    """`a.txt` beside the cases, unless a case has one of its own."""
    own = [path for path in case.iterdir() if path.name in {"artifact", "a.txt"}]
    return (own[0] if own else case.parent / "a.txt").read_bytes()


@pytest.mark.parametrize("case", cases(OWN), ids=lambda case: case.name)
def test_a_vector_is_judged_by_the_name_of_its_folder(case):
    assert judged(case, artifact_of(case)) == (not case.name.endswith("_fail"))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the vectors of the public logs are not beside this checkout")
def test_every_vector_of_the_public_logs_is_judged_by_the_name_of_its_folder():
    found = {case.name: judged(case, artifact_of(case)) for case in cases(SHARED)}
    assert found == {name: not name.endswith("_fail") for name in found}
    assert len(found) >= 13


def test_there_are_cases_of_both_kinds():
    names = [case.name for case in cases(OWN)]
    assert len(names) >= 13
    assert 0 < sum(name.endswith("_fail") for name in names) < len(names)


def test_no_witness_key_is_that_of_a_log(log):
    held = notes.verifier_key("log.example:3000", 1, notes.raw(log.witness_key))
    log.witnessed()
    made = make(log)
    assert step_of(made.data(), root_of(log), key=made.key, witnesses=(verifier_key(held),)) == 9


ANCHOR = (OWN / "rekor2-happy-path" / "bundle.sigstore.json").read_bytes()
ROOT: TrustedRoot = parse((OWN / "rekor2-happy-path" / "trusted_root.json").read_bytes())


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_no_change_of_bytes_makes_anything_else_of_an_anchor_than_a_verdict(data):
    changed = bytearray(ANCHOR)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with contextlib.suppress(RejectedError, UncheckableError):
        judge(bytes(changed), (OWN / "a.txt").read_bytes(), ROOT)


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=200))
def test_bytes_that_are_no_anchor_are_rejected(data):
    with pytest.raises(RejectedError):
        judge(data, b"", ROOT)


def test_the_period_of_a_clock_counts(log):
    root = root_of(log)
    late = (NOON + timedelta(hours=1)).timestamp()
    clocks = [one._replace(period=one.period._replace(start=late)) for one in root.clocks]
    made = make(log)
    assert step_of(made.data(), root._replace(clocks=tuple(clocks)), key=made.key) == 11
