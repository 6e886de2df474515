"""DNS messages: one query in, one closed verdict out, and the bytes of the answer. No socket, no clock.

Always: a query is judged before any answer is built; an allowed name has an A record and nothing else (an
empty answer to AAAA, HTTPS, SVCB and the rest, so that no client waits for IPv6); a denied one does not
exist (NXDOMAIN, which every libc takes at once). Nothing here asks a resolver: no name leaves the machine.
A name whose labels hold a dot or any byte that host names cannot have is never allowed. What stands behind
the question (EDNS) is neither read nor answered. Read by hand, since a library that rejects odd labels would
leave such a question without a name on the record.
"""

import ipaddress
import struct
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hark.policy.decide import Deny, Verdict, decide_name
from hark.policy.host import HostError, canonical_host, is_address
from hark.policy.model import Policy
from mediator.addresses import AddressesExhaustedError, AddressPool
from mediator.text import clipped, label_text

MAX_QUERY: Final = 4096  # larger than any question; EDNS padding fits
MAX_NAME: Final = 255  # RFC 1035 3.1, length bytes included
MAX_LABEL: Final = 63
TTL: Final = 60  # an answer holds for the whole run; a client that caches for ever would outlive it
_HEADER: Final = struct.Struct("!6H")
_QUESTION_TAIL: Final = struct.Struct("!HH")
_RECORD: Final = struct.Struct("!HHHIH")
_NAME_OF_QUESTION: Final = 0xC000 | _HEADER.size
_CLASS_IN: Final = 1
_TYPE_A: Final = 1
_FORMERR: Final = 1
_NXDOMAIN: Final = 3
_NOTIMP: Final = 4
_TYPES: Final = {
    1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA", 33: "SRV",
    35: "NAPTR", 43: "DS", 48: "DNSKEY", 64: "SVCB", 65: "HTTPS", 252: "AXFR", 255: "ANY", 257: "CAA",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Query:
    """One well-formed question."""

    wire: bytes
    """Header and question as they came: an answer repeats both."""
    name: str
    """The name as the record shows it: unambiguous ASCII."""
    kind: int
    klass: int
    host: str | None
    """The canonical host, or None where the labels name none."""
    why_not: str = ""
    """Why the labels name no host."""

    @property
    def type_name(self) -> str:
        """Return `A`, `AAAA`, `TYPE65280`."""
        return _TYPES.get(self.kind, f"TYPE{self.kind}")


@dataclass(frozen=True, slots=True)
class Malformed:
    """Not a question that can be answered. `reply` is an error message, or empty: the packet is dropped."""

    shown: str
    why: str
    reply: bytes = b""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict on a question, with the bytes to send. `answer` is the address given, where one was."""

    verdict: Verdict
    answer: str
    reply: bytes


def parse(wire: bytes) -> Query | Malformed:
    """Read one query. Every input gives a value."""
    shown = clipped(wire.hex(), 128)
    if not _HEADER.size < len(wire) <= MAX_QUERY:
        return Malformed(shown, f"{len(wire)} bytes are not a DNS query")
    _, flags, questions, _, _, _ = _HEADER.unpack_from(wire)
    operation = flags >> 11 & 0xF
    if flags & 0x8000:
        return Malformed(shown, "an answer where a question belongs")
    if operation:
        return Malformed(shown, f"DNS operation {operation} is not a query", _error(wire, _NOTIMP))
    if questions != 1:
        return Malformed(shown, f"{questions} questions in one query", _error(wire, _FORMERR))
    read = _labels(wire)
    if read is None or read[1] + _QUESTION_TAIL.size > len(wire):
        return Malformed(shown, "its question cannot be read", _error(wire, _FORMERR))
    labels, end = read
    kind, klass = _QUESTION_TAIL.unpack_from(wire, end)
    host, why_not = _host(labels)
    name = ".".join(map(label_text, labels)) or "."
    return Query(wire[: end + _QUESTION_TAIL.size], name, kind, klass, host, why_not)


def judge(query: Query, policy: Policy, pool: AddressPool, now: datetime) -> Judged:
    """Decide a question and build its answer."""
    verdict = _verdict(query, policy, now)
    if isinstance(verdict, Deny):
        return Judged(verdict, "", _reply(query, _NXDOMAIN))
    if query.kind != _TYPE_A or query.host is None:
        return Judged(verdict, "", _reply(query, 0))
    try:
        address = pool.address_of(query.host)
    except AddressesExhaustedError as error:
        return Judged(Deny(str(error), query.host), "", _reply(query, _NXDOMAIN))
    return Judged(verdict, address, _reply(query, 0, address))


def refused(query: Query, why: str) -> Judged:
    """Deny a question for another reason than the policy's, and build its answer."""
    return Judged(Deny(why, ""), "", _reply(query, _NXDOMAIN))


def _verdict(query: Query, policy: Policy, now: datetime) -> Verdict:
    if query.klass != _CLASS_IN:
        return Deny(f"DNS class {query.klass} is not the Internet's", query.name)
    if query.host is None:
        return Deny(query.why_not, query.name)
    return decide_name(policy, query.host, now)


def _host(labels: list[bytes]) -> tuple[str | None, str]:
    """Return the host that the labels spell, or why they spell none."""
    if any(b"." in label for label in labels):
        return None, "a label with a dot in it reads as two"
    try:
        host = canonical_host(b".".join(labels))
    except HostError:
        return None, "the name is not a host name"
    return (None, "an address is not a name") if is_address(host) else (host, "")


def _labels(wire: bytes) -> tuple[list[bytes], int] | None:
    """Read the question's name. Nothing stands before it, so a compression pointer is an error."""
    labels: list[bytes] = []
    at = _HEADER.size
    while at < len(wire) and at - _HEADER.size < MAX_NAME:
        size = wire[at]
        if not size:
            return labels, at + 1
        if size > MAX_LABEL:
            return None
        labels.append(wire[at + 1 : at + 1 + size])
        at += 1 + size
    return None


def _reply(query: Query, code: int, address: str = "") -> bytes:
    identity, flags = struct.unpack_from("!HH", query.wire)
    recursion = flags & 0x0100
    head = _HEADER.pack(identity, 0x8080 | recursion | code, 1, bool(address), 0, 0)
    reply = head + query.wire[_HEADER.size :]
    if address:
        packed = ipaddress.IPv4Address(address).packed
        reply += _RECORD.pack(_NAME_OF_QUESTION, _TYPE_A, _CLASS_IN, TTL, len(packed)) + packed
    return reply


def _error(wire: bytes, code: int) -> bytes:
    """Return a bare header: the query's own id, operation and RD, marked as an answer, and an error code."""
    identity, flags = struct.unpack_from("!HH", wire)
    return _HEADER.pack(identity, 0x8080 | flags & 0x7900 | code, 0, 0, 0, 0)
