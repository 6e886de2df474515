"""Steps 16 and 17, each with what they let pass and what they do not."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from demo.translog import notes
from hark.bundle import checkpoint, note, sha256tree
from hark.bundle.header import decode_footer, encode_footer
from hark.bundle.note import Verifier
from hark.bundle.redact import redact
from hark.bundle.walk import BundleFile
from hark.verify import BROKEN, REJECTED, VERIFIED, verify
from hark.verify.limits import NO_CHECKPOINT
from tests.hark.bundle.bundles import KEY, OTHER_KEY, RUN, another_writers, plain, write

NAME = "w.example/1"
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
WITNESS = Verifier(NAME, note.COSIGNATURE, PRIVATE.public_key().public_bytes_raw())


def footer_of(path):
    with BundleFile(str(path)) as file:
        walk = file.walk()
        list(walk)
        return decode_footer(file.footer_block(walk.at))


def with_checkpoint(tmp_path, text, **changes):
    return str(another_writers(tmp_path / "b", plain(), checkpoint=text, **changes))


def root_of(events):
    from hark.bundle.hashing import leaf_hash

    tree = sha256tree.Tree()
    for seq, (kind, _, payload) in enumerate(events):
        tree.add(leaf_hash(seq, kind, payload))
    return tree.root()


GOOD = checkpoint.sign(RUN, 1, root_of(plain()), KEY)


def test_what_hark_writes_holds_a_checkpoint_of_its_own(tmp_path):
    path = str(write(tmp_path / "b"))
    result = verify(path)
    assert (result.verdict, result.tlog.origin, result.tlog.cosignatures) == (VERIFIED, f"hark/run/{RUN}", ())
    found, _ = checkpoint.read(footer_of(path).checkpoint, KEY.public_key)
    assert (found.size, found.root) == (1, result.tlog.root)
    assert note.verifier_key(result.tlog.verifier_key).key == KEY.public_key


def test_a_bundle_without_one_stays_valid_and_is_said_to_have_none(tmp_path):
    result = verify(str(another_writers(tmp_path / "b", plain())))
    assert (result.verdict, result.tlog) == (VERIFIED, None)
    assert NO_CHECKPOINT in result.limits
    assert NO_CHECKPOINT not in verify(str(write(tmp_path / "c"))).limits
    assert NO_CHECKPOINT not in verify(str(write(tmp_path / "d", key=None))).limits


def test_an_unsigned_run_has_none(tmp_path):
    path = write(tmp_path / "b", key=None)
    assert footer_of(path).checkpoint == ""
    assert verify(str(path)).tlog is None


def test_taking_payloads_out_leaves_it(tmp_path):
    redact(str(write(tmp_path / "b")), [1], str(tmp_path / "c"))
    assert verify(str(tmp_path / "c")).tlog == verify(str(tmp_path / "b")).tlog


def test_16_the_checkpoint_is_over_these_events(tmp_path):
    assert verify(with_checkpoint(tmp_path, GOOD)).verdict == VERIFIED


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (checkpoint.sign(RUN, 1, bytes(32), KEY), "other events"),
        (checkpoint.sign(RUN, 2, root_of(plain()), KEY), "other events"),
        (checkpoint.sign("01J8X00000000000000000ELSE", 1, root_of(plain()), KEY), "other events"),
        (checkpoint.sign(RUN, 1, root_of(plain()), OTHER_KEY), "not signed by the run's key"),
        (GOOD.replace("\n1\n", "\n2\n"), "not signed by the run's key"),
        ("no note", "blank line"),
    ],
)
def test_16_any_other_checkpoint_breaks_the_bundle(tmp_path, text, words):
    result = verify(with_checkpoint(tmp_path, text))
    assert (result.verdict, result.findings[0].step, result.tlog) == (BROKEN, 16, None)
    assert words in result.findings[0].words


def test_16_a_checkpoint_without_a_tree_head_is_nobodys(tmp_path):
    result = verify(with_checkpoint(tmp_path, GOOD, tree_head=None))
    assert (result.verdict, result.findings[0].step) == (BROKEN, 16)


def test_16_a_checkpoint_that_the_seal_names_cannot_be_taken_out(tmp_path):
    path = write(tmp_path / "b")
    with BundleFile(str(path)) as file:
        walk = file.walk()
        list(walk)
    footer = encode_footer(footer_of(path)._replace(checkpoint=""))
    path.write_bytes(path.read_bytes()[: walk.at + 4] + len(footer).to_bytes(4) + footer)
    result = verify(str(path))
    assert (result.verdict, result.findings[0].step) == (BROKEN, 16)
    assert "it holds none" in result.findings[0].words


def test_17_a_witness_that_was_named_has_cosigned(tmp_path):
    text = GOOD + notes.cosign(NAME, PRIVATE, GOOD.partition("\n\n")[0] + "\n", 1_700_000_000)
    path = with_checkpoint(tmp_path, text)
    result = verify(path, witnesses=[WITNESS])
    assert result.verdict == VERIFIED
    assert "cosigned by w.example/1" in result.line()
    assert result.cosignatures[0].sentence() == "It is cosigned by w.example/1, 2023-11-14 22:13:20 UTC."
    unnamed = verify(path)
    assert "cosigned" not in unnamed.line()
    assert "was not checked" in unnamed.cosignatures[0].sentence()


def test_17_a_witness_that_has_not_cosigned_rejects_the_bundle(tmp_path):
    for text in (GOOD, "", GOOD + note.Signature(NAME, WITNESS.key_id, bytes(72)).line()):
        result = verify(with_checkpoint(tmp_path, text), witnesses=[WITNESS])
        assert (result.verdict, result.findings[0].step) == (REJECTED, 17)
    elsewhere = GOOD + notes.cosign(NAME, PRIVATE, "hark/run/other\n1\nx\n", 7)
    assert verify(with_checkpoint(tmp_path, elsewhere), witnesses=[WITNESS]).verdict == REJECTED


def test_a_time_beyond_every_calendar_is_still_said(tmp_path):
    text = GOOD + notes.cosign(NAME, PRIVATE, GOOD.partition("\n\n")[0] + "\n", (1 << 63) - 1)
    (found,) = verify(with_checkpoint(tmp_path, text), witnesses=[WITNESS]).cosignatures
    assert "at second 9223372036854775807" in found.sentence()
