"""Notes: against the local log's hand, the specification's own examples, and what is not to the letter."""

import base64
import contextlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from demo.translog import certificates, notes
from hark.anchor.keys import PublicKey
from hark.bundle import note
from hark.bundle.note import Verifier
from hark.errors import BundleError, UsageError
from tests.hark.bundle.bundles import KEY, OTHER_KEY

ORIGIN = "log.example/a"
ROOT = bytes(range(32))
TEXT = note.checkpoint_text(ORIGIN, 12, ROOT)
SIGNED = note.signed(ORIGIN, TEXT, KEY)
OURS = Verifier(ORIGIN, note.ED25519, KEY.public_key)
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
WITNESS = Verifier("w.example/1", note.COSIGNATURE, KEY.public_key)

# An example of C2SP's signed-note, and one of tlog-cosignature; their keys are not published.
POEM = (
    "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n\n"
    "— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0"
    "xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
)
SOFA = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4U"
    "RYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    "— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2o"
    "yin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
)


def test_what_is_signed_is_what_the_local_log_signs():
    assert notes.checkpoint(notes.ed25519_signer(ORIGIN, PRIVATE), ORIGIN, 12, ROOT) == SIGNED
    assert note.is_signed_by(note.parse(SIGNED), OURS)
    assert note.checkpoint(note.parse(SIGNED).text) == (ORIGIN, 12, ROOT)


def test_the_specifications_examples_are_read():
    poem = note.parse(POEM)
    assert poem.text.endswith("ed è subito sera.\n")
    assert [one.name for one in poem.signatures] == ["quasimodo.example/salvatore"]
    sofa = note.parse(SOFA)
    assert note.checkpoint(sofa.text).size == 20852163
    assert [note.claimed_time(one.signature) for one in sofa.signatures] == [None, 1679315147]
    assert "".join(one.line() for one in sofa.signatures) == SOFA.partition("\n\n")[2]


def test_a_changed_text_name_or_key_is_not_signed():
    assert not note.is_signed_by(note.parse(SIGNED.replace("\n12\n", "\n13\n")), OURS)
    assert not note.is_signed_by(note.parse(SIGNED), OURS._replace(name="log.example/b"))
    assert not note.is_signed_by(note.parse(SIGNED), OURS._replace(key=OTHER_KEY.public_key))
    renamed = SIGNED.replace(f"{ORIGIN} ", "log.example/b ")
    assert not note.is_signed_by(note.parse(renamed), OURS)


def test_one_bad_line_of_the_key_spoils_its_good_one():
    bad = note.Signature(ORIGIN, OURS.key_id, bytes(64)).line()
    assert not note.is_signed_by(note.parse(SIGNED + bad), OURS)
    stranger = note.Signature("other.example", OURS.key_id, bytes(64)).line()
    assert note.is_signed_by(note.parse(SIGNED + stranger), OURS)


def test_a_cosignature_is_that_of_its_time_text_and_witness():
    cosigned = SIGNED + notes.cosign(WITNESS.name, PRIVATE, TEXT, 1_700_000_000)
    assert note.cosigned_at(note.parse(cosigned), WITNESS) == 1_700_000_000
    assert note.cosigned_at(note.parse(SIGNED), WITNESS) is None
    assert note.cosigned_at(note.parse(cosigned), WITNESS._replace(name="w.example/2")) is None
    for text in (
        SIGNED.replace("\n12\n", "\n13\n") + notes.cosign(WITNESS.name, PRIVATE, TEXT, 7),
        SIGNED + notes.cosign(WITNESS.name, PRIVATE, TEXT.replace("12", "13"), 7),
        SIGNED + note.Signature(WITNESS.name, WITNESS.key_id, bytes(72)).line(),
    ):
        with pytest.raises(BundleError, match="not good"):
            note.cosigned_at(note.parse(text), WITNESS)


