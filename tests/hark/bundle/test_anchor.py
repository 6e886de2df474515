import pytest

from hark.bundle import anchor as module
from hark.bundle.anchor import Anchor, anchors_from_raw, anchors_to_raw, artifact, certify, is_certified
from hark.bundle.header import Footer, decode_footer, decode_written_footer, encode_footer
from hark.bundle.tree_head import decode_tree_head, sign
from hark.errors import BundleError
from tests.hark.bundle.bundles import KEY, OTHER_KEY, RUN

HEAD = sign(KEY, RUN, 3, bytes(range(32)), 7)
ANCHOR = Anchor(b"{}", b"key", certify(KEY, HEAD, b"key"))


def test_what_is_anchored_is_the_whole_signed_tree_head():
    assert decode_tree_head(artifact(HEAD)) == HEAD
    for other in (HEAD._replace(signature=bytes(64)), HEAD._replace(public_key=bytes(32))):
        assert artifact(other) != artifact(HEAD)


def test_a_certification_is_for_one_key_and_one_head():
    assert is_certified(ANCHOR, HEAD)
    assert not is_certified(ANCHOR._replace(key=b"other"), HEAD)
    assert not is_certified(ANCHOR._replace(certification=b""), HEAD)
    assert not is_certified(ANCHOR, sign(KEY, RUN, 3, bytes(range(32)), 8))
    assert not is_certified(ANCHOR._replace(certification=certify(OTHER_KEY, HEAD, b"key")), HEAD)


def test_a_footer_holds_anchors_under_a_key_that_format_1_skips():
    footer = Footer(3, bytes(32), bytes(32), HEAD, anchors=(ANCHOR, Anchor(b"identity")))
    data = encode_footer(footer)
    assert decode_footer(data) == decode_written_footer(data) == footer
    assert encode_footer(footer._replace(anchors=())) == encode_footer(Footer(3, bytes(32), bytes(32), HEAD))
    assert module.KEY >= 32
    assert anchors_from_raw(anchors_to_raw(footer.anchors)) == footer.anchors


@pytest.mark.parametrize("raw", [{}, "x", [1], [{1: "text"}], [{}] * 9])
def test_what_is_no_list_of_anchors_is_refused(raw):
    with pytest.raises(BundleError):
        anchors_from_raw(raw)
