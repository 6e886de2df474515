"""HTTP/2 played back: many streams over one connection, and gRPC as its own library speaks it."""

import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from hark.bundle.events import LlmResponseChunk, LlmResponseEnd, Trailers
from tests.fakes.upstream_h2 import echo, serving_h2
from tests.mediator.playback.rig import frames_of, playing, recording
from tests.mediator.rig import API, Rig, running
from tests.mediator.test_grpc import SERVICE, calling, channel_to
from tests.mediator.test_http import Client

type Calling = Callable[[grpc.Channel], Any]


def unary(channel: grpc.Channel) -> Any:
    """One message each way."""
    answer, call = channel.unary_unary(f"/{SERVICE}/Unary").with_call(b"hello", timeout=60)
    return answer, [pair for pair in call.trailing_metadata() if pair[0] == "x-sum"]


def down(channel: grpc.Channel) -> Any:
    """Many answers."""
    return list(channel.unary_stream(f"/{SERVICE}/Down")(b"200", timeout=60))


def up(channel: grpc.Channel) -> Any:
    """Many requests."""
    return channel.stream_unary(f"/{SERVICE}/Up")(iter([b"%d" % n for n in range(200)]), timeout=60)


def both(channel: grpc.Channel) -> Any:
    """Each request waits for the answer to the one before."""
    answered: queue.Queue[bytes] = queue.Queue()

    def ask() -> Iterator[bytes]:
        for number in range(20):
            yield b"ask %d" % number
            answered.get(timeout=60)

    got = []
    for answer in channel.stream_stream(f"/{SERVICE}/Both")(ask(), timeout=60):
        got.append(answer)
        answered.put(answer)
    return got


def fail(channel: grpc.Channel) -> Any:
    """An answer that is an error."""
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(f"/{SERVICE}/Fail")(b"x", timeout=60)
    return caught.value.code(), caught.value.details()  # type: ignore[attr-defined]


def cancel(channel: grpc.Channel) -> Any:
    """A call that is given up after its first answer."""
    call = channel.unary_stream(f"/{SERVICE}/Wait")(b"x", timeout=60)
    got = next(call)
    call.cancel()
    return got


@pytest.mark.parametrize("call", [unary, down, up, both, fail, cancel])
def test_a_call_of_grpc_comes_to_the_same_again(tmp_path: Path, call: Calling) -> None:
    path = tmp_path / "run.hark"
    with recording(path) as recorder, calling(recorder=recorder) as (_, _, channel):
        first = call(channel)
        recorder.wait_for(LlmResponseEnd)
    with playing(frames_of(path), API) as played:
        with channel_to(played.rig) as channel:
            second = call(channel)
            ends = played.rig.recorder.wait_for(LlmResponseEnd)
        assert played.rig.fatal == []
    assert second == first
    assert ends == recorder.of(LlmResponseEnd)
    assert played.rig.recorder.of(Trailers) == recorder.of(Trailers)
    chunks = [[one.data for one in book.of(LlmResponseChunk)] for book in (played.rig.recorder, recorder)]
    assert chunks[0] == chunks[1]
    assert played.diverged == []
    assert played.playback.report().unconsumed == ()


def asked_at_once(rig: Rig, numbers: Iterator[int] | range) -> dict[str, bytes]:
    """Ask over one connection before anything is answered."""
    with rig.tls(API, 443, None, "h2") as sock:
        client = Client(sock)
        asked = list(numbers)
        streams = [client.ask(f"/{number}") for number in asked]
        answers = client.wait(*streams)
        rig.recorder.wait_for(LlmResponseEnd, len(asked))
    return {f"/{number}": answer.body for number, answer in zip(asked, answers, strict=True)}


@pytest.mark.parametrize("backwards", [False, True])
def test_a_hundred_streams_over_one_connection_are_answered_whatever_their_order(
    tmp_path: Path, backwards: bool
) -> None:
    path = tmp_path / "run.hark"
    with (
        recording(path) as recorder,
        serving_h2(API, echo) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem, recorder=recorder) as rig,
    ):
        first = asked_at_once(rig, range(100))
    with playing(frames_of(path), API) as played:
        second = asked_at_once(played.rig, range(99, -1, -1) if backwards else range(100))
        assert played.rig.fatal == []
    assert second == first
    assert played.diverged == []
    assert played.playback.report().unconsumed == ()