def test_a_log_signature_is_no_cosignature_of_the_same_key():
    as_log = Verifier(WITNESS.name, note.ED25519, KEY.public_key)
    assert as_log.key_id != WITNESS.key_id
    line = note.Signature(WITNESS.name, WITNESS.key_id, bytes(8) + KEY.sign(TEXT.encode())).line()
    with pytest.raises(BundleError, match="not good"):
        note.cosigned_at(note.parse(SIGNED + line), WITNESS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT,
        TEXT + "\n",
        SIGNED[:-1],
        SIGNED.replace("\n\n", "\n"),
        SIGNED.replace("—", "-"),
        SIGNED + "\n",
        SIGNED.replace("— ", "—  "),
        SIGNED.replace("12", "1\t2"),
        SIGNED + "— two words YQ==\n",
        SIGNED + "— a+b " + base64.b64encode(bytes(68)).decode() + "\n",
        SIGNED + "— name YWJj\n",
        SIGNED + "— name !!!!\n",
        SIGNED * 0 + TEXT + "\n" + "— n " + base64.b64encode(bytes(68)).decode() + "\n" * 2,
        "x" * (note.MAX_NOTE + 1),
        SIGNED + note.Signature("n", bytes(4), bytes(64)).line() * note.MAX_SIGNATURES,
    ],
)
def test_what_is_not_to_the_letter_is_no_note(text):
    with pytest.raises(BundleError):
        note.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "log\n12\n",
        "\n12\n" + note.b64(ROOT) + "\n",
        TEXT + "\n",
        TEXT + "extension",
        TEXT.replace("12", "012"),
        TEXT.replace("12", "-1"),
        TEXT.replace("12", "١٢"),
        TEXT.replace("12", "1" * 20),
        note.checkpoint_text("log", 12, ROOT[:-1]),
        TEXT.replace("=", ""),
        TEXT[:-1],
    ],
)
def test_what_is_not_to_the_letter_is_no_checkpoint(text):
    with pytest.raises(BundleError):
        note.checkpoint(text)


def test_lines_behind_the_third_are_the_logs_own():
    assert note.checkpoint(f"{TEXT}Timestamp: 5\n") == note.checkpoint(TEXT)


def test_an_ecdsa_key_brings_its_own_check():
    key = certificates.new_key()
    signer = notes.ecdsa_signer(ORIGIN, key)
    read = note.parse(notes.checkpoint(signer, ORIGIN, 12, ROOT))
    public = PublicKey(signer.spki)
    assert note.is_signed(read, ORIGIN, signer.key_id[:4], public.has_signed)
    assert not note.is_signed(read, ORIGIN, OURS.key_id, public.has_signed)
    other = PublicKey(notes.spki(certificates.new_key()))
    assert not note.is_signed(read, ORIGIN, signer.key_id[:4], other.has_signed)


@given(st.text(max_size=200))
def test_any_text_is_a_note_or_refused(text):
    with contextlib.suppress(BundleError):
        note.checkpoint(note.parse(text).text)


def test_a_logs_key_is_refused_where_a_witness_is_named():
    assert note.witness_keys([WITNESS.text()], "-witness") == (WITNESS,)
    assert note.cosigned_at(note.parse(SIGNED), OURS) is None
    for text, words in ((OURS.text(), "is a log's"), ("nonsense", "NAME")):
        with pytest.raises(UsageError, match=f"-witness .*{words}"):
            note.witness_keys([text], "-witness")


def test_a_verifier_key_is_read_as_it_is_written_and_not_otherwise():
    assert notes.verifier_key(WITNESS.name, note.COSIGNATURE, KEY.public_key) == WITNESS.text()
    for verifier in (OURS, WITNESS):
        assert note.verifier_key(verifier.text()) == verifier
    for text in ("", "name", WITNESS.text()[:-4], "x" + WITNESS.text(), WITNESS.text().replace("+", "+0", 1)):
        with pytest.raises(BundleError):
            note.verifier_key(text)
