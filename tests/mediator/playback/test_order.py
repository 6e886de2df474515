"""The order in which a replay lets things in: the recording's, in whatever order the agent asks now."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hark.bundle.events import (
    DnsDecision,
    EgressDecision,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    ResponseHead,
    RunStart,
    SecretInjected,
)
from hark.policy.model import HostRule, Policy, Rule, SecretSpec
from mediator import dial
from mediator.playback.standins import stand_ins
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import Call, serving
from tests.mediator.playback.rig import Played, frames_of, playing, recording
from tests.mediator.rig import API, OTHER, PLACEHOLDER, VALUE, Rig, pair, secret


def asked(rig: Rig, path: str, pause: float = 0.0) -> bytes:
    """Ask on a connection of its own."""
    time.sleep(pause)
    with rig.https() as client:
        client.request("GET", path)
        return client.getresponse().read()


def at_once(rig: Rig, pauses: dict[str, float]) -> dict[str, bytes]:
    """Ask in threads, each after its pause."""
    with ThreadPoolExecutor(len(pauses)) as pool:
        got = pool.map(lambda item: asked(rig, *item), pauses.items())
        return dict(zip(pauses, got, strict=True))


def in_this_order(rig: Rig, *paths: str) -> dict[str, bytes]:
    """Ask in threads, each once the one before has been heard."""
    with ThreadPoolExecutor(len(paths)) as pool:
        got = {}
        for number, path in enumerate(paths, 1):
            got[path] = pool.submit(asked, rig, path)
            rig.recorder.wait_for(LlmRequest, number)
        return {path: answer.result() for path, answer in got.items()}


def slow(seconds: float) -> Any:
    """Answer after a while."""

    def answer(call: Call) -> None:
        time.sleep(seconds)
        call.reply(200, call.path.encode())

    return answer


def one_after_another(*paths: str) -> dict[str, Any]:
    """Answer in this order once all have asked, each when the one before has been answered for long."""
    turns = [threading.Event() for _ in range(len(paths) + 1)]
    all_here = threading.Barrier(len(paths))

    def answer(call: Call) -> None:
        at = paths.index(call.path)
        all_here.wait(60)
        if at:
            turns[at].wait(60)
            time.sleep(0.1)
        call.reply(200, call.path.encode())
        turns[at + 1].set()

    return dict.fromkeys(paths, answer)


def ends(recorder: ListRecorder) -> list[str]:
    """Return the paths in the order in which their answers ended."""
    paths = {event.exchange: event.path for event in recorder.of(LlmRequest)}
    return [paths[event.exchange] for event in recorder.of(LlmResponseEnd)]


def test_threads_that_ask_in_another_order_get_their_answers_in_the_recorded_one(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes |= one_after_another("/c", "/b", "/a")
        first = at_once(rig, {"/a": 0, "/b": 0, "/c": 0})
        recorder.wait_for(LlmResponseEnd, 3)
    assert ends(recorder) == ["/c", "/b", "/a"]
    with playing(frames_of(path), API) as played:
        second = in_this_order(played.rig, "/b", "/c", "/a")
        played.rig.recorder.wait_for(LlmResponseEnd, 3)
        again = played.rig.recorder
    assert second == first
    assert [event.path for event in again.of(LlmRequest)] == ["/b", "/c", "/a"]
    assert ends(again) == ["/c", "/b", "/a"]
    assert played.diverged == []
    report = played.playback.report()
    assert report.unconsumed == ()
    assert report.held >= 1
    assert report.held_s > 0


def test_a_connection_that_is_not_reused_this_time_goes_on_before_its_turn_and_is_counted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        with rig.https() as client:
            for number in range(2):
                client.request("GET", f"/{number}")
                client.getresponse().read()
        assert asked(rig, "/2") == b"GET /2 0"
    with playing(frames_of(path), API) as played:
        got = [asked(played.rig, f"/{number}") for number in range(3)]
    assert got == [b"GET /%d 0" % number for number in range(3)]
    assert played.diverged == []
    report = played.playback.report()
    assert report.unconsumed == ()
    assert any("before GET" in words for words in report.early), report


def test_clocks_are_moved_by_the_recorded_gaps_and_never_back(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes["/slow"] = slow(0.3)
        asked(rig, "/slow")
        recorder.wait_for(LlmResponseEnd)
    frames = frames_of(path)
    with playing(frames, API) as played:
        asked(played.rig, "/slow")
        played.rig.recorder.wait_for(LlmResponseEnd)
    times = [time_ns for time_ns, _ in played.clock.moved]
    assert times == sorted(times)
    kinds = (DnsDecision, EgressDecision, ResponseHead, LlmResponseChunk, LlmResponseEnd)
    known = {frame.time_ns for frame in frames if isinstance(frame.event, kinds)}
    assert set(times) <= known | {
        time_ns - 1 for time_ns in known
    }  # a head just before what it is recorded with
    assert max(gap for _, gap in played.clock.moved) > 250 * 10**6
    assert all(gap >= 0 for _, gap in played.clock.moved)
    assert max(most or 0 for most in played.clock.most) > 250 * 10**6


def test_no_clock_goes_on_by_what_the_agent_worked_before_it_asked(tmp_path: Path) -> None:
    """Its timers for the answer, which it set when it asked, would run out with it: the gap alone says so."""
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes["/quick"] = slow(0.0)
        time.sleep(1.0)
        asked(rig, "/quick")
        recorder.wait_for(LlmResponseEnd)
    with playing(frames_of(path), API) as played:
        asked(played.rig, "/quick")
        played.rig.recorder.wait_for(LlmResponseEnd)
    assert max(gap for _, gap in played.clock.moved) > 900 * 10**6
    assert sum(most or 0 for most in played.clock.most) < 500 * 10**6


def test_the_recorded_waits_are_waited_where_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes["/slow"] = slow(1.0)
        asked(rig, "/slow")
        recorder.wait_for(LlmResponseEnd)
    with playing(frames_of(path), API, realtime=True) as played:
        began = time.monotonic()
        asked(played.rig, "/slow")
        assert time.monotonic() - began > 0.9


def test_a_release_waits_for_a_busy_agent_no_longer_than_the_recording_did(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes["/slow"] = slow(0.5)
        asked(rig, "/slow")
        recorder.wait_for(LlmResponseEnd)
    looks: list[float] = []

    def busy() -> bool:
        looks.append(time.monotonic())
        return False

    with playing(frames_of(path), API, idle=busy) as played:
        assert asked(played.rig, "/slow") == b"/slow"
    assert len(looks) > 10
    assert played.diverged == []


def test_a_busy_agent_is_not_stalled(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        asked(rig, "/first")
        asked(rig, "/second")
        recorder.wait_for(LlmResponseEnd, 2)
    computing = threading.Event()
    with (
        playing(frames_of(path), API, idle=lambda: not computing.is_set(), stall_s=2.0) as played,
        ThreadPoolExecutor(1) as pool,
    ):
        computing.set()
        second = pool.submit(asked, played.rig, "/second")
        time.sleep(2.5)
        assert played.diverged == []
        played.playback._stall_s = 60.0  # from here on it may be slow
        computing.clear()
        asked(played.rig, "/first")
        assert second.result(60) == b"GET /second 0"
    assert played.diverged == []


@pytest.fixture
def no_dialler(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let nothing be made that dials, and nobody be asked for an address."""
    made: list[str] = []

    def refuse(*_: object, **__: object) -> None:
        made.append("dialler")
        raise AssertionError("a dialler was made")

    monkeypatch.setattr(dial.Dialler, "__init__", refuse)
    return made


