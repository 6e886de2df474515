"""Synthetic addresses: each allowed name has one that stands for it alone, for the whole run.

So a connection is attributable to the name it was made for, even without SNI. The names of the policy get
theirs in sorted order before the first question, so the same policy always gives the same addresses. What
a wildcard allows gets one when it is asked for, up to a ceiling. A denied name never gets one: a flood of
names cannot use the range up.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from hark.errors import HarkError
from hark.policy.host import is_address
from hark.policy.model import WILDCARD

RANGE: Final = ipaddress.IPv4Network("198.18.0.0/15")
"""RFC 2544's benchmarking range: nothing that an agent may want to reach lives there."""


MAX_ASKED: Final = 10_000
"""Names that a wildcard allows and no rule spells out: the agent makes them up, and the run keeps each."""


class AddressesExhaustedError(HarkError):
    """There is no address left for this name; the question is refused."""

    exit_code = 125


class AddressPool:
    """Names to synthetic addresses and back. Both directions are exact; nothing is ever given out twice."""

    def __init__(
        self,
        names: Iterable[str] = (),
        network: ipaddress.IPv4Network = RANGE,
        *,
        given: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`given` are addresses that names have already: those of the run that is replayed."""
        self._next = int(network.network_address) + 1
        self._size = network.num_addresses - 2  # neither the network's own address nor its broadcast
        self._asked = 0
        self._by_name: dict[str, str] = {}
        self._by_address: dict[str, str] = {}
        for name, address in given.items():
            self._keep(name, address, network)
        for name in sorted(set(names)):
            if not is_address(name) and not name.startswith(WILDCARD):
                self._give(name)

    def address_of(self, name: str) -> str:
        """Return the address of an allowed canonical name. Raises AddressesExhaustedError."""
        known = self._by_name.get(name)
        if known is not None:
            return known
        if self._asked >= MAX_ASKED:
            raise AddressesExhaustedError(
                f"{name} gets no address: {MAX_ASKED} names that only a wildcard allows have one already"
            )
        self._asked += 1
        return self._give(name)

    def name_of(self, address: str) -> str | None:
        """Return the name that a canonical address stands for, or None: the agent chose it itself."""
        return self._by_address.get(address)

    def _give(self, name: str) -> str:
        known = self._by_name.get(name)
        if known is not None:
            return known
        if len(self._by_name) >= self._size:
            raise AddressesExhaustedError(
                f"{name} gets no address: {self._size} names have one already and the range is used up"
            )
        while (address := str(ipaddress.IPv4Address(self._next))) in self._by_address:
            self._next += 1
        self._by_name[name] = address
        self._by_address[address] = name
        return address

    def _keep(self, name: str, address: str, network: ipaddress.IPv4Network) -> None:
        """Take over what a recording says, unless that is no address of ours or stands for another name."""
        try:
            ours = ipaddress.IPv4Address(address) in network
        except ValueError:
            return
        if ours and address not in self._by_address:
            self._by_name[name] = address
            self._by_address[address] = name
