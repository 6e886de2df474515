"""Whose signature is enough, and which anchors. Pure functions of what was found and what the caller expects.

What always holds: with a pin, only a good signature by one of the pinned keys passes; nothing in the bundle
can widen that. Without a pin every key passes, and the verdict says that nobody vouches for it. An anchor
that does not hold rejects the bundle, whatever others hold beside it.
"""

from collections.abc import Sequence

from hark.bundle.tree_head import TreeHead
from hark.verify.result import ANCHOR_REJECTED, ANCHORED, REJECTED, UNCHECKABLE, AnchorResult, Finding
from hark.visible import printable

STEP = 14
ANCHOR_STEP = 15


def check_pins(head: TreeHead | None, keys: Sequence[bytes]) -> list[Finding]:
    """Findings about who signed, given the expected public keys; none if `keys` is empty."""
    if not keys:
        return []
    if head is None:
        return [Finding(REJECTED, STEP, "it is not signed, and a signature by a given key was asked for")]
    if head.public_key not in keys:
        words = f"it is signed by {head.public_key.hex()}, which is not the key that was asked for"
        return [Finding(REJECTED, STEP, words)]
    return []


def check_anchors(
    anchors: Sequence[AnchorResult], *, required: bool = False, identified: bool = False
) -> list[Finding]:
    """Findings about anchors: each that is rejected, and that none holds where one is `required`.

    Where one has to be `identified`, only an anchor under an identity that the caller expects is one.
    """
    words = [
        f"its anchor does not hold: {anchor.why}" for anchor in anchors if anchor.state == ANCHOR_REJECTED
    ]
    held = [anchor for anchor in anchors if anchor.state == ANCHORED]
    why = "; ".join(anchor.why for anchor in anchors if anchor.state == UNCHECKABLE)
    if identified and not any(anchor.expected for anchor in held):
        what = "no anchor of it holds under the identity that was asked for"
        words.append(f"{what}{f': {why}' if why else ''}")
    elif required and not held:
        words.append(f"no anchor of it holds, and one was asked for{f': {why}' if why else ''}")
    return [Finding(REJECTED, ANCHOR_STEP, printable(one)) for one in words]
