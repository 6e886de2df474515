"""What the operator's side did in a recorded run, done again at its point."""

import socket
import threading
from typing import Any

from hark.bundle.bounds import RunStart
from hark.bundle.events import EgressAttempt, EgressDecision, PolicyLoaded, TunnelData, Unknown
from hark.policy.model import HostRule, Policy
from hark.replay.recorded import Frame
from mediator.playback import operator
from mediator.publish import Opened
from tests.mediator.playback.rig import playing
from tests.mediator.rig import API

CALLER = "published port 8000 to 127.0.0.1:5123"


def frames(*events: Any) -> list[Frame]:
    return [Frame(seq, seq * 10**6, event) for seq, event in enumerate((RunStart(started_at=1), *events))]


def call(*events: tuple[bool, bytes], error: str = "") -> list[TunnelData]:
    """Return a recorded connection to a published port."""
    made, seqs = [TunnelData(1, 0, from_agent=True, host=CALLER)], {True: 1, False: 0}
    ends = ((True, b""), (False, b"")) if error else ((False, b""), (True, b""))
    for from_agent, data in (*events, *ends):
        made.append(
            TunnelData(1, seqs[from_agent], from_agent, data, end=not data, error=error if not data else "")
        )
        seqs[from_agent] += 1
    return made


class Inside:
    """A server of the agent's, as the way inside reaches it."""

    def __init__(self, late: int = 0) -> None:
        self.late = late
        self.asked: list[int] = []
        self.heard = b""
        self.over = threading.Event()

    def connect(self, port: int) -> socket.socket:
        self.asked.append(port)
        if len(self.asked) <= self.late:
            raise ConnectionRefusedError(111, "not yet")
        ours, theirs = socket.socketpair()
        threading.Thread(target=self._serve, args=(theirs,), daemon=True).start()
        return ours

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            self.heard += sock.recv(100)
            sock.sendall(b"page at 12:01")
            while piece := sock.recv(100):
                self.heard += piece
        self.over.set()


def test_a_call_to_a_published_port_is_made_again_and_its_bytes_played() -> None:
    inside = Inside(late=2)
    recorded = frames(*call((False, b"GET /"), (True, b"page at 11:59")))
    with playing(recorded, published=Opened((), inside.connect)) as played:
        assert inside.over.wait(60)
        played.rig.recorder.wait_for(TunnelData, 5)
        assert played.diverged == []
        report = played.playback.report()
    assert (inside.heard, inside.asked) == (b"GET /", [8000] * 3)
    assert played.rig.recorder.of(TunnelData)[0].host == CALLER
    assert (report.unconsumed, report.dials) == ((), 0)


def test_a_call_that_nobody_answered_is_recorded_as_it_was_and_not_made() -> None:
    inside = Inside()
    recorded = frames(*call(error="no connection: connection refused"))
    with playing(recorded, published=Opened((), inside.connect)) as played:
        played.rig.recorder.wait_for(TunnelData, 3)
        assert played.diverged == []
        assert played.playback.report().unconsumed == ()
    assert inside.asked == []
    assert played.rig.recorder.of(TunnelData) == [frame.event for frame in recorded[1:]]


def test_a_port_that_is_not_published_now_or_where_nobody_listens_is_said(monkeypatch: Any) -> None:
    monkeypatch.setattr(operator, "TRIES", 2)
    recorded = frames(*call((False, b"GET /")))
    with playing(recorded) as played:
        why = played.wait_diverged()
    assert (why.kind, "is not published now" in why.words) == ("uncovered", True)
    with playing(recorded, published=Opened((), Inside(late=99).connect)) as played:
        why = played.wait_diverged()
    assert (why.kind, "nobody listens at port 8000" in why.words) == ("difference", True)


def test_a_policy_that_changed_changes_at_its_point_and_not_before() -> None:
    narrow, wide = Policy(source="narrow"), Policy(source="wide", allow_hosts=(HostRule.parse(API),))
    loaded = PolicyLoaded("wide", raw=b"wide")
    recorded = frames(
        PolicyLoaded("narrow"),
        EgressAttempt(host="192.0.2.1", port=5432, protocol="tcp"),
        EgressDecision(host="192.0.2.1", allowed=False, reason="no"),
        loaded,
    )
    with playing(recorded, policy=narrow, changes={4: (wide, loaded)}) as played:
        with played.rig.dial("192.0.2.1", 5432) as sock:
            assert played.rig.recorder.of(PolicyLoaded) == []
            sock.shutdown(socket.SHUT_WR)
        assert played.rig.recorder.wait_for(PolicyLoaded) == [loaded]
        assert played.rig.address(API)
        assert played.diverged == []
    with playing(recorded, policy=narrow) as played:
        with played.rig.dial("192.0.2.1", 5432) as sock:
            sock.shutdown(socket.SHUT_WR)
            played.rig.recorder.wait_for(EgressDecision)
        assert played.rig.recorder.of(PolicyLoaded) == []


def test_nothing_is_let_in_beyond_an_event_that_cannot_be_interpreted() -> None:
    inside = Inside()
    recorded = frames(Unknown(99, b"?"), *call((False, b"GET /")))
    with playing(recorded, published=Opened((), inside.connect)) as played:
        why = played.wait_diverged()
    assert (why.kind, why.event) == ("uncovered", 1)
    assert why.words.startswith("event 1 is of kind 99, which this hark cannot interpret")
    assert inside.asked == []
