"""Which sockets are this process's own, as the kernel lists them in /proc.

Always: what cannot be read is not its own. Connections are told by their peers, whoever made them: Python or
a library that makes its own.
"""

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

_LISTENING: Final = "0A"  # proc(5), net/tcp
_BOUND: Final = "07"  # of UDP: neither listening nor connected
_SOCKET: Final = "socket:["
IPV4: Final = 4
IPV6: Final = 6


type Address = IPv4Address | IPv6Address


def is_loopback(address: str) -> bool:
    """Tell whether an address is this machine's loopback, in any spelling; an unspecified one leads there."""
    return _plain(ip_address(address.partition("%")[0])).is_loopback or is_unspecified(address)


def is_unspecified(address: str) -> bool:
    """Tell whether an address stands for all of this machine."""
    return _plain(ip_address(address.partition("%")[0])).is_unspecified


def serves(address: str, port: int, protocol: str = "tcp") -> bool:
    """Tell whether this process itself, and no other, takes what comes in at an address and port of its own.

    Whoever has just this address goes before those that have all.
    """
    wanted = _plain(ip_address(address.partition("%")[0]))
    if wanted.is_unspecified:
        wanted = ip_address("127.0.0.1" if wanted.version == IPV4 else "::1")
    there = [one for one in _listening(protocol) if one.port == port]
    taking = [one for one in there if one.address == wanted]
    taking = taking or [one for one in there if one.address.is_unspecified and one.takes(wanted)]
    inodes = {inode for _, inode in _sockets()}
    return bool(taking) and all(one.inode in inodes for one in taking)


def exposed() -> set[tuple[str, int]]:
    """Return where this process takes connections from other machines: address and port."""
    inodes = {inode for _, inode in _sockets()}
    return {
        (str(one.address), one.port)
        for one in _listening("tcp")
        if one.inode in inodes and not one.address.is_loopback
    }


class _Listening(NamedTuple):
    address: Address
    port: int
    inode: str
    version: int

    def takes(self, address: Address) -> bool:
        """Tell whether one that has all addresses has this one; `::` may have version 4 as well."""
        return self.version == IPV6 or address.version == IPV4


def _listening(protocol: str) -> Iterator[_Listening]:
    wanted = _LISTENING if protocol == "tcp" else _BOUND
    for name, version in ((protocol, IPV4), (f"{protocol}6", IPV6)):
        with contextlib.suppress(OSError), open(f"/proc/self/net/{name}", encoding="ascii") as table:
            for line in table.readlines()[1:]:
                columns = line.split()
                if columns[3] == wanted:
                    words, _, port = columns[1].rpartition(":")
                    yield _Listening(_address(words), int(port, 16), columns[9], version)


def _address(words: str) -> Address:
    """Read an address of the kernel's tables: words of four bytes, each in the machine's own order."""
    packed = b"".join(
        int(words[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(words), 8)
    )
    return _plain(ip_address(packed))


def _plain(found: Address) -> Address:
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return found if mapped is None else mapped


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
