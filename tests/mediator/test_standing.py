"""A policy that changes, or runs out, while connections are open: what it does not allow any more ends."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hark.bundle.events import EgressDecision, LlmRequest, LlmResponseEnd, PolicyLoaded, TunnelData
from hark.policy.model import Address, HostRule, Policy, Rule, Speaks
from mediator import serve
from mediator.authority import Destination
from mediator.standing import Standing
from tests.fakes.raw import echo, raw_server
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import Call, serving
from tests.mediator.rig import API, OTHER, Rig, names, running
from tests.support.waiting import until

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DB = Rule(OTHER, (5432,), "allow 1", Speaks.TCP)
WEB = Rule(API, (443,), "allow 2")
TARGET = Destination(OTHER, 5432)


def standing(*rules: Rule) -> Standing:
    return Standing(Policy(allow=rules))


def test_a_connection_stands_as_long_as_the_rules_that_covered_it() -> None:
    grounds = standing(DB, WEB).grounds(TARGET, NOON)
    assert grounds.gone(Policy(allow=(WEB, replace(DB, name="allow 9"))), NOON) == ""
    assert grounds.gone(Policy(allow=(DB, Rule(OTHER, (5432,)))), NOON) == ""
    assert grounds.gone(Policy(allow=(WEB,)), NOON) == f"host {OTHER} is not in allow_hosts"
    assert "allowed on port 1, not on 5432" in grounds.gone(Policy(allow=(replace(DB, ports=(1,)),)), NOON)
    moved = replace(DB, upstream=Address("127.0.0.1", 1))
    assert grounds.gone(Policy(allow=(moved,)), NOON) == "a rule that allowed it has ended or changed"


def test_a_rule_that_ends_is_a_reason_by_itself() -> None:
    until = replace(DB, until=NOON + timedelta(seconds=1))
    policy = Policy(allow=(until,))
    grounds = Standing(policy).grounds(TARGET, NOON)
    assert Standing(policy).timed
    assert not standing(DB).timed
    assert grounds.gone(policy, NOON) == ""
    assert "ended at" in grounds.gone(policy, NOON + timedelta(seconds=1))


def change(rig: Rig, policy: Policy) -> None:
    rig.mediator.change_policy(policy, PolicyLoaded(source="changed"))


def drain(sock: socket.socket) -> None:
    while sock.recv(1000):
        pass
    raise OSError("EOF without a reset")


def dialled(rig: Rig, server: Any) -> socket.socket:
    sock = rig.dial(rig.address(OTHER), 5432)
    sock.sendall(b"ping")
    assert sock.recv(10) == b"ping"
    return sock


def test_a_change_is_on_the_record_and_in_force_when_whoever_made_it_goes_on() -> None:
    """Else a user who is told of it, and lets the agent go on, is recorded as having done that before."""
    with running() as rig:
        loop = rig.mediator._loop
        assert loop is not None
        loop.call_soon_threadsafe(time.sleep, 0.5)  # it does something else just now
        change(rig, Policy(allow=(DB,)))
        (loaded,) = rig.recorder.of(PolicyLoaded)
        assert loaded.source == "changed"
    change(rig, Policy())  # nothing is served any more: nobody waits for it


def test_a_change_ends_the_tunnels_that_it_forbids_and_no_other() -> None:
    with raw_server(echo) as server:
        rule = replace(DB, upstream=Address("127.0.0.1", server.port))
        third = replace(rule, host="third.example.test")
        with running(rules=(rule, third)) as rig, dialled(rig, server) as sock:
            kept = rig.dial(rig.address("third.example.test"), 5432)
            change(rig, Policy(allow=(third,)))
            with pytest.raises(ConnectionResetError):
                sock.recv(10)
            kept.sendall(b"still")
            assert kept.recv(10) == b"still"
            kept.close()
            ends = [event for event in rig.recorder.of(TunnelData) if event.end and event.exchange == 1]
            assert {end.error for end in ends} == {f"host {OTHER} is not in allow_hosts"}
            (loaded,) = rig.recorder.of(PolicyLoaded)
            assert loaded in rig.recorder.durable
            assert rig.recorder.events.index(loaded) < rig.recorder.events.index(ends[0])
            assert any(f"{OTHER}:5432 was ended" in line for line in rig.mediator.summary().warnings)


def test_a_change_ends_an_exchange_under_way_with_the_reason() -> None:
    let_go = threading.Event()
    with (
        serving(API) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):

        @upstream.on("/long")
        def long(call: Call) -> None:
            call.begin_chunked("text/plain")
            call.chunk(b"first")
            let_go.wait(60)

        with rig.tls(API) as sock:
            sock.sendall(f"GET /long HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
            assert b"200" in sock.recv(1000)
            change(rig, Policy(allow_hosts=(HostRule(OTHER),)))
            (end,) = rig.recorder.wait_for(LlmResponseEnd)
            with pytest.raises(OSError, match=r"reset|EOF|eof"):
                drain(sock)
        let_go.set()
    assert end.error == f"host {API} is not in allow_hosts"


def test_a_kept_connection_is_judged_by_the_policy_as_it_is_now() -> None:
    narrow = Rule(API, (443,), "allow 1", paths=("/a",))
    wide = Rule(API, (443,), "allow 2", paths=("/b",))
    statuses = []
    with (
        serving(API) as upstream,
        running(rules=(narrow,), upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
        rig.https() as client,
    ):
        for rules in ((narrow,), (narrow, wide)):
            change(rig, Policy(allow=rules))
            rig.recorder.wait_for(PolicyLoaded, len(rules))
            for path in ("/a", "/b"):
                client.request("GET", path)
                answer = client.getresponse()
                answer.read()
                statuses.append(answer.status)
    assert statuses == [200, 403, 200, 200]


def test_names_and_new_connections_go_by_the_changed_policy() -> None:
    with running(API) as rig:
        assert names(rig.ask(OTHER)) == []
        change(rig, Policy(allow_hosts=(HostRule(OTHER),)))
        rig.recorder.wait_for(PolicyLoaded)
        assert names(rig.ask(OTHER)) != []
        assert names(rig.ask(API)) == []


def test_a_connection_that_said_nothing_yet_goes_by_the_changed_policy() -> None:
    with running(f"{API}:80") as rig, rig.dial(rig.address(API), 80) as sock:
        until(lambda: rig.origins.asked)
        change(rig, Policy())
        rig.recorder.wait_for(PolicyLoaded)
        sock.sendall(f"GET / HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
        assert sock.recv(100).startswith(b"HTTP/1.1 403")
        assert [event.allowed for event in rig.recorder.of(EgressDecision)] == [False]
        assert rig.recorder.of(LlmRequest)


def test_a_change_that_cannot_be_recorded_is_not_put_into_force_and_fails_the_run() -> None:
    recorder = ListRecorder()
    with running(API, recorder=recorder) as rig:
        rig.ask(API)
        recorder.fail_at = recorder.appends + 1
        change(rig, Policy(allow_hosts=(HostRule(OTHER),)))
        until(lambda: rig.fatal)
        assert rig.fatal == ["PolicyLoaded could not be recorded: no space left on device"]


def test_a_change_before_the_loop_runs_is_not_lost() -> None:
    with running(API) as rig:
        change(rig, Policy(allow_hosts=(HostRule(OTHER),)))
        rig.recorder.wait_for(PolicyLoaded)
        assert names(rig.ask(API)) == []


@contextmanager
def opened_before_it_ended(server: Any) -> Iterator[tuple[Rig, socket.socket, datetime]]:
    """A connection under a rule that ends soon: later where this machine was too slow to make it."""
    for seconds in (4, 20, 120):
        end_of_rule = datetime.now(UTC) + timedelta(seconds=seconds)
        rule = replace(DB, upstream=Address("127.0.0.1", server.port), until=end_of_rule)
        with running(rules=(rule,)) as rig:
            try:
                sock = dialled(rig, server)
            except (OSError, AssertionError, IndexError):
                if datetime.now(UTC) < end_of_rule:
                    raise
                continue
            with sock:
                yield rig, sock, end_of_rule
                return
    raise AssertionError("no connection was made before its rule ended")


def test_a_rule_that_ends_ends_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "CHECK_S", 0.05)
    with raw_server(echo) as server, opened_before_it_ended(server) as (rig, sock, end_of_rule):
        with pytest.raises(ConnectionResetError):
            sock.recv(10)
        assert datetime.now(UTC) >= end_of_rule
        end = next(event for event in rig.recorder.of(TunnelData) if event.end)
        assert end.error.startswith("allow 1 ended at ")
        with pytest.raises(ConnectionResetError), rig.dial("198.18.0.1", 5432) as again:
            again.recv(10)
