"""Which hosts are services of this machine, to which a credential may go without TLS. Pure.

Always: only the operator's word makes one (`-upstream`, a rule's `upstream`), and only with a loopback
address, on the way to which nobody else is. In a replay it is the recorded run's word.
"""

import ipaddress
from collections.abc import Iterable, Mapping

from hark.policy.host import HostError, split_authority
from hark.policy.model import Address
from mediator.authority import Destination
from mediator.upstream import Redirect


def is_loopback(address: str) -> bool:
    """Tell whether a text is an address that leads to nobody but this machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def is_near(target: Destination, redirects: Mapping[str, Redirect], appointed: Address | None) -> bool:
    """Tell whether `target` is dialled on this machine, by the command line's word or else the policy's."""
    redirect = redirects.get(target.host)
    if redirect is not None:
        return is_loopback(redirect.address)
    return appointed is not None and is_loopback(appointed.host)


def recorded(upstreams: Iterable[str]) -> frozenset[str]:
    """Return the hosts, some with a port, that a record says were dialled on the machine itself.

    `upstreams` are those of kind 1 (docs/format.md), `HOST[:PORT]=ADDRESS[:PORT]`; a host's first counts.
    """
    first: dict[str, str] = {}
    for text in upstreams:
        host, _, where = text.partition("=")
        first.setdefault(host, where)
    return frozenset(host for host, where in first.items() if is_loopback(_address(where)))


def _address(where: str) -> str:
    if where.count(":") > 1 and not where.startswith("["):
        return where
    try:
        return split_authority(where, 0)[0]
    except HostError:  # a stranger's record may say anything
        return ""
