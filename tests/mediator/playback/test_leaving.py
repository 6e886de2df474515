"""An agent that leaves an answer early: whether the rest came first is a race, and no act of the agent's."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hark.bundle.events import AGENT_LEFT, LlmResponseChunk, LlmResponseEnd, ResponseHead
from hark.replay import leaving
from hark.replay.recorded import Frame
from mediator.playback import playback
from tests.fakes.upstream import Call
from tests.mediator.playback.rig import Played, equal, frames_of, playing, recording
from tests.mediator.playback.test_shapes import get
from tests.mediator.rig import API, Rig, pair
from tests.mediator.test_http import Client

BODY = b"not read"
SOME = 5 << 20  # more than is written at once
CANCEL = 8  # RFC 9113, 7
SHORT_NS = 1_000_000  # less than the server waits before each piece
LONG_NS = 600_000_000_000
type Answer = Callable[[Call, Callable[[], object]], None]


def slowly(call: Call, head_alone: Callable[[], object]) -> None:
    """Send the head, and once it stands alone on the record the body in pieces."""
    call.begin_chunked("text/plain")
    head_alone()
    for piece in (BODY, b"nor this", b""):
        time.sleep(0.03)
        call.chunk(piece)


def cut_off(call: Call, head_alone: Callable[[], object]) -> None:
    """Send the head, and once it stands alone not all of the body."""
    call.send_response(200)
    call.send_header("Content-Length", "100")
    call.end_headers()
    head_alone()
    call.wfile.write(BODY)
    call.close_connection = True


def other(call: Call) -> None:
    """Answer the other request."""
    call.reply(200, b"b")


def large(call: Call, head_alone: object) -> None:
    """Send more than any kernel holds, to one who reads."""
    del head_alone
    call.reply(200, b"x" * (leaving.KERNELS + (1 << 20)))


def recorded(path: Path, answer: Answer, agent: Callable[[Rig], Any]) -> list[Frame]:
    """Record an agent that takes all, or whose answer had come by the time it left."""
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        head_alone = partial(recorder.wait_for, ResponseHead)
        upstream.routes |= {"/a": partial(answer, head_alone=head_alone), "/b": other}
        agent(rig)
    return frames_of(path)


def stays(rig: Rig) -> None:
    """Leave once the end is on the record."""
    with asking(rig):
        rig.recorder.wait_for(LlmResponseEnd)


def reads_all(rig: Rig) -> None:
    """Read to the end."""
    with asking(rig) as sock:
        while sock.recv(1 << 16):
            pass
        rig.recorder.wait_for(LlmResponseEnd)


def leaves(rig: Rig) -> None:
    """Leave with the head."""
    with asking(rig) as sock:
        assert sock.recv(1)
    rig.recorder.wait_for(LlmResponseEnd)


@contextmanager
def asking(rig: Rig, path: str = "/a") -> Iterator[socket.socket]:
    """Ask for an answer."""
    with rig.tls(API) as sock:
        sock.sendall(get(path))
        yield sock


@contextmanager
def head_alone(
    frames: list[Frame], monkeypatch: pytest.MonkeyPatch, breath_ns: int = LONG_NS
) -> Iterator[Played]:
    """Play back, and let nothing of an answer in behind its head for a minute: the agent is at work."""
    monkeypatch.setattr(playback, "SETTLE_S", 60.0)
    monkeypatch.setattr(leaving, "BREATH_NS", breath_ns)
    begun: list[Played] = []

    def idle() -> bool:
        exchanges = begun[0].playback.score.under_way.values() if begun else ()
        return not any(live.at for live in list(exchanges))

    with playing(frames, API, idle=idle) as played:
        begun.append(played)
        yield played


def ends(played: Played) -> list[str]:
    return [end.error for end in played.rig.recorder.of(LlmResponseEnd)]


@pytest.mark.parametrize("answer", [slowly, cut_off])
def test_what_had_come_when_it_was_recorded_is_taken_to_have_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    frames = recorded(tmp_path / "run.hark", answer, stays)
    with head_alone(frames, monkeypatch) as played:
        leaves(played.rig)
    again = played.rig.recorder
    assert again.of(LlmResponseEnd) == [one.event for one in frames if isinstance(one.event, LlmResponseEnd)]
    chunks = [one.event.data for one in frames if isinstance(one.event, LlmResponseChunk)]
    assert b"".join(one.data for one in again.of(LlmResponseChunk)) == b"".join(chunks)
    assert equal(frames, played)
    assert played.playback.report().unconsumed == ()
    assert played.rig.fatal == []


def left(frames: list[Frame], monkeypatch: pytest.MonkeyPatch, breath_ns: int = LONG_NS) -> bool:
    """Tell whether an agent that leaves with the head is told apart."""
    with head_alone(frames, monkeypatch, breath_ns) as played:
        leaves(played.rig)
    assert played.rig.fatal == []
    return ends(played) == [AGENT_LEFT] and not equal(frames, played)


def test_the_control_what_took_longer_than_leaving_takes_was_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = recorded(tmp_path / "run.hark", slowly, stays)
    assert left(frames, monkeypatch, SHORT_NS)


def test_the_control_what_no_kernel_holds_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = recorded(tmp_path / "run.hark", large, reads_all)
    assert left(frames, monkeypatch)


def test_the_control_an_agent_that_did_something_before_the_rest_came_had_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def later(call: Call, head_alone: object) -> None:
        del head_alone
        call.begin_chunked("text/plain")
        call.chunk(BODY)
        assert asked.wait(60)
        call.chunk(b"")

    def asks_another(rig: Rig) -> None:
        with asking(rig) as sock:
            assert sock.recv(1)
            with asking(rig, "/b"):
                rig.recorder.wait_for(LlmResponseEnd)
            asked.set()
            rig.recorder.wait_for(LlmResponseEnd, 2)

    frames = recorded(tmp_path / "run.hark", later, asks_another)
    assert left(frames, monkeypatch)


def test_what_was_let_in_and_waits_for_the_agents_socket_had_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it was written when it was recorded; of what is left unread some is still with us this time."""
    monkeypatch.setattr(leaving, "BREATH_NS", LONG_NS)

    def some(call: Call, head_alone: object) -> None:
        del head_alone
        call.reply(200, b"x" * SOME)

    frames = recorded(tmp_path / "run.hark", some, reads_all)
    with playing(frames, API) as played:
        leaves(played.rig)
    assert ends(played) == [""]
    assert equal(frames, played)


