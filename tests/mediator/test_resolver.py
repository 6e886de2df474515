"""The resolver on sockets: each query is a pair of events before its answer; a failing record is silence."""

import asyncio
import socket
import threading
from types import SimpleNamespace

import pytest
from dnslib import DNSRecord

from hark.bundle.events import DnsDecision, DnsQuery
from hark.policy.model import HostRule, Policy
from mediator.addresses import AddressPool
from mediator.credentials import Broker
from mediator.resolver import Resolver
from tests.fakes.recorder import ListRecorder
from tests.mediator.rig import API, names, running, secret
from tests.support.policies import NOON
from tests.support.waiting import until


def test_an_allowed_name_gets_its_address_and_the_rest_nothing() -> None:
    with running(API) as rig:
        assert names(rig.ask(API)) == ["A 198.18.0.1"]
        for kind in ("AAAA", "HTTPS", "MX"):
            reply = rig.ask(API, kind)
            assert (reply.rr, reply.header.rcode) == ([], 0)
        assert [event.type for event in rig.recorder.of(DnsQuery)] == ["A", "AAAA", "HTTPS", "MX"]
        assert all(event.allowed for event in rig.recorder.of(DnsDecision))


def test_a_denied_name_does_not_exist_and_its_denial_is_on_the_disk_before_the_answer() -> None:
    with running(API) as rig:
        assert rig.ask("c2VjcmV0.evil.test").header.rcode == 3
        query, decision = rig.recorder.events
        assert query == DnsQuery(name="c2VjcmV0.evil.test", type="A", raw_type=1)
        assert decision == DnsDecision(
            name="c2VjcmV0.evil.test", reason="host c2VjcmV0.evil.test is not in allow_hosts".lower()
        )
        assert decision in rig.recorder.durable


def test_a_name_that_spells_a_placeholder_does_not_exist_under_a_wildcard_either() -> None:
    held = secret("sk-real-5e884898da28047151d0", API)
    policy = Policy(allow_hosts=(HostRule(API), HostRule("*.files.test")))
    with running(policy=policy, secrets=(held,)) as rig:
        assert rig.ask(f"{held.placeholder}.files.test").header.rcode == 3
        assert names(rig.ask("other.files.test")) != []
        (reason, _) = (event.reason for event in rig.recorder.of(DnsDecision))
    assert reason == f"the placeholder of secrets.{held.name} stands in the name"
    assert rig.fatal == []


def test_while_a_denial_waits_for_the_disk_other_names_are_answered() -> None:
    class Slow(ListRecorder):
        go = threading.Event()

        def sync(self, seq: int) -> None:
            assert self.go.wait(60)
            super().sync(seq)

    recorder = Slow()
    with running(API, recorder=recorder) as rig:
        try:
            with pytest.raises(TimeoutError):
                rig.ask_raw(bytes(DNSRecord.question("evil.test").pack()), 0.3)
            assert names(rig.ask(API)) == ["A 198.18.0.1"]
            assert not any(isinstance(event, DnsDecision) for event in recorder.durable)
        finally:
            recorder.go.set()
        assert rig.ask("evil.test").header.rcode == 3
    assert rig.fatal == []


def test_denials_that_come_together_share_a_sync() -> None:
    class Counting(ListRecorder):
        syncs = 0

        def sync(self, seq: int) -> None:
            if seq >= self.on_disk:
                self.syncs += 1
                threading.Event().wait(0.05)
            super().sync(seq)

    recorder = Counting()
    with running(API, recorder=recorder) as rig, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for number in range(200):
            sock.sendto(bytes(DNSRecord.question(f"x{number}.evil.test").pack()), rig.udp)
        recorder.wait_for(DnsDecision, 200)
    assert 0 < recorder.syncs < 50
    assert rig.fatal == []


def test_a_malformed_query_is_recorded_and_answered_with_an_error() -> None:
    with running(API) as rig:
        reply = rig.ask_raw(b"\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00")
        assert reply[:2] == b"\x12\x34"
        assert reply[3] & 0xF == 1
        assert rig.recorder.of(DnsQuery)[0].type == "MALFORMED"
        assert rig.recorder.of(DnsDecision)[0].reason == "2 questions in one query"