def test_whatever_happens_nothing_is_dialled_and_no_name_is_looked_up(
    tmp_path: Path, no_dialler: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.hark"
    monkeypatch.undo()
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        asked(rig, "/a")
    monkeypatch.setattr(dial.Dialler, "__init__", lambda *_: no_dialler.append("dialler"))
    looked_up: list[object] = []
    monkeypatch.setattr("socket.getaddrinfo", lambda *args, **_: looked_up.append(args))
    with (
        serving(API) as upstream,
        playing(
            frames_of(path), API, OTHER, upstreams={API: upstream.address}, roots=upstream.ca_pem
        ) as played,
    ):
        assert asked(played.rig, "/a") == b"GET /a 0"
        with played.rig.https() as client:
            client.request("GET", "/never")
            assert played.wait_diverged().kind == "miss"
        assert upstream.dials == 0
    assert (no_dialler, looked_up) == ([], [])
    assert played.playback.report().dials == 0


def test_rules_are_judged_by_the_recorded_time(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        asked(rig, "/a")
        recorder.wait_for(LlmResponseEnd)
    then = datetime(2030, 6, 3, 12, 0, tzinfo=UTC)
    frames = frames_of(path)
    assert isinstance(frames[0].event, RunStart)
    frames[0] = frames[0]._replace(event=RunStart(started_at=int(then.timestamp()) * 10**9))
    for until, passes in ((then + timedelta(hours=1), True), (then - timedelta(hours=1), False)):
        policy = Policy(allow=(Rule(API, until=until),))
        with playing(frames, policy=policy) as played:
            replies = played.rig.ask(API)
            assert bool(replies.rr) is passes
            now = played.playback.now()
        assert timedelta(0) <= now - then < timedelta(minutes=1)


def test_the_record_of_a_replay_plays_back_equal(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.hark" for number in range(3)]
    with recording(paths[0]) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes |= {"/a": slow(0.2), "/b": slow(0.1)}
        at_once(rig, {"/a": 0, "/b": 0.02})
        recorder.wait_for(LlmResponseEnd, 2)
    order = ends(recorder)
    for older, newer in pairwise(paths):
        with recording(newer) as again, playing(frames_of(older), API, recorder=again) as played:
            got = at_once(played.rig, {"/b": 0, "/a": 0.05})
            again.wait_for(LlmResponseEnd, 2)
        assert got == {"/a": b"/a", "/b": b"/b"}
        assert played.diverged == []
        assert played.playback.report().unconsumed == ()
        assert ends(again) == order


def test_two_answers_swapped_come_swapped(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        for number in range(2):
            asked(rig, f"/{number}")
    other = {1: 2, 2: 1}
    frames = [
        frame._replace(event=frame.event._replace(exchange=other[frame.event.exchange]))
        if isinstance(frame.event, LlmRequest)
        else frame
        for frame in frames_of(path)
    ]
    with playing(frames, API, stall_s=0.5) as played, played.rig.https() as client:
        client.request("GET", "/0")
        why = played.wait_diverged()
    assert why.kind == "stall"


def _answers(played: Played) -> list[bytes]:
    return [event.data for event in played.rig.recorder.of(LlmResponseChunk)]


def test_a_policy_that_allows_what_was_refused_does_not_make_an_answer_up(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    policy = Policy(allow=(Rule(API, methods=("GET",), paths=("/public/**",)),))
    with recording(path) as recorder, pair(policy=policy, recorder=recorder) as (rig, _):
        assert b"hark: not sent" in asked(rig, "/secret")
        recorder.wait_for(LlmResponseEnd)
    with (
        playing(frames_of(path), policy=Policy(allow_hosts=(HostRule(API),))) as played,
        played.rig.https() as client,
    ):
        client.request("GET", "/secret")
        why = played.wait_diverged()
    assert why.kind == "policy"
    assert "was refused when it was recorded, and is not here" in why.words
    assert _answers(played) == []


def test_a_refusal_has_its_turn_too_and_moves_the_clock(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    policy = Policy(allow=(Rule(API, methods=("GET",), paths=("/public/**",)),))
    with recording(path) as recorder, pair(policy=policy, recorder=recorder) as (rig, _):
        first = asked(rig, "/secret")
        recorder.wait_for(LlmResponseEnd)
    frames = frames_of(path)
    with playing(frames, policy=policy) as played:
        assert asked(played.rig, "/secret") == first
    (ended,) = [frame.time_ns for frame in frames if isinstance(frame.event, LlmResponseEnd)]
    assert ended in [time_ns for time_ns, _ in played.clock.moved]
    assert played.playback.report().unconsumed == ()


def test_a_request_whose_placeholder_may_not_stand_there_is_refused_by_a_stand_in_as_it_was(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.hark"

    def ask(rig: Rig) -> list[tuple[int, bytes]]:
        got = []
        with rig.https() as client:
            for place in ("query", "header"):
                target = f"/?key={PLACEHOLDER}" if place == "query" else "/"
                headers = {"Authorization": f"Bearer {PLACEHOLDER}"} if place == "header" else {}
                client.request("GET", target, headers=headers)
                answer = client.getresponse()
                got.append((answer.status, answer.read()))
        rig.recorder.wait_for(LlmResponseEnd, 2)
        return got

    with recording(path) as recorder, pair(secrets=(secret(VALUE, API),), recorder=recorder) as (rig, _):
        first = ask(rig)
    assert [status for status, _ in first] == [403, 200]
    spec = SecretSpec("API_KEY", "API_KEY", None, (HostRule.parse(API),))
    held = stand_ins((spec,), {"API_KEY": PLACEHOLDER})
    with playing(frames_of(path), API, secrets=held) as played:
        assert ask(played.rig) == first
        (injected,) = played.rig.recorder.of(SecretInjected)
    assert injected.placeholder == PLACEHOLDER
    assert played.diverged == []
    assert played.playback.report().unconsumed == ()
    with playing(frames_of(path), API) as played, played.rig.https() as client:
        client.request("GET", f"/?key={PLACEHOLDER}")
        assert played.wait_diverged().kind == "policy"
