"""The anchors of a tree head as a proof file carries them: JSON of text and hexadecimal.

What always holds: what is read has its form or is a BundleError; an anchor that does not hold is one too, so
that no proof passes with it. Those of a bundle that would make the file large are left out, all of them: half
a list would mislead.
"""

from typing import TYPE_CHECKING, Any, Final

from hark.bundle.anchor import MAX_ANCHORS, Anchor
from hark.bundle.footing import footer_of
from hark.bundle.tree_head import TreeHead
from hark.bundle.walk import BundleFile
from hark.errors import BundleError
from hark.verify.result import ANCHOR_REJECTED, AnchorResult

if TYPE_CHECKING:
    from hark.verify.anchor import Trust

MAX_BYTES: Final = 1 << 20  # of sigstore bundles in one proof; one has 10 kB


def of_bundle(path: str) -> list[dict[str, str | None]]:
    """Return what a proof from the bundle at `path` carries."""
    with BundleFile(path) as file:
        anchors = footer_of(file)[1].anchors
    if sum(len(anchor.bundle) for anchor in anchors) > MAX_BYTES:
        return []
    return [
        {
            "bundle": anchor.bundle.decode("utf-8", "replace"),
            "key": anchor.key.hex() or None,
            "certification": anchor.certification.hex() or None,
        }
        for anchor in anchors
    ]


def judged_in(raw: object, head: TreeHead | None, trust: "Trust | None") -> tuple[AnchorResult, ...]:
    """Judge what a proof carries, about the tree head in it."""
    from hark.bundle.header import Footer
    from hark.verify.anchor import Trust, judged

    if not isinstance(raw, list) or len(raw) > MAX_ANCHORS:
        raise BundleError(f"not a proof: anchors is not a list of at most {MAX_ANCHORS}")
    footer = Footer(tree_head=head, anchors=tuple(map(_anchor, raw)))
    trust = trust or Trust()
    results = judged(footer, trust)
    for result in results:
        if result.state == ANCHOR_REJECTED:
            raise BundleError(f"the proof's anchor does not hold: {result.why}")
    if trust.identities and not any(result.expected for result in results):
        raise BundleError("no anchor in the proof holds under the identity that was asked for")
    return results


def _anchor(value: Any) -> Anchor:
    if not isinstance(value, dict) or not isinstance(value.get("bundle"), str):
        raise BundleError("not a proof: an anchor in it has no sigstore bundle")
    try:
        bundle = value["bundle"].encode()
        return Anchor(bundle, *(bytes.fromhex(value.get(name) or "") for name in ("key", "certification")))
    except (ValueError, TypeError):
        raise BundleError("not a proof: an anchor in it is not written as text and hexadecimal") from None
