import pytest

from hark.bundle import checkpoint, note
from hark.bundle.tree_head import signed_bytes
from hark.errors import BundleError
from tests.hark.bundle.bundles import KEY, OTHER_KEY, RUN

ROOT = bytes(range(32))
SIGNED = checkpoint.sign(RUN, 5, ROOT, KEY)


def test_a_run_signs_as_a_log_of_its_own_name():
    found, read = checkpoint.read(SIGNED, KEY.public_key)
    assert found == (f"hark/run/{RUN}", 5, ROOT)
    assert checkpoint.run_of(found.origin) == RUN
    assert [one.name for one in read.signatures] == [found.origin]
    assert note.is_signed_by(read, note.verifier_key(checkpoint.verifier(RUN, KEY.public_key).text()))


def test_another_key_or_text_is_refused():
    for text, key in ((SIGNED, OTHER_KEY), (SIGNED.replace("\n5\n", "\n6\n"), KEY), (SIGNED.lower(), KEY)):
        with pytest.raises(BundleError):
            checkpoint.read(text, key.public_key)


def test_a_note_under_another_name_is_no_runs():
    other = note.signed("log.example", note.checkpoint_text("log.example", 5, ROOT), KEY)
    with pytest.raises(BundleError, match="no run of hark"):
        checkpoint.read(other, KEY.public_key)
    named = note.signed("log.example", note.checkpoint_text(f"hark/run/{RUN}", 5, ROOT), KEY)
    with pytest.raises(BundleError, match="not signed by the run's key"):
        checkpoint.read(named, KEY.public_key)


def test_a_runs_checkpoint_has_no_more_lines_than_three():
    text = note.checkpoint_text(f"hark/run/{RUN}", 5, ROOT) + "more\n"
    with pytest.raises(BundleError, match="lines that no run's"):
        checkpoint.read(note.signed(f"hark/run/{RUN}", text, KEY), KEY.public_key)


@pytest.mark.parametrize("run", ["", "two words", "a+b", "line\nbreak", "nul\0", "\u2003", "\u202e"])
def test_a_run_whose_id_is_no_name_signs_none(run):
    assert checkpoint.sign(run, 5, ROOT, KEY) == ""


def test_what_a_tree_head_is_over_is_no_note():
    with pytest.raises(BundleError, match="control characters"):
        note.parse(signed_bytes(RUN, 5, ROOT, 7).decode("latin-1") + "\n\n— a b\n")
