"""Where a credential may go: to which hosts, and in which places of a request to them. Pure.

Always: a credential that no grant names for a host and place has a reason there, in words that say what to
write in the policy where that would help. A key that signs requests stands in no place at all.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from hark.policy.model import Secret, Surface
from mediator.authority import Destination, Unproven
from mediator.encodings import Pair

_PLAIN_VALUE: Final = re.compile(r"[A-Za-z0-9._~-]*")
_WHERE: Final = {
    Surface.HEADER: "a header",
    Surface.BASIC: "a Basic authorization",
    Surface.QUERY: "the query of the URL",
    Surface.PATH: "the path of the URL",
    Surface.BODY: "the request's body",
    Surface.WS: "a WebSocket message",
}


class Bound(Protocol):
    """Hosts that a credential may go to."""

    def matches(self, host: str, port: int) -> bool:
        """Tell whether this canonical host on this port is one of them."""
        ...


@dataclass(frozen=True, slots=True)
class Held:
    """One credential and where it may go: `grants` pairs hosts with the places in requests to them."""

    name: str
    value: str = field(repr=False)
    placeholder: str
    grants: tuple[tuple[Sequence[Bound], tuple[Surface, ...]], ...]
    sigv4: str | None = None
    missing: bool = False
    plain: bool = False
    """Whether it may go to its hosts without TLS, beyond this machine too."""

    def unbound(self, target: Destination) -> str:
        """Say why the value may not go to `target` at all, where `surfaces_for` has None."""
        if self.missing:
            return f"secrets.{self.name} has no value in this fork; name it in the policy that -policy gives"
        if isinstance(target, Unproven) and self._places_at(target):
            return (
                f"secrets.{self.name} does not go to {target} without TLS, where who is on the way could "
                f"read it; have the agent ask https://, or write `plain = true` under [secrets.{self.name}]"
            )
        return f"secrets.{self.name} is not bound to {target}"

    def surfaces_for(self, target: Destination) -> tuple[Surface, ...] | None:
        """Return where the value may stand in a request to `target`; None where it is not bound to it.

        A key that signs stands nowhere.
        """
        bound = self._places_at(target)
        if self.missing or not bound or (isinstance(target, Unproven) and not self.plain):
            return None
        free = () if self.sigv4 is not None else (place for places in bound for place in places)
        return tuple(dict.fromkeys(free))

    def _places_at(self, target: Destination) -> list[tuple[Surface, ...]]:
        return [
            places for hosts, places in self.grants if any(r.matches(target.host, target.port) for r in hosts)
        ]

    @property
    def even(self) -> bool:
        """Tell whether value and placeholder are of one length in every spelling."""
        return len(self.value) == len(self.placeholder) and bool(_PLAIN_VALUE.fullmatch(self.value))


def held_of(secret: Secret) -> Held:
    """Return a credential of the policy's."""
    grants = ((secret.hosts, secret.surfaces),)
    return Held(
        secret.name, secret.value, secret.placeholder, grants, secret.sigv4, secret.missing, secret.plain
    )


def pair_of(held: Held, target: Destination, surface: Surface) -> Pair:
    """Return what is looked for in one place of a request to `target`, and why it may not stand there."""
    allowed = held.surfaces_for(target)
    reason = ""
    if allowed is None:
        reason = held.unbound(target)
    elif held.sigv4 is not None:
        reason = f"secrets.{held.name} is a key that signs, and is put nowhere"
    elif surface not in allowed:
        wanted = [place for place in Surface if place in (*allowed, surface)]
        words = ", ".join(f'"{place.value}"' for place in wanted)
        reason = (
            f"the placeholder of secrets.{held.name} stands in {_WHERE[surface]}, where it is not replaced; "
            f"send it in {_anywhere(allowed)}, or write `in = [{words}]` under [secrets.{held.name}]"
        )
    return Pair(held.name, held.placeholder.encode(), held.value.encode(), reason)


def _anywhere(places: Sequence[Surface]) -> str:
    """Say in which places a placeholder may stand: at least one."""
    return " or ".join(_WHERE[place] for place in Surface if place in places)
