"""A recorded run played back: the same bytes to the same client, from no server."""

import asyncio
import re
import threading
import time
from pathlib import Path

import pytest

from hark.bundle.bounds import RunEnd, RunStart
from hark.bundle.events import LlmRequest, LlmResponseChunk, LlmResponseEnd, ResponseHead
from hark.errors import BundleError
from hark.replay.pieces import Data, End, Part
from hark.replay.recorded import Frame
from hark.replay.score import Score
from mediator.playback.playback import Playback
from mediator.playback.report import Divergence, nothing_comes
from tests.mediator.playback.rig import changed, frames_of, playing, recording
from tests.mediator.rig import API, Rig, pair


def _three(rig: Rig) -> list[tuple[int, bytes, list[tuple[str, str]]]]:
    got = []
    with rig.https() as client:
        for number in range(3):
            client.request("POST", f"/{number}", body=b"hello %d" % number)
            answer = client.getresponse()
            got.append((answer.status, answer.read(), answer.getheaders()))
    rig.recorder.wait_for(LlmResponseEnd, 3)
    return got


def _kinds(rig: Rig) -> list[type]:
    """What was recorded, but for heads: those are where an answer took longer than it had to."""
    return [type(event) for event in rig.recorder.events if not isinstance(event, ResponseHead)]


def test_a_recorded_run_is_played_back_byte_for_byte_and_nothing_is_dialled(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, upstream):
        first = _three(rig)
        assert upstream.dials == 1
    with playing(frames_of(path), API) as played:
        second = _three(played.rig)
        recorded = _kinds(played.rig)
        assert played.diverged == []
    assert second == first
    assert recorded == [type(event) for event in recorder.events if not isinstance(event, ResponseHead)]
    assert upstream.dials == 1
    report = played.playback.report()
    assert (report.unconsumed, report.dials, report.early) == ((), 0, ())
    assert report.released == 2 + 3 * 3
    for kind in (LlmRequest, LlmResponseEnd):
        assert played.rig.recorder.of(kind) == recorder.of(kind)
    assert [chunk.data for chunk in played.rig.recorder.of(LlmResponseChunk)] == [
        chunk.data for chunk in recorder.of(LlmResponseChunk)
    ]


