"""A request that is asked anew: whole at the server, whatever way it came, and never more than is held."""

from pathlib import Path

import pytest

from hark.bundle.events import LlmRequest, LlmResponseEnd, Rewritten
from mediator import anew
from tests.mediator.playback.rig import frames_of, recording
from tests.mediator.playback.test_forking import forking
from tests.mediator.rig import Rig, pair

PIECES = [b"x" * 70_000, b"one", b"two"]
PATCH = b'{"replace": "one", "with": "another", "on": "request"}'


def streamed(path: Path) -> None:
    """Record one request that is sent in chunks."""
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _), rig.https() as client:
        client.request("POST", "/0", body=iter(PIECES), encode_chunked=True, headers=CHUNKED)
        client.getresponse().read()
        recorder.wait_for(LlmResponseEnd, 1)


CHUNKED = {"Transfer-Encoding": "chunked"}


def posted(rig: Rig) -> int:
    """Make that request, and return the status of its answer."""
    with rig.https() as client:
        client.request("POST", "/0", body=iter(PIECES), encode_chunked=True, headers=CHUNKED)
        return client.getresponse().status


@pytest.mark.parametrize("patch", [b"", PATCH])
def test_a_streamed_request_is_asked_anew_whole(tmp_path: Path, patch: bytes) -> None:
    streamed(tmp_path / "run.hark")
    with forking(frames_of(tmp_path / "run.hark"), 0, live=True, patch=patch) as (rig, upstream, _):
        assert posted(rig) == 200
    whole = b"".join(PIECES)
    assert [seen.body for seen in upstream.seen] == [whole.replace(b"one", b"another") if patch else whole]
    assert len(rig.recorder.of(Rewritten)) == bool(patch)
    assert rig.recorder.of(LlmRequest)[0].streaming


def test_one_that_is_longer_than_is_held_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anew, "MAX_KEPT", 1000)
    streamed(tmp_path / "run.hark")
    with forking(frames_of(tmp_path / "run.hark"), 0, live=True) as (rig, upstream, _):
        assert posted(rig) == 413
    assert upstream.dials == 0
