"""The nftables rules of the gateway namespace: what is led to the mediator, and that all else is refused.

    nat prerouting         every TCP port, v4 and v6 -> the TCP listener; UDP port 53 -> the resolver
    filter prerouting 0    accept what was led there; reject the rest with "administratively prohibited"

Rejecting in prerouting answers in under a millisecond for any address; a reject in input or forward is
never reached by packets to foreign addresses, since the gateway does not forward. Nothing is rejected in
silence, and nothing is forwarded. The rules live and die with the namespace.
"""

import struct
from typing import Any, Final

from launcher import netlink

DNS_PORT: Final = 53
_FAMILY_INET: Final = 1  # one table for IPv4 and IPv6
_TABLE: Final = "hark"
_HOOK_PREROUTING: Final = 0
_PRIORITY_DSTNAT: Final = -100
_PRIORITY_FILTER: Final = 0  # after the redirect, so that a redirected packet shows its new port
_TCP: Final = 6
_UDP: Final = 17
_META_L4PROTO: Final = 16
_TRANSPORT_HEADER: Final = 2
_DESTINATION_PORT: Final = (2, 2)  # offset and length, in both TCP and UDP
_REGISTER: Final = 1
_VERDICT_REGISTER: Final = 0
_ACCEPT: Final = 1
_ICMPX_UNREACHABLE: Final = 2
_ADMIN_PROHIBITED: Final = 3

type Expression = dict[str, Any]


def _expression(name: str, **values: Any) -> Expression:
    data = [(f"NFTA_{name.upper()}_{key.upper()}", value) for key, value in values.items()]
    return {"attrs": [("NFTA_EXPR_NAME", name), ("NFTA_EXPR_DATA", {"attrs": data})]}


def _value(data: bytes) -> dict[str, Any]:
    return {"attrs": [("NFTA_DATA_VALUE", data)]}


def _equals(data: bytes) -> Expression:
    return _expression("cmp", sreg=_REGISTER, op=0, data=_value(data))


def _protocol_is(number: int) -> list[Expression]:
    return [_expression("meta", key=_META_L4PROTO, dreg=_REGISTER), _equals(bytes([number]))]


def _port_is(port: int) -> list[Expression]:
    offset, length = _DESTINATION_PORT
    load = _expression("payload", dreg=_REGISTER, base=_TRANSPORT_HEADER, offset=offset, len=length)
    return [load, _equals(struct.pack(">H", port))]


def _redirect(port: int) -> list[Expression]:
    load = _expression("immediate", dreg=_REGISTER, data=_value(struct.pack(">H", port)))
    return [load, _expression("redir", reg_proto_min=_REGISTER)]


def _accept() -> list[Expression]:
    verdict = {"attrs": [("NFTA_VERDICT_CODE", _ACCEPT)]}
    data = {"attrs": [("NFTA_DATA_VERDICT", verdict)]}
    return [_expression("immediate", dreg=_VERDICT_REGISTER, data=data)]


def _reject() -> list[Expression]:
    return [_expression("reject", type=_ICMPX_UNREACHABLE, icmp_code=_ADMIN_PROHIBITED)]


def ruleset(tcp_port: int) -> list[netlink.Message]:
    """The whole ruleset as one batch. The resolver listens on port 53 itself: no second port is open."""

    def rule(chain: str, *parts: list[Expression]) -> netlink.Message:
        return netlink.nft_rule(_FAMILY_INET, _TABLE, chain, [part for group in parts for part in group])

    def chain(name: str, kind: str, priority: int) -> netlink.Message:
        return netlink.nft_chain(_FAMILY_INET, _TABLE, netlink.Chain(name, kind, _HOOK_PREROUTING, priority))

    return netlink.nft_batch(
        [
            netlink.nft_table(_FAMILY_INET, _TABLE),
            chain("lead", "nat", _PRIORITY_DSTNAT),
            rule("lead", _protocol_is(_TCP), _redirect(tcp_port)),
            rule("lead", _protocol_is(_UDP), _port_is(DNS_PORT), _redirect(DNS_PORT)),
            chain("refuse", "filter", _PRIORITY_FILTER),
            rule("refuse", _protocol_is(_TCP), _accept()),
            rule("refuse", _protocol_is(_UDP), _port_is(DNS_PORT), _accept()),
            rule("refuse", _reject()),
        ]
    )


def install(tcp_port: int) -> None:
    """Load the ruleset into the network namespace of the calling process."""
    netlink.transact(netlink.NETLINK_NETFILTER, ruleset(tcp_port))
