import os
import stat

import pytest

from hark.bundle.redact import redact
from hark.bundle.synth import truncate
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, UsageError
from hark.verify import VERIFIED, verify
from tests.hark.bundle.bundles import EVENTS, KEY, write


def test_a_redacted_copy_keeps_leaf_root_and_signature_and_loses_the_payload(tmp_path):
    path, copy = write(tmp_path / "b"), tmp_path / "copy"
    assert redact(str(path), [1, 3], str(copy)) == (1, 3)
    before, after = verify(str(path)), verify(str(copy), [KEY.public_key])
    assert (after.verdict, after.redacted, after.root) == (VERIFIED, (1, 3), before.root)
    assert "REDACTED 2" in after.line()
    with BundleFile(str(path)) as one, BundleFile(str(copy)) as other:
        for old, new in zip(one.frames(), other.frames(), strict=True):
            expected = b"" if new.frame.seq in {1, 3} else old.frame.payload
            assert new.frame == old.frame._replace(payload=expected)
    assert b"a.example" in path.read_bytes()
    assert b"a.example" not in copy.read_bytes()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_redacting_again_adds_to_what_is_redacted(tmp_path):
    redact(str(write(tmp_path / "b")), [3], str(tmp_path / "one"))
    assert redact(str(tmp_path / "one"), [1], str(tmp_path / "two")) == (1, 3)
    assert verify(str(tmp_path / "two")).redacted == (1, 3)


@pytest.mark.parametrize(
    ("seq", "words"), [(0, "RunStart"), (len(EVENTS), "Seal"), (99, "no event 99"), (-1, "no event")]
)
def test_what_covers_the_rest_and_what_is_not_there_cannot_be_redacted(tmp_path, seq, words):
    with pytest.raises(UsageError, match=words):
        redact(str(write(tmp_path / "b")), [1, seq], str(tmp_path / "copy"))
    assert not (tmp_path / "copy").exists()


def test_a_bundle_that_is_not_sealed_is_not_redacted_and_nothing_is_overwritten(tmp_path):
    path = write(tmp_path / "b")
    (tmp_path / "there").write_text("mine")
    with pytest.raises(UsageError, match="File exists"):
        redact(str(path), [1], str(tmp_path / "there"))
    assert (tmp_path / "there").read_text() == "mine"
    truncate(str(path), 4)
    with pytest.raises(BundleError, match="not sealed"):
        redact(str(path), [1], str(tmp_path / "copy"))
    assert os.listdir(tmp_path).count("copy") == 0
