"""The mediator's life: starts at once, stops whole, says why it failed, and checks what it is given first."""

import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hark.bundle.events import EgressAttempt
from hark.errors import PolicyError
from hark.policy.model import HostRule, Policy
from mediator import resolver, serve
from mediator.ca import RunCA
from mediator.config import MediatorConfig
from mediator.serve import Mediator
from tests.fakes.recorder import ListRecorder
from tests.mediator.rig import API, loopback_sockets, running, secret


def test_stop_is_idempotent_and_may_come_before_start() -> None:
    others = set(threading.enumerate())
    sockets = loopback_sockets()
    mediator = Mediator(
        MediatorConfig(Policy()), sockets, ListRecorder(), RunCA.create(datetime.now(UTC)), print
    )
    mediator.stop()
    mediator.start()
    mediator.stop()
    mediator.stop()
    assert not any(thread.name == "mediator" for thread in set(threading.enumerate()) - others)


def test_it_stops_at_once_when_nothing_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "DRAIN_S", 50.0)
    with running(API) as rig:
        rig.ask(API)
        began = time.monotonic()
        rig.mediator.stop()
        assert time.monotonic() - began < serve.DRAIN_S / 2
    assert rig.fatal == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (MediatorConfig(Policy(), secrets=(secret("short", API),)), "5 characters"),
        (MediatorConfig(Policy(), upstreams={API: "nonsense!"}), "-upstream"),
    ],
)
def test_secrets_and_redirects_that_are_no_use_are_refused_before_anything_runs(
    config: MediatorConfig, words: str
) -> None:
    sockets = loopback_sockets()
    with pytest.raises(PolicyError, match=words):
        Mediator(config, sockets, ListRecorder(), RunCA.create(datetime.now(UTC)), print)
    for sock in (sockets.tcp4, sockets.tcp6, sockets.udp4, sockets.udp6, sockets.packets):
        sock.close()


def test_connections_made_just_before_the_end_are_recorded() -> None:
    with running(API) as rig:
        rig.ask(API)
        socks = [rig.dial("198.51.100.7", 1000 + number) for number in range(20)]
        for sock in socks:
            sock.close()
        rig.mediator.stop()
    assert sorted(event.port for event in rig.recorder.of(EgressAttempt)) == list(range(1000, 1020))


def test_a_bug_that_reaches_the_loop_marks_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(resolver.Resolver, "answer", broken)
    with running(API) as rig:
        with pytest.raises(TimeoutError):
            rig.ask_raw(bytes(20), 0.5)
        assert len(rig.fatal) == 1
        assert "ZeroDivisionError" in rig.fatal[0]


def test_whoever_waits_for_a_turn_is_heard_once_it_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_silence", lambda: time.sleep(0.3))
    mediator = Mediator(
        MediatorConfig(Policy()), loopback_sockets(), ListRecorder(), RunCA.create(datetime.now(UTC)), print
    )
    mediator.start()
    assert mediator._loop is not None
    mediator.stop()


def test_a_secrets_value_can_be_guarded_from_outside() -> None:
    policy = Policy(allow_hosts=(HostRule(API),))
    sockets = loopback_sockets()
    config = MediatorConfig(policy, secrets=(secret("sk-real-5e884898da280471", API),))
    mediator = Mediator(config, sockets, ListRecorder(), RunCA.create(datetime.now(UTC)), print)
    mediator.broker.guard(b"harmless")
    assert "sk-real" not in repr(mediator.broker)
    mediator.start()
    mediator.stop()


THOUSAND = """
import resource, socket, sys, threading
sys.path.insert(0, {root!r})
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
from hark.bundle.events import LlmResponseEnd, TunnelData
from hark.policy.model import Address, Rule, Speaks
from tests.fakes.raw import echo, raw_server
from tests.fakes.upstream import serving
from tests.mediator.rig import API, OTHER, running

with raw_server(echo) as server, serving(API, tls=False) as web:
    rules = (Rule(OTHER, (5432,), "db", Speaks.TCP, upstream=Address("127.0.0.1", server.port)),)
    with running(f"{{API}}:80", rules=rules, upstreams={{API: web.address}}) as rig:
        raw = [rig.dial(rig.address(OTHER), 5432) for _ in range(500)]
        plain = [rig.dial(rig.address(API), 80) for _ in range(500)]
        for number in (1, 2):  # twice: kept alive
            for sock in raw:
                sock.sendall(b"ping %d" % number)
            for sock in plain:
                sock.sendall(f"GET /{{number}} HTTP/1.1\\r\\nHost: {{API}}\\r\\n\\r\\n".encode())
            for sock in raw:
                sock.settimeout(60)
                assert sock.recv(100) == b"ping %d" % number
            for sock in plain:
                sock.settimeout(60)
                got = b""
                while not got.endswith(b"GET /%d 0" % number):
                    piece = sock.recv(4096)
                    assert piece, got
                    got += piece
        assert server.dials == web.dials == 500
        assert len(rig.recorder.wait_for(LlmResponseEnd, 1000)) == 1000
        assert rig.fatal == []
        for sock in raw + plain:
            sock.close()
print("all")
"""


@pytest.mark.slow
def test_a_thousand_connections_are_open_at_once() -> None:
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", THOUSAND.format(root=root)],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.stdout == "all\n", done.stderr
