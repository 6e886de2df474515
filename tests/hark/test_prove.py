"""Proof files: what stands in them, what is refused, and where a root came from."""

import json

import pytest

from hark import prove
from hark.bundle import events as ev
from hark.errors import BundleError
from tests.hark.cli import sample


@pytest.fixture
def bundle(tmp_path):
    return str(sample.write(tmp_path / "a.hark"))


def test_every_event_of_a_bundle_can_be_proved_and_checked(bundle):
    for seq in range(13):
        made = prove.make(bundle, seq)
        checked = prove.check(made.text.encode(), keys=(sample.KEY.public_key,))
        assert checked.file.proof.seq == seq
        assert checked.source == prove.FROM_PINNED_KEY
        assert checked.signed_by == made.signed_by == sample.KEY.public_key
        assert ev.kind_of(ev.decode(checked.kind, checked.payload)) == checked.kind


def test_a_payload_that_is_too_long_stays_outside_and_can_be_given(tmp_path):
    long = ev.LlmResponseChunk(0, b"x" * (prove.MAX_INLINE + 1))
    path = str(sample.write(tmp_path / "a.hark", (sample.EVENTS[0], long)))
    made = prove.make(path, 1)
    text = made.text
    assert made.left_out.endswith("bytes is too long for a proof")
    assert json.loads(text)["payload"] is None
    assert prove.check(text.encode()).kind is None
    assert len(text) < 4000
    with_salt = ev.encode(long, b"")
    with pytest.raises(BundleError, match="payload is not that of event 1"):
        prove.check(text.encode(), payload=with_salt)
    from hark.bundle.walk import BundleFile

    with BundleFile(path) as file:
        _, second, *_ = file.frames()
    assert prove.check(text.encode(), payload=second.frame.payload).payload == second.frame.payload


def test_a_proof_of_format_1_alone_names_no_kind_and_a_payload_finds_it(bundle):
    record = json.loads(prove.make(bundle, 6).text)
    payload = bytes.fromhex(record.pop("payload"))
    kind = record.pop("kind")
    text = json.dumps(record).encode()
    assert (prove.check(text).kind, prove.check(text).payload) == (None, None)
    assert prove.check(text, payload=payload).kind == kind
    record["payload"] = payload.hex()
    with pytest.raises(BundleError, match="not the event's kind"):
        prove.check(json.dumps(record).encode())


def test_a_root_from_outside_is_the_strongest_origin(bundle):
    text = prove.make(bundle, 6).text.encode()
    root = bytes.fromhex(json.loads(text)["root"])
    assert prove.check(text, root=root, keys=(sample.KEY.public_key,)).source == prove.FROM_OUTSIDE
    assert prove.check(text).source == prove.FROM_UNKNOWN_KEY
    with pytest.raises(BundleError):
        prove.check(text, root=bytes(32))
    with pytest.raises(BundleError):
        prove.check(text, keys=(bytes(32),))


NO_PROOFS = {
    "empty": b"",
    "not-utf-8": b"\xff",
    "list": b"[]",
    "object": b"{}",
    "text": b'"x"',
    "deep": b"[" * 100_000,
    "long": b" " * (prove.MAX_FILE + 1),
    "twice": b'{"run": "a", "run": "a"}',
}


@pytest.mark.parametrize("data", NO_PROOFS.values(), ids=NO_PROOFS)
def test_what_is_no_proof_is_refused_in_words(data):
    with pytest.raises(BundleError, match=r"^not a proof: "):
        prove.check(data)


def test_nothing_is_proved_of_a_bundle_that_changes_between_two_looks(bundle, monkeypatch):
    real = prove.core.prove

    def then_edit(path, seq):
        proven = real(path, seq)
        with open(path, "r+b") as file:
            data = file.read()
            file.seek(data.index(b"192.0.2.7", data.index(b"192.0.2.7") + 1))
            file.write(b"192.0.2.8")
        return proven

    monkeypatch.setattr(prove.core, "prove", then_edit)
    with pytest.raises(BundleError, match="has changed while the proof was made"):
        prove.make(bundle, 6)
