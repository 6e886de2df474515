"""Names, asked of the attendant as a libc asks a resolver: DNS over TCP, both kinds of address. No resolver
of the machine's is asked.

Always: the questions are those that glibc asks, so that a record is the same whichever way it was made. An
answer that cannot be read is no address.
"""

import ipaddress
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Final

SERVER: Final = ("192.0.2.53", 53)
"""Meant by whoever asks; an address that nobody has (RFC 5737)."""
A: Final = 1
AAAA: Final = 28
_HEADER: Final = struct.Struct("!6H")
_TAIL: Final = struct.Struct("!HH")
_RECORD: Final = struct.Struct("!HHIH")
_RECURSE: Final = 0x0100
_CODE: Final = 0x0F
_POINTER: Final = 0xC0
_NXDOMAIN: Final = 3

type Exchange = Callable[[bytes], bytes]
"""MUST send one query and return the reply to it, or raise OSError."""


def is_numeric(host: str) -> bool:
    """Tell whether a host is an address already."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def kinds_for(family: int) -> tuple[int, ...]:
    """Return the kinds of record that are asked for."""
    if family == socket.AF_INET:
        return (A,)
    return (AAAA,) if family == socket.AF_INET6 else (A, AAAA)


def look_up(host: str, family: int, exchange: Exchange) -> list[str]:
    """Return the addresses of a name. Raises socket.gaierror as getaddrinfo does."""
    found: list[str] = []
    code = 0
    for kind in kinds_for(family):
        try:
            reply = exchange(query(host, kind))
        except OSError as error:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution") from error
        code = max(code, _code(reply))
        found.extend(addresses(reply))
    if found:
        return found
    if code == _NXDOMAIN:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    raise socket.gaierror(socket.EAI_NODATA, "No address associated with hostname")


def query(host: str, kind: int) -> bytes:
    """Return one question. Raises socket.gaierror for what is no name."""
    try:
        labels = host.rstrip(".").encode("ascii").split(b".")
    except UnicodeEncodeError:
        labels = host.encode("idna").rstrip(b".").split(b".")
    if not all(0 < len(label) < 64 for label in labels):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    name = b"".join(bytes((len(label),)) + label for label in labels)
    return _HEADER.pack(kind, _RECURSE, 1, 0, 0, 0) + name + b"\0" + _TAIL.pack(kind, 1)


def _code(reply: bytes) -> int:
    return _HEADER.unpack_from(reply)[1] & _CODE if len(reply) >= _HEADER.size else 0


def addresses(reply: bytes) -> Iterator[str]:
    """Yield the addresses in a reply; of one that cannot be read, those before that."""
    try:
        _, _, questions, answers, _, _ = _HEADER.unpack_from(reply)
        at = _HEADER.size
        for _ in range(questions):
            at = _after_name(reply, at) + _TAIL.size
        for _ in range(answers):
            at = _after_name(reply, at)
            kind, _, _, size = _RECORD.unpack_from(reply, at)
            at += _RECORD.size
            data, at = reply[at : at + size], at + size
            if (kind, len(data)) in {(A, 4), (AAAA, 16)}:
                yield str(ipaddress.ip_address(bytes(data)))
    except (struct.error, IndexError):
        return


def _after_name(reply: bytes, at: int) -> int:
    while length := reply[at]:
        if length & _POINTER == _POINTER:
            return at + 2
        at += 1 + length
    return at + 1