def test_an_answer_sent_to_us_is_recorded_and_dropped() -> None:
    with running(API) as rig:
        with pytest.raises(TimeoutError):
            rig.ask_raw(b"\x12\x34\x81\x80" + bytes(20), 0.3)
        (decision,) = rig.recorder.wait_for(DnsDecision)
        assert decision.reason == "an answer where a question belongs"


def test_a_query_that_cannot_be_recorded_is_not_answered() -> None:
    for number in (1, 2):
        with running(API, recorder=ListRecorder(fail_at=number)) as rig:
            with pytest.raises(TimeoutError):
                rig.ask_raw(b"\0\1\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1", 0.3)
            until(lambda: rig.fatal)
        assert len(rig.fatal) == 1


def test_a_flood_of_names_is_recorded_one_by_one() -> None:
    with running(API) as rig, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for number in range(300):
            label = f"x{number}".encode()
            wire = b"\0\1\1\0\0\1\0\0\0\0\0\0" + bytes((len(label),)) + label + b"\0\0\1\0\1"
            sock.sendto(wire, rig.udp)
            sock.settimeout(60)
            assert sock.recv(512)[3] & 0xF == 3
        assert len({event.name for event in rig.recorder.of(DnsDecision)}) == 300


def test_the_same_answers_over_ipv6() -> None:
    with running(API) as rig, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.settimeout(60)
        sock.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0\4evil\0\0\1\0\1", rig.sockets.udp6.getsockname())
        assert sock.recv(512)[3] & 0xF == 3


def test_a_question_that_comes_again_before_its_answer_is_one_question() -> None:
    """As stub resolvers send it after some seconds. After its answer it is another one."""
    release = threading.Event()

    class Slow(ListRecorder):
        def sync(self, seq: int) -> None:
            assert release.wait(60)
            super().sync(seq)

    recorder = Slow()
    asked = DNSRecord.question("evil.test").pack()
    with running(API, recorder=recorder) as rig, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(60)
        for _ in range(3):
            sock.sendto(asked, rig.udp)
        sock.sendto(DNSRecord.question(API).pack(), rig.udp)
        assert names(DNSRecord.parse(sock.recv(4096))) == ["A 198.18.0.1"]  # all were read by then
        assert [event.name for event in recorder.of(DnsQuery)] == ["evil.test", API]
        release.set()
        assert DNSRecord.parse(sock.recv(4096)).header.rcode == 3
        sock.sendto(asked, rig.udp)
        assert DNSRecord.parse(sock.recv(4096)).header.rcode == 3
        other = DNSRecord.question("evil.test").pack()  # another number: another question
        sock.sendto(other, rig.udp)
        assert DNSRecord.parse(sock.recv(4096)).header.rcode == 3
    assert [event.name for event in recorder.of(DnsQuery)] == ["evil.test", API, "evil.test", "evil.test"]


def _unheard(*_parts: object) -> None:
    """What a ledger is told, by nobody."""


def test_a_denial_that_is_on_the_disk_when_the_agent_has_ended_is_sent_to_nobody() -> None:
    async def answered(*, ended: bool) -> bytes:
        on_disk = asyncio.Event()
        ledger = SimpleNamespace(query=_unheard, answered=_unheard, settled=on_disk.wait)
        standing = SimpleNamespace(policy=Policy(), now=lambda: NOON)
        made = Resolver(standing, AddressPool(()), ledger, Broker(()))
        endpoint, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: made, local_addr=("127.0.0.1", 0)
        )
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.bind(("127.0.0.1", 0))
            asker.setblocking(False)
            made.datagram_received(bytes(DNSRecord.question("evil.test").pack()), asker.getsockname())
            settling = made._settling
            if ended:
                endpoint.close()
                while endpoint.get_extra_info("socket").fileno() >= 0:  # noqa: ASYNC110  # until asyncio has
                    await asyncio.sleep(0)
            on_disk.set()
            await settling
            endpoint.close()
            try:
                return asker.recv(512)
            except BlockingIOError:
                return b""

    assert asyncio.run(answered(ended=True)) == b""
    assert asyncio.run(answered(ended=False)) != b""  # the control