@pytest.mark.parametrize("ends_the_run", [False, True])
@pytest.mark.parametrize("breath_ns", [LONG_NS, SHORT_NS])
def test_how_much_had_come_when_the_agent_left_is_not_compared_where_it_came_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breath_ns: int, ends_the_run: bool
) -> None:
    """It left after two pieces, and leaves with the head. What came much later it had waited for."""
    first, gone = threading.Event(), threading.Event()

    def never_ends(call: Call, head_alone: Callable[[], object]) -> None:
        call.begin_chunked("text/plain")
        head_alone()
        for piece, after in ((BODY, first), (b"nor this", gone)):
            time.sleep(0.03)
            call.chunk(piece)
            assert after.wait(60)

    def leaves_later(rig: Rig) -> None:
        with asking(rig):
            rig.recorder.wait_for(LlmResponseChunk)
            first.set()
            rig.recorder.wait_for(LlmResponseChunk, 2)
        rig.recorder.wait_for(LlmResponseEnd)
        gone.set()

    frames = recorded(tmp_path / "run.hark", never_ends, leaves_later)
    with head_alone(frames, monkeypatch, breath_ns) as played, asking(played.rig) as sock:
        assert sock.recv(1)
        if ends_the_run:
            played.rig.mediator.stop()
        else:
            sock.close()
            played.rig.recorder.wait_for(LlmResponseEnd)
    assert equal(frames, played)
    assert (played.playback.report().unconsumed == ()) == (breath_ns == LONG_NS)


