"""Whose signature is enough. A pure function of a tree head and the keys that the caller expects.

What always holds: with a pin, only a good signature by one of the pinned keys passes; nothing in the bundle
can widen that. Without a pin every key passes, and the verdict says that nobody vouches for it.
"""

from collections.abc import Sequence

from hark.bundle.tree_head import TreeHead
from hark.verify.result import REJECTED, Finding

STEP = 14


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
