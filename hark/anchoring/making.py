"""Making an anchor of a tree head: a key for it alone, its certification or certificate, stamps, and the
log's entry.

What always holds: the order is such that what would fail fails before anything is public: the stamp comes
before the entry. The anchoring key is made here, signs once and is forgotten. What a log answers is judged as
any reader would, and what does not hold is not kept; where the trust root does not know the log, it is kept
and said.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from hark.anchor import entry, keys
from hark.anchor.body import Claim
from hark.anchor.entry import Signed
from hark.anchoring import clients
from hark.anchoring.services import Choice, Service, Services
from hark.bundle.anchor import Anchor, artifact, certify
from hark.bundle.tree_head import SigningKey, TreeHead
from hark.errors import UpstreamError
from hark.verify.anchor import Trust, judged_one, trusted_root
from hark.verify.result import ANCHOR_REJECTED, AnchorResult

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey


class Anchoring(NamedTuple):
    """What the user wants: whom to ask, whom to believe, and on whose word."""

    services: Services
    trust: Trust = Trust()
    token: Callable[[], str] | None = None
    """Gets an identity token when it is needed; None: the key of the run certifies the anchoring key."""
    words: tuple[str, ...] = ()
    """Options of a command line that asks for the same."""


class Made(NamedTuple):
    """An anchor, and what its judge says of it."""

    anchor: Anchor
    result: AnchorResult


def make(head: TreeHead, signer: SigningKey | None, asked: Anchoring) -> tuple[Made, ...]:
    """Anchor a tree head. Raises UpstreamError where a server does not do its part.

    `signer` holds the key that signed the head; None will do where an identity is asked for.
    """
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256

    root, content = trusted_root(asked.trust.root), artifact(head)
    logs = asked.services.logs._replace(services=tuple(map(clients.settled, asked.services.logs.services)))
    _refuse_timeless(logs, asked.services.clocks)
    key = ec.generate_private_key(ec.SECP256R1())
    held = _certificate(asked, key)
    public = b"" if held else _public(key)
    certification = certify(signer, head, public) if signer is not None and not held else b""
    claim = Claim(sha256(content).digest(), key.sign(content, ec.ECDSA(SHA256())), public, held)
    stamps = tuple(_asked(asked.services.clocks, lambda clock: clients.stamp(clock, claim.signature)))
    made = []
    for taken in _asked(logs, lambda log: clients.submit(log, claim)):
        signed = Signed(claim.signature, claim.digest, held, keys.hint(public), taken, stamps)
        anchor = Anchor(entry.write(signed), public, certification)
        result = judged_one(anchor, head, root)
        if result.state == ANCHOR_REJECTED:
            raise UpstreamError(f"the log's answer does not hold: {result.why}")
        made.append(Made(anchor, result))
    return tuple(made)


def _refuse_timeless(logs: Choice, clocks: Choice) -> None:
    if not clocks.needed and any(log.version != 1 for log in logs.services):
        raise UpstreamError("a log of version 2 says no time; name an authority of time stamps: -tsa URL")


def _certificate(asked: Anchoring, key: "EllipticCurvePrivateKey") -> bytes:
    if asked.token is None:
        return b""
    if not asked.services.authorities.services:
        raise UpstreamError("an identity needs an authority of certificates, which a -signing-config names")
    token = asked.token()
    (held,) = _asked(asked.services.authorities, lambda one: clients.certificate(one, key, token))
    return held


def _public(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _asked[T](choice: Choice, how: Callable[[Service], T]) -> list[T]:
    """Ask servers in their order until as many as are needed have answered; else raise the last failure."""
    found: list[T] = []
    failure = UpstreamError("no server is named that could be asked")
    for service in choice.services:
        if len(found) == choice.needed:
            break
        try:
            found.append(how(service))
        except UpstreamError as error:
            failure = error
    if len(found) < choice.needed:
        raise failure
    return found
