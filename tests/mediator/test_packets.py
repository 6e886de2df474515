"""Frames: what nftables rejects is named, what the mediator's sockets carry is not, no frame is an error."""

import ipaddress
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediator.packets import Rejected, rejected

LINK = bytes(12)


def ipv4(protocol: int, payload: bytes, offset: int = 0, options: bytes = b"") -> bytes:
    head = struct.pack("!BBHHHBBH", 0x45 + len(options) // 4, 0, 0, 0, offset, 64, protocol, 0)
    return LINK + b"\x08\x00" + head + bytes(4) + bytes((203, 0, 113, 9)) + options + payload


def ipv6(protocol: int, payload: bytes) -> bytes:
    head = struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64)
    return LINK + b"\x86\xdd" + head + bytes(16) + ipaddress.IPv6Address("2001:db8::9").packed + payload


def ports(destination: int) -> bytes:
    return struct.pack("!HHHH", 40000, destination, 8, 0)


def about(source: int, code: int = 3, protocol: int = 17) -> bytes:
    """The kernel's word on a datagram from port `source` that nobody listened for."""
    quoted = ipv4(protocol, struct.pack("!HHHH", source, 40000, 8, 0))[14:]
    return bytes((3, code)) + bytes(6) + quoted


def about_v6(source: int) -> bytes:
    return b"\x01\x04" + bytes(6) + ipv6(17, struct.pack("!HHHH", source, 40000, 8, 0))[14:]


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (ipv4(17, ports(443)), Rejected("udp", "203.0.113.9", 443)),
        (ipv4(17, ports(443), options=bytes(8)), Rejected("udp", "203.0.113.9", 443)),
        (ipv4(17, ports(53)), None),
        (ipv4(6, ports(443)), None),
        (ipv4(1, b"\x08\0"), Rejected("icmp", "203.0.113.9", 0)),
        (ipv4(1, about(53)), None),
        (ipv4(1, about(54)), Rejected("icmp", "203.0.113.9", 0)),
        (ipv4(1, about(53, code=1)), Rejected("icmp", "203.0.113.9", 0)),
        (ipv4(1, about(53, protocol=6)), Rejected("icmp", "203.0.113.9", 0)),
        (ipv4(1, b"\x03\x03"), Rejected("icmp", "203.0.113.9", 0)),
        (ipv6(58, about_v6(53)), None),
        (ipv6(58, about_v6(99)), Rejected("icmpv6", "2001:db8::9", 0)),
        (ipv4(132, ports(7)), Rejected("sctp", "203.0.113.9", 7)),
        (ipv4(47, b""), Rejected("ip protocol 47", "203.0.113.9", 0)),
        (ipv4(17, ports(53), offset=0x00B9), Rejected("udp", "203.0.113.9", 0)),
        (ipv6(17, ports(443)), Rejected("udp", "2001:db8::9", 443)),
        (ipv6(17, ports(53)), None),
        (ipv6(6, ports(443)), None),
        (ipv6(58, b"\x80\0"), Rejected("icmpv6", "2001:db8::9", 0)),
        (ipv6(58, b"\x87\0"), None),
        (ipv6(58, b"\x8f\0"), None),
        (ipv6(0, b"\x11\x00" + bytes(6) + ports(99)), Rejected("udp", "2001:db8::9", 99)),
        (ipv6(44, b"\x11\x00\x00\x01" + bytes(4) + ports(99)), Rejected("udp", "2001:db8::9", 99)),
        (ipv6(44, b"\x11\x00\x00\x09" + bytes(4) + ports(99)), Rejected("udp", "2001:db8::9", 0)),
        (LINK + b"\x08\x06" + bytes(28), None),
        (LINK + b"\x88\xcc" + bytes(28), Rejected("ethertype 0x88cc", "", 0)),
        (b"", None),
    ],
)
def test_a_frame_is_named_by_what_it_tried(frame: bytes, expected: Rejected | None) -> None:
    assert rejected(frame) == expected


@given(st.binary(max_size=120), st.sampled_from([b"\x08\x00", b"\x86\xdd", b"\0\0"]))
def test_no_frame_is_an_error(data: bytes, kind: bytes) -> None:
    rejected(data)
    rejected(LINK + kind + data)