def test_what_is_left_to_do_is_done_once_the_last_answer_has_gone_to_the_agent(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        _three(rig)
    told: list[bool] = []
    done = threading.Event()
    with playing(frames_of(path), API) as played:
        score = played.playback.score
        assert not score.is_played
        played.playback.played = lambda: (told.append(score.is_played), done.set())
        _three(played.rig)
        assert done.wait(60)
    assert told == [True]
    assert not Score([]).is_played


def test_a_request_that_was_not_recorded_gets_no_answer_and_ends_the_run_with_the_nearest(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        _three(rig)
    with playing(frames_of(path), API) as played, played.rig.https() as client:
        client.request("POST", "/0", body=b"hello!")
        why = played.wait_diverged()
        assert why.kind == "miss"
        assert why.words.startswith(f"no recording for POST {API}/0; nearest is event ")
        client.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.sock.recv(1)
    assert len(played.diverged) == 1
    assert len(played.playback.report().unconsumed) == 3


def test_one_byte_of_a_recorded_answer_changed_is_one_byte_that_the_agent_gets(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        first = _three(rig)
    spoiled = changed(frames_of(path), LlmResponseChunk, lambda event: event._replace(data=b"POST /X 7"), 1)
    with playing(spoiled, API) as played:
        second = _three(played.rig)
    assert second != first
    assert second[1][1] == b"POST /X 7"


def test_an_answer_that_was_dropped_from_the_recording_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        _three(rig)
    frames = [frame for frame in frames_of(path) if getattr(frame.event, "exchange", 0) != 2]
    with playing(frames, API) as played, played.rig.https() as client:
        client.request("POST", "/0", body=b"hello 0")
        assert client.getresponse().read() == b"POST /0 7"
        client.request("POST", "/1", body=b"hello 1")
        assert played.wait_diverged().kind == "miss"


def test_an_agent_that_does_not_ask_leaves_answers_over_and_is_told_which(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        _three(rig)
    with playing(frames_of(path), API) as played, played.rig.https() as client:
        client.request("POST", "/0", body=b"hello 0")
        client.getresponse().read()
    (second, third) = played.playback.report().unconsumed
    assert f"the answer to POST {API}/1 (event " in second
    assert "/2 (event " in third


def test_an_answer_that_waits_for_a_request_that_never_comes_is_a_stall_which_names_both(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        _three(rig)
    with playing(frames_of(path), API, stall_s=0.5) as played, played.rig.https() as client:
        client.request("POST", "/1", body=b"hello 1")
        why = played.wait_diverged()
    assert why.kind == "stall"
    assert why.words.startswith(f"POST {API}/0 (event ")
    assert f"did not come, and the answer to POST {API}/1 waits for it with its beginning" in why.words


def test_an_agent_that_waits_for_more_than_a_recording_that_breaks_off_has_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        _three(rig)
    whole = frames_of(path)
    (_, cut, _) = [at for at, frame in enumerate(whole) if isinstance(frame.event, LlmRequest)]
    with playing(whole[: cut + 1], API, stall_s=2.0) as played, played.rig.https() as client:
        client.request("POST", "/0", body=b"hello 0")
        assert client.getresponse().read() == b"POST /0 7"
        client.request("POST", "/1", body=b"hello 1")
        why = played.wait_diverged()
    assert why.kind == "stall"
    assert f"waits for more of the answer to POST {API}/1 than was recorded" in why.words


@pytest.mark.parametrize("starving", [True, False])
def test_an_agent_that_is_kept_from_the_processors_is_waited_for_longer(starving: bool) -> None:
    """The control is one that computes by itself: it gets what it had when it was recorded, and no more."""
    began = time.monotonic()

    def done() -> bool:
        return time.monotonic() > began + (0.2 if starving else 3600)

    def starved() -> float:
        return 100 * (time.monotonic() - began) if starving else 0.0

    playback = Playback(Score([]), lambda _: None, idle=done, starved=starved)
    asyncio.run(playback._settled(0.01))
    assert done() == starving


def test_bytes_that_were_set_aside_are_asked_for_at_their_release() -> None:
    told: list[Divergence] = []
    held = {3: b"read again"}
    playback = Playback(Score([]), told.append, contents=held.get)
    assert playback.loaded(Part(3, 0, Data(b""))) == Data(b"read again")
    assert playback.loaded(Part(4, 0, Data(b"small"))) == Data(b"small")
    assert playback.loaded(Part(3, 0, End())) == End()
    assert told == []


def test_bytes_that_are_not_there_any_more_end_the_replay() -> None:
    def gone(seq: int) -> bytes | None:
        raise BundleError(f"event {seq} is another")

    told: list[Divergence] = []
    playback = Playback(Score([]), told.append, contents=gone)
    assert playback.loaded(Part(3, 0, Data(b""))) is None
    assert [(one.kind, one.words, one.event) for one in told] == [("uncovered", "event 3 is another", 3)]


def test_an_agent_that_waits_for_nothing_that_was_recorded_is_told_what_did_not_come(tmp_path: Path) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _):
        _three(rig)
    for alive in (False, True):  # before it has begun, and once it has ended, it waits for nobody
        with playing(frames_of(path), API, stall_s=0.2) as played:
            played.playback._alive = lambda alive=alive: alive  # type: ignore[misc]
            if not alive:
                assert not played.happened.wait(3)
                continue
            why = played.wait_diverged()
    assert why.kind == "stall"
    assert re.fullmatch(
        rf"POST {API}/0 \(event \d+\) did not come, and the agent waits for nothing that was recorded",
        why.words,
    )


def test_an_agent_that_has_done_all_and_does_not_end_waits_for_what_was_not_recorded() -> None:
    end = RunEnd(ended_at=1, exit_code=0, reason="exit")
    score = Score([Frame(0, 0, RunStart(started_at=0)), Frame(1, 2_000_000_000, end)])
    assert nothing_comes(score, 1.9) is None
    why = nothing_comes(score, 2.1)
    assert why is not None
    assert why.words.startswith("the end of the run (event 1) did not come, and the agent waits for nothing")
    assert nothing_comes(Score([]), 1e9) is None  # a recording that breaks off says nothing of an end
