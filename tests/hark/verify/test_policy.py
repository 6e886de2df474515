from hark.bundle.tree_head import sign
from hark.verify.policy import check_anchors, check_pins
from hark.verify.result import ANCHOR_REJECTED, ANCHORED, REJECTED, UNCHECKABLE, AnchorResult
from tests.hark.bundle.bundles import KEY, OTHER_KEY

HEAD = sign(KEY, "R", 1, bytes(32), 0)


def test_without_a_pin_every_signature_and_none_will_do():
    assert check_pins(HEAD, []) == check_pins(None, []) == []


def test_with_pins_only_a_signature_by_one_of_them_will_do():
    assert check_pins(HEAD, [OTHER_KEY.public_key, KEY.public_key]) == []
    for head, words in ((HEAD, "which is not the key"), (None, "not signed")):
        [finding] = check_pins(head, [OTHER_KEY.public_key])
        assert finding.verdict == REJECTED
        assert words in finding.words


HELD = AnchorResult(ANCHORED, identity="me@x.example", issuer="https://x.example")


def test_an_anchor_that_is_rejected_is_a_finding_whatever_else_holds():
    [finding] = check_anchors([HELD, AnchorResult(ANCHOR_REJECTED, "it is bent")])
    assert (finding.verdict, "it is bent" in finding.words) == (REJECTED, True)
    assert check_anchors([HELD]) == check_anchors([]) == []


def test_where_one_is_required_one_has_to_hold():
    unknown = AnchorResult(UNCHECKABLE, "nobody knows the log")
    [finding] = check_anchors([unknown], required=True)
    assert "nobody knows the log" in finding.words
    assert len(check_anchors([], required=True)) == 1
    assert check_anchors([unknown, HELD], required=True) == []


def test_where_an_identity_is_expected_no_other_anchor_is_enough():
    unknown = AnchorResult(UNCHECKABLE, "nobody knows the log")
    for anchors in ([], [HELD], [AnchorResult(ANCHORED)]):
        [finding] = check_anchors(anchors, required=True, identified=True)
        assert "under the identity that was asked for" in finding.words
    [finding] = check_anchors([HELD, unknown], identified=True)
    assert "nobody knows the log" in finding.words
    assert check_anchors([HELD._replace(expected=True)], required=True, identified=True) == []
