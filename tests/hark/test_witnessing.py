"""Having a run cosigned, by a real witness on loopback; and witnesses that answer as none may."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from demo.translog import notes
from demo.translog import witness as local
from hark.anchoring import web
from hark.bundle import note
from hark.bundle.footing import footer_of
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, TruncatedError, UpstreamError, UsageError
from hark.verify import VERIFIED, verify
from hark.witnessing import witness
from tests.hark.cli import sample

KEY = sample.KEY.public_key


def ask(url, body):
    answer = web.ask(url, body)
    return answer.status, answer.body


@pytest.fixture
def bundle(tmp_path):
    return str(sample.write(tmp_path / "a.hark"))


@pytest.fixture
def one(tmp_path):
    with local.witnessing(tmp_path, runs=[KEY], clock=lambda: 1_700_000_000) as one:
        yield one


def checkpoint_of(path):
    with BundleFile(path) as file:
        return footer_of(file)[1].checkpoint


def test_a_run_is_cosigned_and_the_word_is_kept_in_the_bundle(bundle, one):
    before = checkpoint_of(bundle)
    result = witness(bundle, one.url, note.verifier_key(one.vkey), ask)
    assert (result.verdict, result.cosignatures[0].time) == (VERIFIED, 1_700_000_000)
    assert "cosigned by witness.example/w1" in result.line()
    after = checkpoint_of(bundle)
    assert after.startswith(before)
    assert after.count("— witness.example/w1 ") == 1


def test_asking_again_renews_the_word_and_two_witnesses_stand_side_by_side(bundle, one, tmp_path):
    first = note.verifier_key(one.vkey)
    witness(bundle, one.url, first, ask)
    one._clock = lambda: 1_700_000_100
    assert witness(bundle, one.url, first, ask).cosignatures[0].time == 1_700_000_100
    (tmp_path / "two").mkdir()
    with local.witnessing(tmp_path / "two", runs=[KEY], name="other.example/w") as two:
        second = note.verifier_key(two.vkey)
        witness(bundle, two.url, second, ask)
    assert len(checkpoint_of(bundle).split("\n— ")) == 4
    assert verify(bundle, witnesses=[first, second]).verdict == VERIFIED


def test_another_record_of_the_same_run_is_not_cosigned_and_that_is_said(bundle, one, tmp_path):
    who = note.verifier_key(one.vkey)
    witness(bundle, one.url, who, ask)
    shorter = str(sample.write(tmp_path / "b.hark", sample.EVENTS[:3]))
    same_size = str(sample.write(tmp_path / "c.hark", (*sample.EVENTS[:-2], sample.EVENTS[-1])))
    for other in (shorter, same_size):
        before = checkpoint_of(other)
        with pytest.raises(
            BundleError,
            match=r"the server at .* says that the witness .* has cosigned another record of this run",
        ):
            witness(other, one.url, who, ask)
        assert checkpoint_of(other) == before


def test_a_witness_that_does_not_know_the_key_refuses_and_it_is_said_why(bundle, tmp_path):
    for runs, words in (((bytes(32),), "does not trust the key"), ((), "does not know the run's log")):
        with local.witnessing(tmp_path, runs=runs) as one, pytest.raises(UpstreamError, match=words):
            witness(bundle, one.url, note.verifier_key(one.vkey), ask)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((200, b""), UpstreamError),
        ((200, b"\xff"), UpstreamError),
        ((200, b"nonsense\n"), UpstreamError),
        ((500, b"\x1b[31m" + b"x" * 9999), UpstreamError),
        ((302, b""), UpstreamError),
        ((409, b"many\n"), UpstreamError),
        ((409, b"2\n"), BundleError),
        ((409, b"1\n"), BundleError),
        ((422, b""), UpstreamError),
    ],
)
def test_whatever_a_witness_answers_is_a_sentence_and_changes_nothing(bundle, answer, error):
    who = note.Verifier("w.example/1", note.COSIGNATURE, KEY)
    before = Path(bundle).read_bytes()
    with pytest.raises(error) as caught:
        witness(bundle, "http://w.example", who, lambda *_: answer)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
    assert Path(bundle).read_bytes() == before


def test_a_strangers_or_spoilt_cosignature_is_not_kept(bundle):
    key = Ed25519PrivateKey.generate()
    who = note.Verifier("w.example/1", note.COSIGNATURE, notes.raw(key))
    text = checkpoint_of(bundle).partition("\n\n")[0] + "\n"
    before = checkpoint_of(bundle)
    for line in (
        notes.cosign("other.example", key, text, 7),
        notes.cosign("w.example/1", Ed25519PrivateKey.generate(), text, 7),
        notes.cosign("w.example/1", key, text + "x", 7),
        note.Signature("w.example/1", who.key_id, bytes(72)).line(),
    ):
        with pytest.raises((UpstreamError, BundleError)):
            witness(bundle, "http://w.example", who, lambda *_, said=line: (200, said.encode()))
        assert checkpoint_of(bundle) == before


def test_only_the_checkpoint_and_the_runs_own_signature_leave(bundle, one):
    sent = []
    who = note.verifier_key(one.vkey)
    for _ in range(2):
        witness(bundle, one.url, who, lambda url, body: sent.append((url, body)) or ask(url, body))
    own = checkpoint_of(bundle).split("\n— witness")[0] + "\n"
    assert sent[0] == (f"{one.url}/add-checkpoint", f"old 0\n\n{own}".encode())
    assert [body.split(b"\n")[0] for _, body in sent] == [b"old 0", b"old 0", b"old 2"]
    assert all(b"witness.example" not in body for _, body in sent)


def test_what_cannot_be_cosigned_says_why(tmp_path):
    who = note.Verifier("w.example/1", note.COSIGNATURE, KEY)
    unsigned = str(sample.write(tmp_path / "b.hark", key=None))
    with pytest.raises(UsageError, match="nobody signed it"):
        witness(unsigned, "http://w.example", who, ask)
    broken = sample.write(tmp_path / "c.hark")
    data = broken.read_bytes()
    broken.write_bytes(data[:-20])
    with pytest.raises(TruncatedError):
        witness(str(broken), "http://w.example", who, ask)
    broken.write_bytes(data[:300] + bytes([data[300] ^ 1]) + data[301:])
    with pytest.raises(BundleError, match="does not verify"):
        witness(str(broken), "http://w.example", who, ask)
