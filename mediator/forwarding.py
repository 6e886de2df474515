"""The headers of an allowed request on their way to the server: what is left out, and what is said otherwise.

Always: the host stands in its one spelling; what hark answers itself is not passed on; where the answer will
be searched, the server is offered only codings that can be undone and asked for no part of a whole.

Not done here: credentials (`mediator.credentials`), the body's framing (`mediator.outgoing`).
"""

from enum import Enum, auto
from typing import Final

from hark.policy.host import split_authority
from mediator import handshake, upgrade
from mediator.authority import as_dialled
from mediator.charsets import OFFERS, without_charset
from mediator.codings import OFFERS_OF_MESSAGES, accepted
from mediator.endpoints import minting_at
from mediator.link import Link
from mediator.overriding import paths_of
from mediator.transcript import Headers

_DROPPED: Final = frozenset((b"expect", b"http2-settings"))
"""`Expect` is answered by us; an upgrade to HTTP/2 in the clear is an offer that a server may ignore."""
_PARTS: Final = frozenset((b"range", b"if-range", b"request-range", b"x-ms-range", b"a-im"))
"""Dropped where a credential may come back: in parts, none of which holds it whole, it would be unknown. A
server may answer with the whole at any time (RFC 9110, 14.2); the part is cut from it (`mediator.parts`). The
last three are older and other names of it (a draft of HTTP/1.1's, Azure's, RFC 3229); what a server sends in
part for one that is not listed is refused."""


_TURNED: Final = frozenset((b"host", b"accept-encoding", b"te", b"accept"))
"""What may be said otherwise."""


class _Packed(Enum):
    """How an answer may come: in any coding, in one that can be undone, or in none.

    In none as a part of a whole, and from a server that knows a credential (`mediator.entire`).
    """

    ANY = auto()
    UNDONE = auto()
    NOT = auto()


def forwarded(path: bytes, headers: Headers, link: Link) -> Headers:
    """Return the headers of an allowed request as they are sent on, but for credentials."""
    dropped = _DROPPED
    names = {name.lower() for name, _ in headers}
    if b"upgrade" in names:
        if handshake.wanted(headers):
            headers = handshake.forwarded(headers)
        elif upgrade.wanted(headers):
            headers = upgrade.forwarded(headers)
        else:
            dropped |= {b"upgrade", b"connection"}
    mints = minting_at(link.policy, link.target, *paths_of(path, headers)) is not None
    told = link.broker.binds(link.target) or mints
    if told:
        dropped |= _PARTS | OFFERS
    if link.broker.holds_any or mints:
        dropped |= OFFERS_OF_MESSAGES
    searched = link.broker.holds_any or mints or _takes_events(headers)
    plain = told or b"range" in names - dropped
    packed_as = _Packed.NOT if plain else _Packed.UNDONE if searched else _Packed.ANY
    kept = []
    for name, value in headers:
        lower = name.lower()
        if lower not in dropped:
            kept.append((name, _value(lower, value, link, packed_as) if lower in _TURNED else value))
    return tuple(kept)


def _takes_events(headers: Headers) -> bool:
    """Tell whether the answer may be events, in which the results of tool calls are looked for."""
    return any(name.lower() == b"accept" and b"text/event-stream" in value.lower() for name, value in headers)


def _value(name: bytes, value: bytes, link: Link, packed_as: _Packed) -> bytes:
    """Return a value to send on. Where answers are searched, they may come packed only as we can undo."""
    if name == b"host":
        return _host(value, link)
    if name == b"accept-encoding" and packed_as is not _Packed.ANY:
        return b"identity" if packed_as is _Packed.NOT else accepted(value)
    if name == b"accept" and packed_as is not _Packed.ANY:
        return without_charset(value)
    if name == b"te" and link.broker.holds_any:
        return b"trailers"
    return value


def _host(value: bytes, link: Link) -> bytes:
    """Return an allowed Host header in canonical form; the port stays explicit where it was."""
    if value == as_dialled(link.target):
        return value
    text = value.decode("ascii")
    _, port = split_authority(text, 0)
    bare = f"[{link.target.host}]" if ":" in link.target.host else link.target.host
    return (f"{bare}:{port}" if port else bare).encode()
