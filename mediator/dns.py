"""DNS messages: one query in, one closed verdict out, and the bytes of the answer. No socket, no clock.

Always: a query is judged before any answer is built; an allowed name has an A record and nothing else (an
empty answer to AAAA, HTTPS, SVCB and the rest, so that no client waits for IPv6); a denied one does not
exist (NXDOMAIN, which every libc takes at once). Nothing here asks a resolver: no name leaves the machine.
A name whose labels hold a dot or any byte that host names cannot have is never allowed.
"""

from dataclasses import dataclass
from typing import Final

from dnslib import QTYPE, RCODE, RR, A, DNSHeader, DNSLabel, DNSQuestion, DNSRecord
from dnslib.buffer import BufferError as WireError
from dnslib.dns import DNSError
from dnslib.label import DNSBuffer, DNSLabelError

from hark.policy.decide import Allow, Deny, Verdict, decide_name
from hark.policy.host import HostError, canonical_host, is_address
from hark.policy.model import Policy
from mediator.addresses import AddressesExhaustedError, AddressPool
from mediator.text import clipped, label_text

MAX_QUERY: Final = 4096  # larger than any question; EDNS padding fits
TTL: Final = 60  # an answer holds for the whole run; a client that caches for ever would outlive it
_HEADER_BYTES: Final = 12
_CLASS_IN: Final = 1
_TYPE_A: Final = 1
_FORMERR: Final = 1
_NOTIMP: Final = 4


@dataclass(frozen=True, slots=True)
class Query:
    """One well-formed question."""

    header: DNSHeader
    question: DNSQuestion
    name: str
    """The name as the record shows it: unambiguous ASCII."""
    host: str | None
    """The canonical host, or None where the labels name none."""
    why_not: str = ""
    """Why the labels name no host."""

    @property
    def type_name(self) -> str:
        """Return `A`, `AAAA`, `TYPE65535`."""
        return str(QTYPE.get(self.question.qtype, f"TYPE{self.question.qtype}"))


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
    if not _HEADER_BYTES < len(wire) <= MAX_QUERY:
        return Malformed(shown, f"{len(wire)} bytes are not a DNS query")
    try:
        buffer = DNSBuffer(wire)
        header = DNSHeader.parse(buffer)
        if header.qr:
            return Malformed(shown, "an answer where a question belongs")
        if header.opcode != 0:
            return Malformed(shown, f"DNS operation {header.opcode} is not a query", _error(wire, _NOTIMP))
        if header.q != 1:
            return Malformed(shown, f"{header.q} questions in one query", _error(wire, _FORMERR))
        question = DNSQuestion.parse(buffer)
    except (DNSError, DNSLabelError, WireError, ValueError, IndexError, RecursionError) as error:
        return Malformed(shown, f"not a DNS query: {type(error).__name__}", _error(wire, _FORMERR))
    return _query(header, question)


def judge(query: Query, policy: Policy, pool: AddressPool) -> Judged:
    """Decide a question and build its answer."""
    verdict = _verdict(query, policy)
    reply = _reply_to(query)
    if isinstance(verdict, Deny):
        reply.header.rcode = RCODE.NXDOMAIN
        return Judged(verdict, "", reply.pack())
    if query.question.qtype != _TYPE_A or query.host is None:
        return Judged(verdict, "", reply.pack())
    try:
        address = pool.address_of(query.host)
    except AddressesExhaustedError as error:
        reply.header.rcode = RCODE.NXDOMAIN
        return Judged(Deny(str(error), query.host), "", reply.pack())
    reply.add_answer(RR(query.question.qname, _TYPE_A, rdata=A(address), ttl=TTL))
    return Judged(verdict, address, reply.pack())


def _verdict(query: Query, policy: Policy) -> Verdict:
    if query.question.qclass != _CLASS_IN:
        return Deny(f"DNS class {query.question.qclass} is not the Internet's", query.name)
    if query.host is None:
        return Deny(query.why_not, query.name)
    verdict = decide_name(policy, query.host)
    return verdict if isinstance(verdict, Allow) else Deny(verdict.reason, verdict.hint)


def _query(header: DNSHeader, question: DNSQuestion) -> Query:
    labels = question.qname.label
    name = ".".join(map(label_text, labels)) or "."
    for label in labels:
        if b"." in label:
            return Query(header, question, name, None, "a label with a dot in it reads as two")
    try:
        host = canonical_host(b".".join(labels))
    except HostError:
        return Query(header, question, name, None, "the name is not a host name")
    if is_address(host):
        return Query(header, question, name, None, "an address is not a name")
    return Query(header, question, name, host)


def _reply_to(query: Query) -> DNSRecord:
    header = DNSHeader(id=query.header.id, qr=1, aa=0, ra=1, rd=query.header.rd)
    question = DNSQuestion(DNSLabel(query.question.qname), query.question.qtype, query.question.qclass)
    return DNSRecord(header, q=question)


def _error(wire: bytes, code: int) -> bytes:
    """Return a bare header: the query's own id, marked as an answer, with an error code and no records."""
    flags = 0x80 | (wire[2] & 0x79)  # QR, the query's opcode and RD
    return wire[:2] + bytes((flags, 0x80 | code)) + bytes(8)
