"""Which address a host is dialled at, decided on the host's side. Pure: the caller resolves and dials.

Always: an explicit address (`-upstream`, a rule's `upstream`) wins and may be any. Without one, a name that
resolves to this machine, its link or a group (metadata services, rebinding) is not dialled: neither loopback
nor an address that the machine has on one of its links, of which the caller knows. A literal that the policy
allows is held to the same rule.
"""

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hark.errors import PolicyError
from hark.policy.host import HostError, canonical_host, is_address, split_authority
from mediator.authority import Destination

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Redirect:
    """`-upstream HOST=ADDR[:PORT]`. Without a port, the one that the agent dialled."""

    address: str
    port: int | None

    def of(self, target: Destination) -> tuple[str, int]:
        """Return where to dial for `target`."""
        return self.address, self.port or target.port


def read_redirects(upstreams: Mapping[str, str]) -> dict[str, Redirect]:
    """Read `MediatorConfig.upstreams`. Raises PolicyError."""
    return {_host(name, where): _redirect(name, where) for name, where in upstreams.items()}


def forbidden(address: str, is_own: Callable[[str], bool]) -> str | None:
    """Say what makes an address that a resolver gave one that is not dialled, or None.

    `is_own` says of an address, in its usual text, whether it is one of this machine's.
    """
    ip = _embedded(ipaddress.ip_address(address.partition("%")[0]))
    for word, holds in (
        ("loopback", ip.is_loopback),
        ("link-local", ip.is_link_local),
        ("unspecified", ip.is_unspecified or ip in ipaddress.ip_network("0.0.0.0/8")),
        ("multicast", ip.is_multicast),
        ("broadcast", str(ip) == "255.255.255.255"),
    ):
        if holds:
            return word
    return "of this machine" if is_own(str(ip)) else None


def dialable(
    host: str, addresses: Iterable[str], is_own: Callable[[str], bool]
) -> tuple[tuple[str, ...], str]:
    """Split off what may not be dialled: the addresses that may, and a sentence where none is left."""
    good: list[str] = []
    bad: list[str] = []
    for address in addresses:
        why = forbidden(address, is_own)
        if why is None:
            good.append(address)
        else:
            bad.append(f"{address} ({why})")
    if good:
        return tuple(good), ""
    if not bad:
        return (), f"{host} resolves to no address"
    return (), (
        f"{host} is at {', '.join(bad)}; -upstream {host}=ADDRESS, or upstream in its [[allow]], allows that "
        "explicitly"
    )


def behind_proxy(host: str, is_own: Callable[[str], bool]) -> str:
    """Say why a host is not asked of a proxy, or nothing: it would be the proxy's own machine or link."""
    if host == "localhost" or host.endswith(".localhost"):
        return f"{host} is not asked of a proxy, whose own machine it would be"
    why = forbidden(host, is_own) if is_address(host) else None
    return "" if why is None else f"{host} ({why}) is not asked of a proxy"


def _embedded(ip: Address) -> Address:
    """Return the IPv4 address that an IPv6 one stands for, where it does."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def _host(name: str, where: str) -> str:
    try:
        return canonical_host(name)
    except HostError as error:
        raise PolicyError(f"-upstream {name}={where}: {error}") from None


def _redirect(name: str, where: str) -> Redirect:
    try:
        if where.count(":") > 1 and not where.startswith("["):
            address, port = canonical_host(where), 0
        else:
            address, port = split_authority(where, 0)
    except HostError as error:
        raise PolicyError(f"-upstream {name}={where}: {error}") from None
    if not is_address(address):
        raise PolicyError(f"-upstream {name}={where}: {address} is a name; write the address it should be")
    return Redirect(address, port or None)
