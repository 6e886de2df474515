"""Which sockets are this process's own, as the kernel lists them in /proc.

Always: what cannot be read is not its own. Connections are told by their peers, whoever made them: Python or
a library that makes its own.
"""

import contextlib
import os
import socket
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address
from typing import Final

_LISTENING: Final = "0A"  # proc(5), net/tcp
_BOUND: Final = "07"  # of UDP: neither listening nor connected
_SOCKET: Final = "socket:["


def is_loopback(address: str) -> bool:
    """Tell whether an address is this machine's loopback, in any spelling; an unspecified one leads there."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return found.is_loopback or found.is_unspecified


def serves(port: int, protocol: str = "tcp") -> bool:
    """Tell whether this process itself takes what comes in at a port of its loopback."""
    inodes = set(_inodes(port, protocol))
    return bool(inodes) and any(inode in inodes for _, inode in _sockets())


def _inodes(port: int, protocol: str) -> Iterator[str]:
    wanted = _LISTENING if protocol == "tcp" else _BOUND
    for name in (protocol, f"{protocol}6"):
        with contextlib.suppress(OSError), open(f"/proc/self/net/{name}", encoding="ascii") as table:
            for line in table.readlines()[1:]:
                columns = line.split()
                if columns[3] == wanted and int(columns[1].rpartition(":")[2], 16) == port:
                    yield columns[9]


def _sockets() -> Iterator[tuple[int, str]]:
    """Yield the descriptors of this process that are sockets, with their inodes."""
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # it has been closed meanwhile
            link = os.readlink(f"/proc/self/fd/{entry}")
            if link.startswith(_SOCKET):
                yield int(entry), link[len(_SOCKET) : -1]


def connections() -> Iterator[tuple[int, str, int]]:
    """Yield the connections of this process to addresses: descriptor, address and port of the peer."""
    for descriptor, _ in _sockets():
        with contextlib.suppress(OSError):  # it is not connected, or gone
            found = socket.socket(fileno=os.dup(descriptor))
            try:
                if found.family in {socket.AF_INET, socket.AF_INET6}:
                    address, port = found.getpeername()[:2]
                    yield descriptor, str(address), int(port)
            finally:
                found.close()


def end_those_to(ports: set[int]) -> None:
    """End every connection of this process to these ports of its loopback, as its exit would."""
    for descriptor, address, port in list(connections()):
        if port in ports and is_loopback(address):
            with contextlib.suppress(OSError):
                found = socket.socket(fileno=os.dup(descriptor))
                try:
                    found.shutdown(socket.SHUT_RDWR)
                finally:
                    found.close()
