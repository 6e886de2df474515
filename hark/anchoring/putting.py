"""Anchoring a bundle that is sealed: what is looked at before anything becomes public, and what is put behind
it.

What always holds: a bundle that does not verify, has no signature, was signed with another key, may not be
written, or has no room for an anchor more is refused before a server is asked; the tree head is not signed
anew, and it is still the same one when the footer is replaced; anchors that are there stay.
"""

import os
import stat

from hark.anchoring.making import Anchoring, Made, make
from hark.bundle.anchor import MAX_ANCHORS
from hark.bundle.footing import change_footer, footer_of
from hark.bundle.header import Footer
from hark.bundle.tree_head import SigningKey, TreeHead
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, UsageError
from hark.keys import name
from hark.verify.result import TRUNCATED, VERIFIED
from hark.verify.steps import verify


def put(path: str, signer: SigningKey | None, asked: Anchoring) -> tuple[Made, ...]:
    """Anchor a bundle, verified first. What is raised (a HarkError) leaves it as it was."""
    result = verify(path, trust=asked.trust)
    if result.verdict == TRUNCATED:
        raise BundleError(f"{path} is not sealed, so nobody signed what could be anchored: {result.line()}")
    if result.verdict != VERIFIED:
        raise BundleError(f"nothing is anchored that does not verify: {result.line()}")
    return put_head(path, signer, asked)


def put_head(
    path: str, signer: SigningKey | None, asked: Anchoring, head: TreeHead | None = None
) -> tuple[Made, ...]:
    """Anchor a bundle that is known to verify; `head` is the one that was signed, where the caller knows."""
    with BundleFile(path) as file:
        footer = footer_of(file)[1]
    signed = footer.tree_head
    if signed is None:
        raise UsageError(f"{path} is not signed, and what is anchored is a signed tree head")
    if head is not None and signed != head:
        raise BundleError(f"{path} is not the bundle that was sealed; it is not anchored")
    _refuse(path, footer, signed, signer, asked)
    made = make(signed, signer, asked)

    def add(found: Footer) -> Footer:
        if found.tree_head != signed:
            raise BundleError(f"{path} has changed while it was anchored; nothing was put behind it")
        return found._replace(anchors=(*found.anchors, *(one.anchor for one in made)))

    change_footer(path, add)
    return made


def _refuse(path: str, footer: Footer, head: TreeHead, signer: SigningKey | None, asked: Anchoring) -> None:
    """Refuse what would fail later, when the entry is public."""
    if asked.token is None and (signer is None or signer.public_key != head.public_key):
        whose = f"{head.public_key.hex()} ({name(head.public_key)})"
        raise UsageError(
            f"{path} is signed by {whose}: name that key with -key, or anchor it under -identity"
        )
    if len(footer.anchors) + max(1, asked.services.logs.needed) > MAX_ANCHORS:
        raise UsageError(
            f"{path} has {len(footer.anchors)} anchors, and {MAX_ANCHORS} are the most it may have"
        )
    if not os.stat(path).st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
        raise UsageError(f"{path} is read-only; to have it anchored: chmod u+w {path}")
    directory = os.path.dirname(os.path.realpath(path))
    if not os.access(directory, os.W_OK):
        raise UsageError(f"the directory {directory} may not be written, where {path} would be replaced")
