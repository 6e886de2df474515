"""What a header says of a run's parent, for people and for programs."""

from hark.bundle.header import Header
from hark.bundle.lineage import ORIGINAL, lineage_of

FORK = Header(run_id="R", parent_root=b"p" * 32, fork_point=24, patch_hash=b"h" * 32)


def test_a_run_of_its_own_has_no_words():
    assert lineage_of(Header(run_id="R")) == ORIGINAL
    assert (ORIGINAL.words(), ORIGINAL.record()) == ("", None)


def test_a_fork_names_root_event_and_patch():
    lineage = lineage_of(FORK)
    assert lineage.words() == (
        f"a fork of the bundle with root {'70' * 32} at its event 24, with the patch {'68' * 32}"
    )
    assert lineage.record() == {"parent_root": "70" * 32, "fork_point": 24, "patch_hash": "68" * 32}


def test_a_fork_without_a_patch_says_so():
    lineage = lineage_of(FORK._replace(patch_hash=b""))
    assert lineage.words().endswith("at its event 24, without a patch")
    assert lineage.record() == {"parent_root": "70" * 32, "fork_point": 24, "patch_hash": None}
