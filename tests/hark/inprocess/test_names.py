"""Questions as a libc asks them, and answers read back: dnslib is the other side."""

import socket

import pytest
from dnslib import RR, A, DNSRecord

from hark.inprocess import names


def answering(*zone: str, code: int = 0) -> names.Exchange:
    """Reply with what of a zone is asked for."""

    def exchange(wire: bytes) -> bytes:
        asked = DNSRecord.parse(wire)
        reply = asked.reply()
        reply.header.rcode = code
        for line in zone:
            for record in RR.fromZone(line):
                if record.rtype == asked.q.qtype:
                    reply.add_answer(record)
        return reply.pack()

    return exchange


def test_a_question_is_one_that_others_read() -> None:
    asked = DNSRecord.parse(names.query("bücher.example", names.AAAA))
    assert (str(asked.q.qname), asked.q.qtype, asked.header.rd) == ("xn--bcher-kva.example.", 28, 1)


@pytest.mark.parametrize("host", ["", ".", "a..b", "x" * 64 + ".example"])
def test_what_is_no_name_is_not_asked_for(host: str) -> None:
    with pytest.raises(socket.gaierror):
        names.query(host, names.A)


def test_both_kinds_of_address_are_asked_for_unless_one_is_named() -> None:
    both = answering("a.example. 60 A 198.18.0.1", "a.example. 60 AAAA fd00::1")
    assert names.look_up("a.example", 0, both) == ["198.18.0.1", "fd00::1"]
    assert names.look_up("a.example", socket.AF_INET, both) == ["198.18.0.1"]
    assert names.look_up("a.example", socket.AF_INET6, both) == ["fd00::1"]


def test_what_has_no_address_says_why_as_getaddrinfo_does() -> None:
    with pytest.raises(socket.gaierror) as denied:
        names.look_up("a.example", 0, answering(code=3))
    with pytest.raises(socket.gaierror) as empty:
        names.look_up("a.example", 0, answering())

    def gone(_wire: bytes) -> bytes:
        raise ConnectionResetError

    with pytest.raises(socket.gaierror) as unanswered:
        names.look_up("a.example", 0, gone)
    codes = [one.value.errno for one in (denied, empty, unanswered)]
    assert codes == [socket.EAI_NONAME, socket.EAI_NODATA, socket.EAI_AGAIN]


def test_a_reply_cut_anywhere_gives_no_address_that_is_not_in_it() -> None:
    reply = DNSRecord.question("a.example").reply()
    reply.add_answer(RR("a.example", rdata=A("198.18.0.1")))
    wire = reply.pack()
    assert list(names.addresses(wire)) == ["198.18.0.1"]
    for cut in range(len(wire)):
        assert list(names.addresses(wire[:cut])) == []


@pytest.mark.parametrize(
    ("host", "is_address"), [("127.0.0.1", True), ("::1", True), ("fe80::1%lo", True), ("a", False)]
)
def test_an_address_is_told_from_a_name(host: str, is_address: bool) -> None:
    assert names.is_numeric(host) is is_address
