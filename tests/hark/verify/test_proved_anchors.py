import json

import pytest

from hark.bundle.anchor import MAX_ANCHORS, Anchor
from hark.bundle.footing import change_footer
from hark.bundle.tree_head import sign
from hark.errors import BundleError
from hark.verify import proved_anchors as module
from hark.verify.anchor import Identity, Trust
from hark.verify.proved_anchors import judged_in, of_bundle
from hark.verify.result import ANCHORED, UNCHECKABLE
from tests.hark.bundle.bundles import KEY, RUN, write
from tests.support.anchored import URL, WHO, anchor_of, local

HEAD = sign(KEY, RUN, 3, bytes(range(32)), 7)


@pytest.fixture
def log(tmp_path):
    return local(tmp_path / "log")


def raw_of(tmp_path, log):
    """What a proof carries, and the tree head that it is about."""
    path, heads = write(tmp_path / "b"), []

    def add(footer):
        heads.append(footer.tree_head)
        return footer._replace(anchors=(anchor_of(log, footer.tree_head, KEY),))

    change_footer(str(path), add)
    return json.loads(json.dumps(of_bundle(str(path)))), heads[0]


def test_an_anchor_goes_along_and_is_judged_again(tmp_path, log):
    raw, head = raw_of(tmp_path, log)
    (found,) = judged_in(raw, head, Trust(log.trusted_root.read_bytes()))
    assert (found.state, found.number) == (ANCHORED, 3)
    (unknown,) = judged_in(raw, head, None)
    assert unknown.state == UNCHECKABLE


def test_an_anchor_of_another_head_or_of_none_fails_the_proof(tmp_path, log):
    raw, _ = raw_of(tmp_path, log)
    for head in (HEAD, None):
        with pytest.raises(BundleError, match="does not hold"):
            judged_in(raw, head, Trust(log.trusted_root.read_bytes()))


@pytest.mark.parametrize(
    "raw",
    [
        5,
        [5],
        [{}],
        [{"bundle": 5}],
        [{"bundle": "", "key": "zz"}],
        [{"bundle": "", "key": 5}],
        [{"bundle": ""}] * (MAX_ANCHORS + 1),
    ],
)
def test_what_is_no_list_of_anchors_is_no_proof(raw):
    with pytest.raises(BundleError, match="not a proof"):
        judged_in(raw, HEAD, None)


def test_anchors_that_would_bury_the_proof_are_left_out(tmp_path):
    path = write(tmp_path / "b")
    change_footer(str(path), lambda footer: footer._replace(anchors=(Anchor(b"x" * (module.MAX_BYTES + 1)),)))
    assert of_bundle(str(path)) == []


def test_where_an_identity_is_expected_a_proof_without_its_anchor_fails(tmp_path, log):
    trust = Trust(log.trusted_root.read_bytes(), identities=(Identity(WHO, f"{URL}/oidc"),))
    raw, head = raw_of(tmp_path, log)
    for anchors in (raw, []):
        with pytest.raises(BundleError, match="under the identity that was asked for"):
            judged_in(anchors, head, trust)
    anchor = anchor_of(log, head, KEY, identity=True)
    theirs = {"bundle": anchor.bundle.decode(), "key": None, "certification": None}
    assert [one.expected for one in judged_in([*raw, theirs], head, trust)] == [False, True]
    with pytest.raises(BundleError, match="another one was asked for"):
        judged_in([theirs], head, trust._replace(identities=(Identity("you@x.example", f"{URL}/oidc"),)))
