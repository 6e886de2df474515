from hark.bundle.tree_head import sign
from hark.verify.policy import check_pins
from hark.verify.result import REJECTED
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
