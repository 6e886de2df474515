"""DNS messages: decided before answered, one A record for an allowed name and nothing for the rest."""

import struct

import pytest
from dnslib import DNSRecord
from hypothesis import given
from hypothesis import strategies as st

from hark.policy.decide import Allow, Deny
from hark.policy.model import HostRule, Policy
from mediator import dns
from mediator.addresses import AddressPool
from tests.support.policies import NOON

POLICY = Policy(allow_hosts=(HostRule("api.example.test"), HostRule("192.0.2.1")))


def wire(labels: list[bytes], kind: int = 1, klass: int = 1) -> bytes:
    name = b"".join(bytes((len(label),)) + label for label in labels) + b"\0"
    return struct.pack("!6H", 0x1234, 0x0100, 1, 0, 0, 0) + name + struct.pack("!HH", kind, klass)


def judged(query: bytes, policy: Policy = POLICY) -> tuple[dns.Query, dns.Judged, DNSRecord]:
    parsed = dns.parse(query)
    assert isinstance(parsed, dns.Query)
    result = dns.judge(parsed, policy, AddressPool(), NOON)
    return parsed, result, DNSRecord.parse(result.reply)


def test_an_allowed_name_gets_one_synthetic_address() -> None:
    _, result, reply = judged(wire([b"api", b"example", b"test"]))
    assert result.verdict == Allow("allow_hosts: api.example.test")
    assert result.answer == "198.18.0.1"
    assert [str(rr.rdata) for rr in reply.rr] == ["198.18.0.1"]
    assert (reply.header.id, reply.header.rcode) == (0x1234, 0)


def test_the_question_comes_back_in_the_spelling_it_was_asked_in() -> None:
    _, result, reply = judged(wire([b"aPi", b"EXAMPLE", b"tEst"]))
    assert isinstance(result.verdict, Allow)
    assert reply.q.qname.label == (b"aPi", b"EXAMPLE", b"tEst")


@pytest.mark.parametrize("kind", [28, 65, 64, 15, 16, 255, 5, 33, 6], ids=str)
def test_every_other_type_of_an_allowed_name_is_empty_and_not_an_error(kind: int) -> None:
    _, result, reply = judged(wire([b"api", b"example", b"test"], kind))
    assert isinstance(result.verdict, Allow)
    assert (result.answer, reply.rr, reply.header.rcode) == ("", [], 0)


@pytest.mark.parametrize("kind", [1, 28, 65, 16])
def test_a_denied_name_does_not_exist(kind: int) -> None:
    _, result, reply = judged(wire([b"c2VjcmV0", b"evil", b"test"], kind))
    assert isinstance(result.verdict, Deny)
    assert (reply.header.rcode, reply.rr) == (3, [])


@pytest.mark.parametrize(
    "labels",
    [
        [b"api.example", b"test"],
        [b"api.example.test"],
        [b"api", b"example\0", b"test"],
        [b"api", b"example", b"test", b"evil", b"net"],
        [b"x", b"api", b"example", b"test"],
        [b"example", b"test"],
        [b"api", b"example", b"test\n"],
        [b"api", b"ex ample", b"test"],
        ["àpi".encode(), b"example", b"test"],
        [],
    ],
    ids=repr,
)
def test_a_name_that_only_looks_allowed_is_denied(labels: list[bytes]) -> None:
    _, result, reply = judged(wire(labels))
    assert isinstance(result.verdict, Deny)
    assert reply.header.rcode == 3


def test_a_literal_address_is_no_name_even_where_the_policy_allows_it() -> None:
    _, result, _ = judged(wire([b"192", b"0", b"2", b"1"]))
    assert isinstance(result.verdict, Deny)


def test_another_class_than_the_internets_is_denied() -> None:
    _, result, _ = judged(wire([b"api", b"example", b"test"], 16, 3))
    assert isinstance(result.verdict, Deny)


def test_odd_bytes_are_shown_so_that_no_two_names_read_alike() -> None:
    query = dns.parse(wire([b"a.b\xff", b"t\0st"]))
    assert isinstance(query, dns.Query)
    assert query.host is None
    assert query.name == "a\\x2eb\\xff.t\\x00st"


def test_an_unknown_type_keeps_its_number() -> None:
    query, _, _ = judged(wire([b"a"], 65280))
    assert query.type_name == "TYPE65280"


@pytest.mark.parametrize(
    ("query", "why", "code"),
    [
        (b"", "0 bytes are not a DNS query", None),
        (bytes(12), "12 bytes are not a DNS query", None),
        (struct.pack("!6H", 7, 0x8180, 1, 0, 0, 0) + bytes(5), "an answer where a question belongs", None),
        (struct.pack("!6H", 7, 0x2800, 1, 0, 0, 0) + bytes(5), "DNS operation 5 is not a query", 4),
        (struct.pack("!6H", 7, 0x0100, 2, 0, 0, 0) + bytes(5), "2 questions in one query", 1),
        (struct.pack("!6H", 7, 0x0100, 0, 0, 0, 0) + bytes(5), "0 questions in one query", 1),
        (struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + b"\x3fabc", "its question cannot be read", 1),
        (struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + b"\xc0\x0c\0\1\0\1", "its question cannot be read", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_question_is_named_and_answered_with_an_error_or_not_at_all(
    query: bytes, why: str, code: int | None
) -> None:
    parsed = dns.parse(query)
    assert isinstance(parsed, dns.Malformed)
    assert parsed.why.startswith(why)
    if code is None:
        assert parsed.reply == b""
    else:
        reply = DNSRecord.parse(parsed.reply)
        assert (reply.header.id, reply.header.rcode, reply.header.qr) == (7, code, 1)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_value(data: bytes) -> None:
    for query in (data, wire([b"api"])[:12] + data):
        parsed = dns.parse(query)
        if isinstance(parsed, dns.Query):
            dns.judge(parsed, POLICY, AddressPool(), NOON)


def test_a_query_is_read_alike_with_anything_behind_it() -> None:
    plain = dns.parse(wire([b"api", b"example", b"test"]))
    longer = dns.parse(wire([b"api", b"example", b"test"]) + b"\0\0\x29\x04\xd0\0\0\0\0\0\0")
    assert isinstance(plain, dns.Query)
    assert isinstance(longer, dns.Query)
    assert plain.host == longer.host == "api.example.test"


def test_more_names_than_addresses_are_denied_in_words() -> None:
    pool = AddressPool()
    pool._size = 0
    query = dns.parse(wire([b"api", b"example", b"test"]))
    assert isinstance(query, dns.Query)
    result = dns.judge(query, POLICY, pool, NOON)
    assert isinstance(result.verdict, Deny)
    assert "range is used up" in result.verdict.reason
    assert DNSRecord.parse(result.reply).header.rcode == 3