def test_an_agent_that_had_left_amid_it_has_to_leave(tmp_path: Path) -> None:
    """Nothing of this holds where it is on the record that the agent left."""
    gone = threading.Event()

    def half(call: Call, head_alone: object) -> None:
        del head_alone
        call.begin_chunked("text/plain")
        call.chunk(BODY)
        assert gone.wait(60)

    def leaves_half(rig: Rig) -> None:
        leaves(rig)
        gone.set()

    frames = recorded(tmp_path / "run.hark", half, leaves_half)
    with playing(frames, API, stall_s=0.3) as played, asking(played.rig) as sock:
        assert sock.recv(1)
        assert played.wait_diverged().kind == "stall"


def test_so_has_what_had_come_when_the_run_ends_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = recorded(tmp_path / "run.hark", slowly, stays)
    with head_alone(frames, monkeypatch) as played, asking(played.rig) as sock:
        assert sock.recv(1)
        played.rig.mediator.stop()
    assert ends(played) == [""]
    assert equal(frames, played)


@contextmanager
def over_http2(rig: Rig) -> Iterator[Client]:
    """A client, of which the answers are not read unless somebody does."""
    with rig.tls(API, 443, None, "h2", "http/1.1") as sock:
        yield Client(sock)


def resets(client: Client, stream: int) -> None:
    """Take a request back once its head has come. What is written goes with the next flush."""
    while not client.answers[stream].status:
        for event in client.h2.receive_data(client.sock.recv(1 << 16)):
            client.take(event)
    client.h2.reset_stream(stream, CANCEL)


def test_a_stream_of_http2_that_is_taken_back_with_its_head_is_as_a_connection_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes["/a"] = partial(slowly, head_alone=partial(recorder.wait_for, ResponseHead))
        with over_http2(rig) as client:
            client.wait(client.ask("/a"))
    frames = frames_of(path)
    for breath_ns in (LONG_NS, SHORT_NS):
        with head_alone(frames, monkeypatch, breath_ns) as played, over_http2(played.rig) as client:
            resets(client, client.ask("/a"))
            client.flush()
            played.rig.recorder.wait_for(LlmResponseEnd)
        was_whole = breath_ns == LONG_NS  # the other is the control
        assert (ends(played) == [""]) == equal(frames, played) == was_whole


def both(client: Client, order: str) -> None:
    """Ask, and then in one write take that back and ask for another, or the other way round."""
    first = client.ask("/a")
    resets(client, first)
    held, client.flush = client.flush, lambda: None
    taken_back = client.h2.data_to_send()
    second = client.ask("/b")
    asked = client.h2.data_to_send()
    client.flush = held
    client.sock.sendall({"first": taken_back + asked, "last": asked + taken_back, "never": asked}[order])
    if order != "never":
        client.wait(second)


@pytest.mark.parametrize("order", ["first", "last", "never"])
def test_a_stream_taken_back_and_another_asked_for_in_one_write_may_change_places(
    tmp_path: Path, order: str
) -> None:
    """Between streams no order is compared (rule `races`); but the other's answer waits for both."""
    gone = threading.Event()

    def half(call: Call) -> None:
        call.begin_chunked("text/plain")
        call.chunk(BODY)
        assert gone.wait(60)

    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        upstream.routes |= {"/a": half, "/b": other}
        with over_http2(rig) as client:
            both(client, "first")
            gone.set()
            recorder.wait_for(LlmResponseEnd, 2)
    frames = frames_of(path)
    stall_s = 0.3 if order == "never" else 60.0
    with playing(frames, API, stall_s=stall_s) as played, over_http2(played.rig) as client:
        both(client, order)
        if order == "never":
            assert played.wait_diverged().kind == "stall"
            return
        played.rig.recorder.wait_for(LlmResponseEnd, 2)
    assert sorted(ends(played)) == ["", AGENT_LEFT]
    assert equal(frames, played)
