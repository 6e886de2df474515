"""Step 15 of `hark.verify.steps`: what an anchor does to the verdict, its line and the limits."""

from pathlib import Path

import pytest

from hark.bundle import footing
from hark.bundle.footing import change_footer
from hark.bundle.redact import redact
from hark.bundle.walk import BundleFile
from hark.verify import REJECTED, VERIFIED, verify
from hark.verify.anchor import Trust
from tests.hark.bundle.bundles import EVENTS, KEY, another_writers, plain, write
from tests.support.anchored import anchor_of, local

SMALL = (EVENTS[0], EVENTS[4])


def test_15_an_entry_that_is_named_without_a_proof_is_never_called_an_anchor(tmp_path):
    result = verify(str(another_writers(tmp_path / "b", plain(), rekor_entry="{}", rekor_index=7)))
    assert (result.verdict, result.anchored) == (VERIFIED, False)
    assert "anchor not checkable" in result.line()
    assert "anchored" not in result.line()
    assert "holds no proof" in result.said_of_anchors()[0]
    assert any("only an anchor does, and it has none that holds" in limit for limit in result.limits)


def anchored(tmp_path, change=lambda anchor: anchor, **how):
    """A bundle with an anchor in the local log, and whom to believe."""
    log, path = local(tmp_path / "log"), write(tmp_path / "b")

    def add(footer):
        return footer._replace(anchors=(change(anchor_of(log, footer.tree_head, KEY, **how)),))

    change_footer(str(path), add)
    return str(path), Trust(log.trusted_root.read_bytes())


@pytest.mark.parametrize(
    "how", [{}, {"version": 1}, {"identity": True}], ids=["key", "first-version", "identity"]
)
def test_15_an_anchor_that_holds_is_said_with_log_number_and_time(tmp_path, how):
    path, trust = anchored(tmp_path, **how)
    result = verify(path, [KEY.public_key], trust=trust)
    assert (result.verdict, result.exit_code, result.anchored) == (VERIFIED, 0, True)
    assert "anchored 2026-05-04 12:00:00 UTC" in result.line()
    (sentence,) = result.said_of_anchors()
    assert f"entry {result.anchors[0].number} of log.example:3000" in sentence
    assert any("it is the only record" in limit for limit in result.limits)
    assert not any("only an anchor" in limit for limit in result.limits)


def test_15_an_anchor_that_does_not_hold_rejects_the_bundle_and_nothing_says_verified(tmp_path):
    """Trap 53: the worst finding decides the one line and the exit code."""
    path, trust = anchored(tmp_path, lie="checkpoint")
    result = verify(path, [KEY.public_key], trust=trust)
    assert (result.verdict, result.exit_code, result.anchored) == (REJECTED, 1, False)
    assert (result.findings[0].step, result.findings[0].verdict) == (15, REJECTED)
    assert "VERIFIED" not in result.line()
    assert "not signed by the log's key" in result.line()


def test_15_one_anchor_that_does_not_hold_outweighs_others_that_do(tmp_path):
    path, trust = anchored(tmp_path)
    change_footer(path, lambda f: f._replace(anchors=(*f.anchors, f.anchors[0]._replace(certification=b""))))
    result = verify(path, trust=trust)
    assert (result.verdict, result.anchored) == (REJECTED, False)
    assert [anchor.state for anchor in result.anchors] == ["anchored", "rejected"]


def test_15_an_anchor_in_a_log_that_nobody_believes_is_not_checkable_and_says_why(tmp_path):
    path, trust = anchored(tmp_path)
    result = verify(path)
    assert (result.verdict, result.anchored) == (VERIFIED, False)
    assert "anchor not checkable" in result.line()
    assert "the trust root does not name" in result.said_of_anchors()[0]
    required = verify(path, trust=Trust(required=True))
    assert (required.verdict, required.findings[0].step) == (REJECTED, 15)
    assert "the trust root does not name" in required.line()
    assert verify(path, trust=trust._replace(required=True)).verdict == VERIFIED


def test_15_a_bundle_without_an_anchor_is_rejected_where_one_is_asked_for(tmp_path):
    path = str(write(tmp_path / "b"))
    assert verify(path).said_of_anchors() == ["It is not anchored."]
    assert verify(path, trust=Trust(required=True)).verdict == REJECTED


def test_15_an_anchor_outlives_redaction_and_is_of_this_tree_head_alone(tmp_path):
    path, trust = anchored(tmp_path)
    redact(path, [1], str(tmp_path / "copy"))
    assert verify(str(tmp_path / "copy"), trust=trust).anchored
    anchors = footing_of(path).anchors
    other = write(tmp_path / "other", (*SMALL, EVENTS[3]))
    change_footer(str(other), lambda footer: footer._replace(anchors=anchors))
    assert verify(str(other), trust=trust).verdict == REJECTED


def footing_of(path):
    with BundleFile(path) as file:
        return footing.footer_of(file)[1]


@pytest.mark.slow
def test_no_flip_of_a_byte_in_an_anchor_leaves_it_anchored_otherwise(tmp_path):
    """A flip is rejected or not checkable, or leaves (in what no signature is over) the same anchor."""
    path, trust = anchored(tmp_path)
    whole, before = bytearray(Path(path).read_bytes()), verify(path, trust=trust)
    for at in range(whole.index(b"mediaType") - 30, len(whole)):
        whole[at] ^= 0x01
        Path(path).write_bytes(whole)
        result = verify(path, trust=trust)
        whole[at] ^= 0x01
        assert not result.anchored or result.anchors == before.anchors
