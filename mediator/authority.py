"""Exactly one authority for each request: what was dialled, the SNI and Host or :authority are one host.

Every spelling is made canonical first (`hark.policy.host`); what has no canonical form agrees with nothing.
Judged for each request and not for each connection, on the port that the agent dialled. Pure functions.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hark.policy.decide import Deny, Verdict, decide_dial
from hark.policy.host import HostError, canonical_host, format_authority, is_address, split_authority
from hark.policy.model import Policy
from mediator.addresses import RANGE, AddressPool
from mediator.text import clipped


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a connection was meant to go: the name its synthetic address stands for, or a literal address."""

    host: str
    port: int

    def __str__(self) -> str:
        return format_authority(self.host, self.port)


class Unproven(Destination):
    """The same without TLS and beyond this machine: nobody has shown that it is who answers there."""

    __slots__ = ()


def destination(address: str, port: int, pool: AddressPool) -> Destination:
    """Return what the agent dialled, by name where the address is one that we gave out."""
    literal = canonical_host(address)
    return Destination(pool.name_of(literal) or literal, port)


def judge_dial(policy: Policy, dialled: Destination, now: datetime) -> Verdict:
    """Judge a connection by what was dialled alone."""
    if is_address(dialled.host) and ipaddress.ip_address(dialled.host) in RANGE:
        return Deny(f"{dialled.host} stands for no name that was asked for", "")
    return decide_dial(policy, dialled.host, dialled.port, now)


def judge_sni(policy: Policy, dialled: Destination, sni: bytes | None, now: datetime) -> Verdict:
    """Judge a TLS connection: an SNI, where there is one, names the host that was dialled."""
    if sni is None:
        return judge_dial(policy, dialled, now)
    host = _canonical(sni)
    if host is None:
        return _refused(policy, dialled, f"the TLS server name {clipped(sni)} is not a host name", now)
    if host != dialled.host:
        return _disagree(policy, dialled, "the TLS server name", host, now)
    return judge_dial(policy, dialled, now)


def judge_request(
    policy: Policy, dialled: Destination, authorities: Sequence[bytes], now: datetime
) -> Verdict:
    """Judge one request by every authority it carries (absolute form, :authority, each Host header)."""
    hosts = [text for text in authorities if text]
    if len(hosts) != len(authorities) or not hosts:
        return _refused(policy, dialled, "the request names no host", now)
    for text in hosts:
        if text == as_dialled(dialled):
            continue
        named = _authority(text, dialled.port)
        if named is None:
            return _refused(policy, dialled, f"the request's host {clipped(text)} is not a host name", now)
        if named != dialled:
            return _disagree(policy, dialled, "the request's host", str(named), now)
    return judge_dial(policy, dialled, now)


def as_dialled(dialled: Destination) -> bytes | None:
    """Return what nearly every request has in its Host header; None for IPv6, which stands in brackets."""
    return None if ":" in dialled.host else dialled.host.encode()


def _disagree(policy: Policy, dialled: Destination, what: str, other: str, now: datetime) -> Deny:
    why = f"{what} is {clipped(other)}, but the connection was made to {dialled}"
    return _refused(policy, dialled, why, now)


def _refused(policy: Policy, dialled: Destination, why: str, now: datetime) -> Deny:
    """Refuse; a hint is given only where the dialled host is not allowed either.

    Where it is, an entry would mend nothing, and one that is pasted could allow more than a rule means to.
    """
    verdict = judge_dial(policy, dialled, now)
    return Deny(why, verdict.hint if isinstance(verdict, Deny) else "")


def _canonical(text: bytes) -> str | None:
    try:
        return canonical_host(text)
    except HostError:
        return None


def _authority(text: bytes, port: int) -> Destination | None:
    try:
        return Destination(*split_authority(text.decode("ascii"), port))
    except (HostError, UnicodeDecodeError):
        return None
