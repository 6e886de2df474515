import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from demo.translog import notes
from hark.anchor import note
from hark.anchor.jsonform import MalformedError
from hark.anchor.note import Checkpoint

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
NAME = "log.example/one"
SIGNER = notes.ed25519_signer(NAME, KEY)
ENVELOPE = notes.checkpoint(SIGNER, NAME, 7, bytes(range(32)))
LOG = note.verifier_key(notes.verifier_key(NAME, 1, notes.raw(KEY)))
WITNESS = note.verifier_key(notes.verifier_key("witness.example", 4, notes.raw(KEY)))


def cosigned(envelope=ENVELOPE, time=99):
    return envelope + notes.cosign("witness.example", KEY, note.parse(envelope).text, time)


def test_a_checkpoint_is_read_and_its_signature_is_over_its_very_text():
    read = note.parse(ENVELOPE)
    assert note.checkpoint(read) == Checkpoint(NAME, 7, bytes(range(32)))
    assert note.signed_by(read, LOG)
    assert not note.signed_by(note.parse(ENVELOPE.replace("\n7\n", "\n8\n")), LOG)
    assert not note.signed_by(read, LOG._replace(name="other.example"))
    assert not note.signed_by(read, LOG._replace(key_id=b"none"))


def test_lines_behind_the_third_are_the_logs_own():
    text = notes.body(NAME, 7, bytes(32)) + "Timestamp: 5\n"
    envelope = f"{text}\n{notes.line(SIGNER.name, SIGNER.key_id, SIGNER.sign(text.encode()))}"
    assert note.signed_by(note.parse(envelope), LOG)
    assert note.checkpoint(note.parse(envelope)).size == 7


def test_a_cosignature_says_when_and_is_not_a_logs_signature():
    read = note.parse(cosigned())
    assert note.cosigned_at(read, WITNESS) == 99
    assert note.signed_by(read, LOG)
    assert note.cosigned_at(note.parse(ENVELOPE), WITNESS) is None
    assert note.cosigned_at(note.parse(cosigned().replace("\n7\n", "\n8\n")), WITNESS) is None
    assert note.cosigned_at(read, LOG._replace(cosigns=True)) is None


def test_a_line_of_nobody_known_is_passed_over():
    assert note.signed_by(note.parse(ENVELOPE + notes.line("stranger", b"1234", b"x" * 64)), LOG)


ROOT = notes.b64(bytes(32))
BAD = {
    "empty": "",
    "no-signature": f"{NAME}\n7\n{ROOT}\n\n",
    "no-blank-line": f"{NAME}\n7\n{ROOT}\n{notes.line('n', b'1234', b'x')}",
    "no-last-break": ENVELOPE[:-1],
    "no-dash": ENVELOPE.replace("\N{EM DASH}", "-"),
    "control": ENVELOPE.replace("log.", "log\r."),
    "no-base64": f"{NAME}\n7\n{ROOT}\n\n\N{EM DASH} n !!\n",
    "key-id-alone": f"{NAME}\n7\n{ROOT}\n\n{notes.line('n', b'1234', b'')}",
    "plus-in-name": f"{NAME}\n7\n{ROOT}\n\n{notes.line('a+b', b'1234', b'x')}",
    "many-lines": ENVELOPE + notes.line("n", b"1234", b"x") * 40,
    "long": "x" * 70_000 + ENVELOPE,
}
NO_CHECKPOINT = {
    "no-size": f"{NAME}\n{ROOT}\n",
    "no-origin": f"\n7\n{ROOT}\n",
    "leading-zero": f"{NAME}\n07\n{ROOT}\n",
    "sign": f"{NAME}\n+7\n{ROOT}\n",
    "other-digits": f"{NAME}\n\N{SUPERSCRIPT TWO}\n{ROOT}\n",
    "long-size": f"{NAME}\n{'9' * 40}\n{ROOT}\n",
    "short-root": f"{NAME}\n7\nAAA=\n",
}


@pytest.mark.parametrize("envelope", BAD.values(), ids=BAD)
def test_what_is_no_signed_note_is_malformed(envelope):
    with pytest.raises(MalformedError):
        note.parse(envelope)


@pytest.mark.parametrize("text", NO_CHECKPOINT.values(), ids=NO_CHECKPOINT)
def test_what_is_no_checkpoint_is_malformed(text):
    read = note.parse(f"{text}\n{notes.line('n', b'1234', b'x')}")
    with pytest.raises(MalformedError):
        note.checkpoint(read)


@given(st.text(max_size=200))
def test_any_text_is_a_note_or_malformed(text):
    try:
        note.checkpoint(note.parse(text))
    except MalformedError:
        return


@pytest.mark.parametrize(
    "text",
    ["", "a", "a+b+c", f"{NAME}+00000000+{notes.b64(bytes([1]) + notes.raw(KEY))}", "a b+12345678+AAAA"],
)
def test_what_is_no_verifier_key_is_malformed(text):
    with pytest.raises(MalformedError):
        note.verifier_key(text)


def test_the_kind_of_a_verifier_key_is_in_it():
    assert (LOG.cosigns, WITNESS.cosigns) == (False, True)
    with pytest.raises(MalformedError):
        note.verifier_key(notes.verifier_key(NAME, 9, notes.raw(KEY)))
