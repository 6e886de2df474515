"""Trap 17: an allowed name whose other record types make a client wait."""

import ipaddress
import struct
from contextlib import AbstractContextManager
from typing import Final
from unittest.mock import patch

from dnslib import QTYPE, DNSRecord

from mediator import dns
from tests.attacks.registry import Outcome, Verdict, add, run_without
from tests.mediator.rig import API, running

OTHER_TYPES: Final = ("AAAA", "HTTPS", "SVCB")
PATIENCE: Final = 60.0
AT_ONCE: Final = 0.3  # for a reply that does not come; one that comes is waited for
NOWHERE: Final = ipaddress.IPv6Address("2001:db8::7").packed  # documentation: nobody has it
_judge: Final = dns.judge


def _led_to_ipv6() -> Outcome:
    """Ask as a client that prefers IPv6: succeed if it is given an address that leads nowhere."""
    with running(API) as rig:
        reply = rig.ask(API, "AAAA")
        if reply.header.rcode or not rig.ask(API).rr:
            return Outcome(Verdict.UNKNOWN, f"rcode {reply.header.rcode}")
        return Outcome.seen(f"{len(reply.rr)} addresses", succeeded=bool(reply.rr))


def _unanswered(patience: float) -> Outcome:
    """Ask for every type that a browser asks for: succeed if one question has no answer."""
    with running(API) as rig:
        for kind in OTHER_TYPES:
            question = DNSRecord.question(API, kind)
            try:
                reply = DNSRecord.parse(rig.ask_raw(question.pack(), patience))
            except TimeoutError:
                return Outcome(Verdict.SUCCEEDED, f"no answer to {kind}")
            if reply.rr or reply.header.rcode:
                return Outcome(Verdict.UNKNOWN, f"{kind}: {reply}")
    return Outcome.seen("each was answered", succeeded=False)


def _judge_with_an_address(query: dns.Query, *context: object) -> dns.Judged:
    judged = _judge(query, *context)  # type: ignore[arg-type]
    if query.kind != QTYPE.AAAA:
        return judged
    answer = struct.pack("!HHHIH", dns._NAME_OF_QUESTION, query.kind, query.klass, dns.TTL, len(NOWHERE))
    counts = struct.pack("!HHHH", 1, 1, 0, 0)
    return dns.Judged(judged.verdict, "", judged.reply[:4] + counts + judged.reply[12:] + answer + NOWHERE)


def _judge_only_addresses(query: dns.Query, *context: object) -> dns.Judged:
    judged = _judge(query, *context)  # type: ignore[arg-type]
    return judged if query.kind == QTYPE.A else dns.Judged(judged.verdict, "", b"")


def _an_address_for_aaaa() -> AbstractContextManager[object]:
    return patch.object(dns, "judge", _judge_with_an_address)


def _silence() -> AbstractContextManager[object]:
    return patch.object(dns, "judge", _judge_only_addresses)


add(
    17,
    "a client is led to an IPv6 address that stalls it",
    _led_to_ipv6,
    run_without(_an_address_for_aaaa, _led_to_ipv6),
)
add(
    17,
    "a client waits for AAAA, HTTPS or SVCB",
    lambda: _unanswered(PATIENCE),
    run_without(_silence, lambda: _unanswered(AT_ONCE)),
)
