"""Step 15 of verification: the anchors in a footer, judged offline. And the one door to sigstore.

What always holds: nothing is asked of a network; what is believed is the file that the caller names, or the
trust root of the public logs as the installed `sigstore` package ships it; nothing in a bundle adds to it.
`sigstore` itself is imported only to get the identity that an anchor is made under, its data only where there
is an anchor to judge.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from hark.bundle.anchor import Anchor, artifact, is_certified
from hark.bundle.header import Footer
from hark.bundle.tree_head import TreeHead
from hark.errors import UsageError
from hark.verify.result import ANCHOR_REJECTED, ANCHORED, UNCHECKABLE, AnchorResult

if TYPE_CHECKING:
    from hark.anchor.trusted_root import TrustedRoot
    from hark.bundle.note import Verifier

PUBLIC: Final = "https%3A%2F%2Ftuf-repo-cdn.sigstore.dev"
"""The folder of the `sigstore` package in which the data of the public logs lies.

Not by the package's `ClientTrustConfig`, which believes a copy in the home directory first (ADR 0032).
"""
MAX_ROOT: Final = 4 << 20  # bytes of a trust root; the public one has 10 kB
NOT_OURS: Final = AnchorResult(ANCHOR_REJECTED, "the sigstore bundle is not written as hark writes one")
TOKEN_VARIABLE: Final = "SIGSTORE_IDENTITY_TOKEN"  # noqa: S105 - its name
NO_PROOF: Final = "it names an entry in a log, and holds no proof of it"


class Identity(NamedTuple):
    """Who is expected to have anchored: both parts exactly as the certificate has them, no patterns."""

    name: str
    """What the certificate is for: an address, or the URI of a workflow."""
    issuer: str
    """Who vouched for that name: the URL of an OIDC issuer."""


class Trust(NamedTuple):
    """Whose word counts."""

    root: bytes | None = None
    """A trust root to use instead of that of the public logs."""
    witnesses: tuple[str, ...] = ()
    """Verifier keys of those who must have cosigned every checkpoint."""
    required: bool = False
    """Refuse a bundle that has no anchor which holds."""
    identities: tuple[Identity, ...] = ()
    """Refuse anchors under any other identity, and a bundle that has no anchor under one of these."""


def public_data(name: str) -> bytes:
    """Return a file of the public logs' data, `trusted_root.json` or `signing_config.v0.2.json`."""
    from importlib.resources import files

    try:
        return (files("sigstore._store") / PUBLIC / name).read_bytes()
    except (ImportError, OSError):
        words = f"the installed sigstore package has no {name} of the public logs where it used to be"
        raise UsageError(f"{words}; name yours with -trusted-root or -signing-config") from None


def trusted_root(data: bytes | None) -> "TrustedRoot":
    """Return the trust root that `data` is, or that of the public logs. Raises UsageError."""
    from hark.anchor import trusted_root as roots
    from hark.anchor.jsonform import MalformedError

    try:
        return roots.parse(public_data("trusted_root.json") if data is None else data)
    except MalformedError as error:
        raise UsageError(f"-trusted-root: {error}") from None


def witness_keys(texts: Sequence[str]) -> "tuple[Verifier, ...]":
    """Return the verifier keys that `texts` are. Raises UsageError."""
    from hark.bundle import note

    return note.witness_keys(texts, "-log-witness")


def judged(footer: Footer, trust: Trust) -> tuple[AnchorResult, ...]:
    """Judge every anchor of a footer whose tree head is well signed."""
    if footer.tree_head is None or not footer.anchors:
        return _unproved(footer)
    root, witnesses = trusted_root(trust.root), witness_keys(trust.witnesses)
    found = [judged_one(anchor, footer.tree_head, root, witnesses) for anchor in footer.anchors]
    return tuple(_expected(one, trust.identities) for one in found) + (
        _unproved(Footer(rekor_entry=footer.rekor_entry))
    )


def _expected(found: AnchorResult, identities: tuple[Identity, ...]) -> AnchorResult:
    """Hold an anchor against the identities that are asked for; one by the run's key has none."""
    if not identities or not found.identity:
        return found
    if Identity(found.identity, found.issuer) in identities:
        return found._replace(expected=True)
    return AnchorResult(
        ANCHOR_REJECTED, f"it is {found.under()}, and an anchor under another one was asked for"
    )


def _unproved(footer: Footer) -> tuple[AnchorResult, ...]:
    """What there is to say of keys 5 and 6, and of an anchor to no tree head."""
    if footer.anchors:
        return (AnchorResult(ANCHOR_REJECTED, "it is anchored, and has no signed tree head to anchor"),)
    return (AnchorResult(UNCHECKABLE, NO_PROOF),) if footer.rekor_entry else ()


def judged_one(
    anchor: Anchor, head: TreeHead, root: "TrustedRoot", witnesses: "tuple[Verifier, ...]" = ()
) -> AnchorResult:
    """Judge one anchor of a tree head."""
    from hark.anchor.jsonform import MalformedError
    from hark.anchor.judge import judge
    from hark.anchor.outcome import RejectedError, UncheckableError

    if anchor.key and not is_certified(anchor, head):
        why = "the key that signed this tree head has not certified the anchoring key"
        return AnchorResult(ANCHOR_REJECTED, why)
    try:
        held = judge(anchor.bundle, artifact(head), root, key=anchor.key, witnesses=witnesses)
        return AnchorResult(ANCHORED, "", *held) if _is_ours(anchor) else NOT_OURS
    except UncheckableError as error:
        return AnchorResult(UNCHECKABLE, str(error))
    except (RejectedError, MalformedError) as error:
        return AnchorResult(ANCHOR_REJECTED, str(error))


def _is_ours(anchor: Anchor) -> bool:
    """Tell whether an anchor that holds is written as hark writes one: nothing in it is left unread."""
    from hark.anchor import entry, keys

    signed = entry.parse(anchor.bundle)
    known = keys.PublicKey(anchor.key).is_p256() if anchor.key else not anchor.certification
    return known and signed.hint == keys.hint(anchor.key) and entry.write(signed) == anchor.bundle


def identity_token(environ: Mapping[str, str]) -> str:
    """Return an identity token: SIGSTORE_IDENTITY_TOKEN, or what the surroundings (a CI's runner) give.

    Raises UsageError where there is none.
    """
    if token := environ.get(TOKEN_VARIABLE, "").strip():
        return token
    from sigstore.oidc import IdentityError, detect_credential

    try:
        found: str | None = detect_credential()
    except IdentityError as error:
        raise UsageError(f"no identity token could be had here: {error}") from None
    if not found:
        raise UsageError(
            f"there is no identity here: {TOKEN_VARIABLE} is not set, and this is no CI that gives one"
        )
    return found
