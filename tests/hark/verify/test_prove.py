import pytest

from hark.bundle.proof import from_json, to_json
from hark.bundle.synth import corrupt
from hark.bundle.tree_head import sign
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, UsageError
from hark.verify.prove import check, prove
from tests.hark.bundle.bundles import EVENTS, KEY, OTHER_KEY, RUN, write


@pytest.mark.parametrize("seq", range(len(EVENTS) + 1))
def test_every_event_is_proved_to_a_file_and_checked_against_a_root_from_outside(tmp_path, seq):
    path = write(tmp_path / "b")
    proven = prove(str(path), seq, [KEY.public_key])
    with BundleFile(str(path)) as file:
        frame = list(file.frames())[seq].frame
    checked = check(
        from_json(to_json(proven.file)), root=proven.result.root, keys=[KEY.public_key], payload=frame.payload
    )
    assert (checked.root_from_outside, checked.signed_by, checked.pinned) == (True, KEY.public_key, True)
    assert checked.kind == frame.kind


def test_a_check_without_a_root_says_that_it_had_none(tmp_path):
    checked = check(prove(str(write(tmp_path / "b", key=None)), 1).file)
    assert checked == (False, b"", False, None)


def test_nothing_is_proved_from_a_bundle_that_is_broken_or_signed_by_another(tmp_path):
    path = write(tmp_path / "b")
    with pytest.raises(BundleError, match="REJECTED"):
        prove(str(path), 1, [OTHER_KEY.public_key])
    with pytest.raises(UsageError, match="no event 6"):
        prove(str(path), 6)
    corrupt(str(path), 3)
    with pytest.raises(BundleError, match="BROKEN: event 3"):
        prove(str(path), 1)


def test_each_part_that_does_not_hold_is_an_error(tmp_path):
    file = prove(str(write(tmp_path / "b")), 2).file
    other_head = sign(KEY, RUN, 6, bytes(32), 0)
    wrong = [
        (file._replace(leaf_hash=bytes(32)), {}, "does not lead"),
        (file._replace(root=bytes(32)), {}, "does not lead"),
        (file, {"root": bytes(32)}, "not for 0000"),
        (file, {"keys": [OTHER_KEY.public_key]}, "no signature by the key"),
        (file._replace(tree_head=None), {"keys": [KEY.public_key]}, "no signature by the key"),
        (file._replace(tree_head=other_head), {}, "over something else"),
        (
            file._replace(tree_head=file.tree_head._replace(signature=bytes(64))),
            {},
            "signature in the proof is not good",
        ),
        (file, {"payload": b"made up"}, "not that of event 2"),
    ]
    for proof, arguments, words in wrong:
        with pytest.raises(BundleError, match=words):
            check(proof, **arguments)
