"""The two network namespaces and the pair of interfaces between them.

    gateway namespace   gw0, its sockets held by the supervisor, the ruleset
    agent namespace     lo and ag0, default routes by the gateway, nothing else

Addresses and hardware addresses are the same in every run: the namespaces are private, so two runs cannot
meet, and a replay shows what the recording showed. Nothing here touches the host's own namespace.
The calling process ends up in the agent's namespace.
"""

import ctypes
import os
import socket
import struct
from typing import Final

from launcher import kernel, netlink, ruleset
from launcher.plan import AGENT_V4, AGENT_V6, GATEWAY_V4, GATEWAY_V6

_LOOPBACK: Final = 1  # the first interface of every namespace
_LINK: Final = 2
_GATEWAY_LINK: Final = "gw0"
_AGENT_LINK: Final = "ag0"
_GATEWAY_MAC: Final = "02:00:00:00:00:01"
_AGENT_MAC: Final = "02:00:00:00:00:02"
_PREFIX_V4: Final = 30
_PREFIX_V6: Final = 64

_TCP_PORT: Final = 18080  # of the gateway's listener; the agent reaches it by connecting anywhere
_BACKLOG: Final = 1024
_IP_PKTINFO: Final = 8
_ETH_P_ALL: Final = 3
_SO_ATTACH_FILTER: Final = 26
_SNAPSHOT: Final = 256  # bytes of a frame: every header, and the name in a QUIC or DNS datagram's start

_GATEWAY_SETTINGS: Final = {
    # The kernel limits ICMP errors: with the defaults most refusals after the first few are never sent.
    "net/ipv4/icmp_ratelimit": "0",
    "net/ipv6/icmp/ratelimit": "0",
    "net/ipv4/icmp_msgs_per_sec": "1000000",
    "net/ipv4/icmp_msgs_burst": "1000000",
    "net/ipv4/ip_forward": "0",
}


_MPTCP: Final = "net/mptcp/enabled"


def _set(name: str, value: str) -> bool:
    """Write one sysctl of the current namespace; kernels differ in which of them are per namespace."""
    try:
        with open(f"/proc/sys/{name}", "wb") as file:
            file.write(value.encode())
    except OSError:
        return False
    return True


def _namespace() -> int:
    kernel.unshare(os.CLONE_NEWNET, "make a network namespace")
    return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _configure_gateway(agent_namespace: int) -> None:
    netlink.transact(
        netlink.NETLINK_ROUTE,
        [
            netlink.veth(
                netlink.End(_GATEWAY_LINK, _GATEWAY_MAC),
                netlink.End(_AGENT_LINK, _AGENT_MAC),
                agent_namespace,
                _LINK,
            ),
            netlink.no_link_local(_LINK),
            netlink.link_up(_LOOPBACK),
            netlink.link_up(_LINK),
            netlink.address(_LINK, GATEWAY_V4, _PREFIX_V4),
            netlink.address(_LINK, GATEWAY_V6, _PREFIX_V6),
            netlink.neighbour(_LINK, AGENT_V4, _AGENT_MAC),
            netlink.neighbour(_LINK, AGENT_V6, _AGENT_MAC),
        ],
    )


def _configure_agent() -> None:
    netlink.transact(
        netlink.NETLINK_ROUTE,
        [
            netlink.no_link_local(_LINK),
            netlink.link_up(_LOOPBACK),
            netlink.link_up(_LINK),
            netlink.address(_LINK, AGENT_V4, _PREFIX_V4),
            netlink.address(_LINK, AGENT_V6, _PREFIX_V6),
            netlink.neighbour(_LINK, GATEWAY_V4, _GATEWAY_MAC),
            netlink.neighbour(_LINK, GATEWAY_V6, _GATEWAY_MAC),
            netlink.default_route(_LINK, GATEWAY_V4),
            netlink.default_route(_LINK, GATEWAY_V6),
        ],
    )


def _listener(family: socket.AddressFamily) -> socket.socket:
    # IPPROTO_TCP is named because asyncio sets TCP_NODELAY only on sockets that say so.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind(("", _TCP_PORT))
    listener.listen(_BACKLOG)
    return listener


def _resolver(family: socket.AddressFamily) -> socket.socket:
    resolver = socket.socket(family, socket.SOCK_DGRAM, socket.IPPROTO_UDP)
    if family == socket.AF_INET6:
        resolver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        resolver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    else:
        resolver.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
    resolver.bind(("", ruleset.DNS_PORT))
    return resolver


def _packet_filter() -> bytes:
    """Keep what the agent sent and the listeners cannot show: every frame but TCP over IPv4 or IPv6."""
    load_half, load_byte, jump_equal, give = 0x28, 0x30, 0x15, 0x06
    packet_type, outgoing = 0xFFFFF004, 4  # SKF_AD_OFF + SKF_AD_PKTTYPE
    instructions = [
        (load_half, 0, 0, packet_type),
        (jump_equal, 8, 0, outgoing),
        (load_half, 0, 0, 12),  # EtherType
        (jump_equal, 0, 2, 0x0800),
        (load_byte, 0, 0, 23),  # IPv4 protocol
        (jump_equal, 4, 3, socket.IPPROTO_TCP),
        (jump_equal, 0, 2, 0x86DD),
        (load_byte, 0, 0, 20),  # IPv6 next header
        (jump_equal, 1, 0, socket.IPPROTO_TCP),
        (give, 0, 0, _SNAPSHOT),
        (give, 0, 0, 0),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)


def _packets() -> socket.socket:
    """A packet socket on the gateway's end: what the ruleset rejects leaves no other trace."""
    program = _packet_filter()
    buffer = ctypes.create_string_buffer(program, len(program))
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    packets.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, header)
    # Bound only now, so that no frame is queued before the filter stands.
    packets.bind((_GATEWAY_LINK, _ETH_P_ALL))
    return packets


def build(gid: int) -> tuple[list[socket.socket], list[str]]:
    """Make both namespaces and return the sockets of `Sockets`, in its order, and the settings not applied.

    `gid` may send ICMP echo inside, so that a ping is refused by the gateway, where it is recorded.
    """
    gateway_namespace = _namespace()
    agent_namespace = _namespace()
    os.setns(gateway_namespace, os.CLONE_NEWNET)
    _configure_gateway(agent_namespace)
    missing = [name for name, value in _GATEWAY_SETTINGS.items() if not _set(name, value)]
    sockets = [
        _listener(socket.AF_INET),
        _listener(socket.AF_INET6),
        _resolver(socket.AF_INET),
        _resolver(socket.AF_INET6),
        _packets(),
    ]
    ruleset.install(_TCP_PORT)
    os.setns(agent_namespace, os.CLONE_NEWNET)
    _configure_agent()
    if not _set("net/ipv4/ping_group_range", f"{gid} {gid}"):
        missing.append("net/ipv4/ping_group_range")
    # What waits in a socket of MPTCP is in no figure that is asked for; programs fall back to TCP.
    if os.path.exists(f"/proc/sys/{_MPTCP}") and not _set(_MPTCP, "0"):
        missing.append(_MPTCP)
    os.close(gateway_namespace)
    os.close(agent_namespace)
    return sockets, missing
