"""The address an accepted connection was meant for, before nftables redirected it to us.

The kernel keeps it for each connection, so the answer cannot be influenced by what the agent sends.
"""

import socket
import struct
from collections.abc import Callable
from typing import Final, Protocol

SO_ORIGINAL_DST: Final = 80  # linux/netfilter_ipv4.h; IP6T_SO_ORIGINAL_DST has the same number
_SOCKADDR_IN: Final = struct.Struct("!2xH4s8x")
_SOCKADDR_IN6: Final = struct.Struct("!2xH4x16s4x")


class Accepted(Protocol):
    """What is needed of an accepted socket."""

    @property
    def family(self) -> int:
        """AF_INET or AF_INET6."""
        ...

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes:
        """As of a socket."""
        ...


type Origin = Callable[[Accepted], tuple[str, int]]
"""MUST return the address and port that the agent dialled, and raise OSError where the kernel knows none."""


def original_destination(accepted: Accepted) -> tuple[str, int]:
    """Ask the kernel's connection tracking. Raises OSError for a connection that was not redirected."""
    if accepted.family == socket.AF_INET6:
        raw = accepted.getsockopt(socket.IPPROTO_IPV6, SO_ORIGINAL_DST, _SOCKADDR_IN6.size)
        port, packed = _SOCKADDR_IN6.unpack(raw)
        return socket.inet_ntop(socket.AF_INET6, packed), port
    raw = accepted.getsockopt(socket.IPPROTO_IP, SO_ORIGINAL_DST, _SOCKADDR_IN.size)
    port, packed = _SOCKADDR_IN.unpack(raw)
    return socket.inet_ntop(socket.AF_INET, packed), port
