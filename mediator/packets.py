"""Frames from the agent's end of the veth pair: which of them nftables rejects, as values. No IO.

The ruleset redirects TCP and UDP port 53 to the mediator's sockets and rejects all else; a reject leaves no
event by itself, so the same frames are looked at here. What this names and what the ruleset rejects are the
same set: neither TCP, nor a DNS question, nor the neighbour discovery of the gateway itself.

Left out beside those is what the agent's kernel says of a DNS answer that came too late: "port unreachable",
since whoever asked has closed the socket. No agent can send it (raw sockets are refused), none chose to, and
whether it is sent depends on which of two processes was faster.
"""

import ipaddress
import struct
from dataclasses import dataclass
from typing import Final

MAX_FRAME: Final = 256  # headers are all that is looked at
SNAP: Final = 14
_IPV4: Final = 0x0800
_ARP: Final = 0x0806
_IPV6: Final = 0x86DD
_TCP: Final = 6
_UDP: Final = 17
_ICMP: Final = 1
_ICMPV6: Final = 58
_DNS_PORT: Final = 53
_NAMES: Final = {1: "icmp", 2: "igmp", 6: "tcp", 17: "udp", 58: "icmpv6", 132: "sctp", 136: "udplite"}
_WITH_PORTS: Final = frozenset((17, 132, 136))
_EXTENSIONS: Final = frozenset((0, 43, 60, 135))  # IPv6 headers that stand before the transport's
_FRAGMENT: Final = 44
_LINK_CHATTER: Final = frozenset(range(133, 137)) | {143}
"""ICMPv6 that the agent's kernel sends by itself: neighbour and router discovery, multicast reports."""
_PORT_UNREACHABLE: Final = {_ICMP: b"\x03\x03", _ICMPV6: b"\x01\x04"}
"""Type and code (RFC 792, RFC 4443); eight bytes of header, and then the packet that it is about."""
MAX_EXTENSIONS: Final = 8  # RFC 8200 has six kinds, each once


@dataclass(frozen=True, slots=True)
class Rejected:
    """One packet that got no further than the veth pair."""

    protocol: str
    address: str
    port: int


def rejected(frame: bytes) -> Rejected | None:
    """Return what a frame of the agent's tried to reach, or None: it is carried by the mediator's sockets."""
    kind = int.from_bytes(frame[12:14]) if len(frame) >= SNAP else 0
    if kind == _IPV4:
        return _ipv4(frame[SNAP:])
    if kind == _IPV6:
        return _ipv6(frame[SNAP:])
    if kind == _ARP or not kind:
        return None
    return Rejected(f"ethertype {kind:#06x}", "", 0)


def _ipv4(packet: bytes) -> Rejected | None:
    if len(packet) < 20:
        return None
    size = (packet[0] & 0x0F) * 4
    later_fragment = bool(int.from_bytes(packet[6:8]) & 0x1FFF)
    address = str(ipaddress.IPv4Address(packet[16:20]))
    return _transport(packet[9], b"" if later_fragment else packet[size:], address)


def _ipv6(packet: bytes) -> Rejected | None:
    if len(packet) < 40:
        return None
    address = str(ipaddress.IPv6Address(packet[24:40]))
    protocol, rest = packet[6], packet[40:]
    for _ in range(MAX_EXTENSIONS):
        if protocol == _FRAGMENT and len(rest) >= 8:
            protocol, rest = rest[0], rest[8:] if not int.from_bytes(rest[2:4]) >> 3 else b""
        elif protocol in _EXTENSIONS and len(rest) >= 8:
            protocol, rest = rest[0], rest[8 * (rest[1] + 1) :]
        else:
            break
    if protocol == _ICMPV6 and rest and rest[0] in _LINK_CHATTER:
        return None
    return _transport(protocol, rest, address)


def _transport(protocol: int, payload: bytes, address: str) -> Rejected | None:
    port = 0
    if protocol in _WITH_PORTS and len(payload) >= 4:
        (port,) = struct.unpack_from("!H", payload, 2)
    if _is_about_an_answer(protocol, payload):
        return None
    if protocol == _TCP or (protocol == _UDP and port == _DNS_PORT):
        return None
    return Rejected(_NAMES.get(protocol, f"ip protocol {protocol}"), address, port)


def _is_about_an_answer(protocol: int, payload: bytes) -> bool:
    """Tell whether it says that nobody listens any more where a DNS answer was sent."""
    if payload[:2] != _PORT_UNREACHABLE.get(protocol, b"-"):
        return False
    quoted = payload[8:]
    if protocol == _ICMP:
        carried, size = quoted[9:10], (quoted[0] & 0x0F) * 4 if quoted else 0
    else:
        carried, size = quoted[6:7], 40
    return carried == bytes((_UDP,)) and quoted[size : size + 2] == struct.pack("!H", _DNS_PORT)
