"""What is taken from a bundle to start its run again, and which bundles are refused in words."""

import os
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, RunStart
from hark.errors import HarkError, ReplayError, TruncatedError
from hark.rerun.recalled import recall
from tests.support.recordings import BOUNDARY, ENV, PROJECT, bundle
from tests.support.rerecorded import STRANGER


def test_a_run_is_recalled_as_it_was_started(tmp_path: Path) -> None:
    path = bundle(
        tmp_path / "run.hark",
        ev.FsManifest({"agent.py": bytes(32)}, PROJECT),
        ev.FsManifest({"/usr/bin/true": bytes(32)}, "programs"),
        ev.Snapshot("project", bytes(32), 0, b"abc", last=True),
        ev.Input("streams", b"terminal other other"),
        ev.Determinism(bytes(range(32)), ("clock preload",)),
    )
    run = recall(path, own=STRANGER.public_key)
    assert run.start.argv == ("true",)
    assert run.env == ENV
    assert run.boundary == BOUNDARY
    assert run.manifest == {"agent.py": bytes(32)}
    assert run.programs == {"/usr/bin/true": bytes(32)}
    assert run.snapshot_bytes == 3
    assert run.has_terminal
    assert run.determinism is not None
    assert run.verified.own
    assert not recall(path).verified.own


def test_a_fork_is_recalled_like_any_run(tmp_path: Path) -> None:
    path = bundle(tmp_path / "run.hark", ev.Branch(bytes(32), 7, "request", 5), ev.Rewritten(1, why="-model"))
    assert recall(path).start.argv == ("true",)


def test_another_bundle_in_its_place_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bundle(tmp_path / "run.hark")
    other = bundle(tmp_path / "other.hark", start=RunStart(argv=("evil",), working_dir=PROJECT))
    from hark.rerun import recalled

    def swapped(*words: Any, **named: Any) -> Any:
        result = verified(*words, **named)
        os.replace(other, path)
        return result

    verified = recalled.verify
    monkeypatch.setattr(recalled, "verify", swapped)
    with pytest.raises(ReplayError, match="changed while it was read"):
        recall(path)


@pytest.mark.parametrize(
    ("more", "changes", "words"),
    [
        ((), {"end": RunEnd(reason="never-started: x: not found", exit_code=127)}, "it never started"),
        ((), {"end": RunEnd(reason="recorder-failed: disk full", exit_code=123)}, "its recorder failed"),
        ((ev.Unknown(200, b"\xa0"),), {}, r"event 4 \(kind 200\) is of a kind that this hark does not know"),
        ((ev.Unknown(37, b"\xa0\xff"),), {}, r"event 4 \(Input\) cannot be read"),
        ((ev.ClockRead("time", 5),), {}, r"event 4 \(ClockRead\) is one read of a clock"),
        ((ev.BodyHash(1, False, 5, bytes(32)),), {}, "recorded by its hash alone"),
        ((RunStart(argv=("sh",)),), {}, r"event 4 \(RunStart\) is there a second time"),
        ((ev.EnvSnapshot({"A": "b"}),), {}, r"event 4 \(EnvSnapshot\) is there a second time"),
        ((ev.Boundary(uid=0),), {}, r"event 4 \(Boundary\) is there a second time"),
        ((), {"start": RunStart(working_dir=PROJECT)}, "does not say which command"),
        ((), {"boundary": None}, "as which user the agent ran"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_replayed_is_refused_in_words(
    tmp_path: Path, more: tuple[Any, ...], changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ReplayError, match=words) as refused:
        recall(bundle(tmp_path / "run.hark", *more, **changes))
    assert refused.value.exit_code == 4


def test_messages_connections_and_a_policy_that_changed_are_played(tmp_path: Path) -> None:
    begun = ev.TunnelData(1, 0, from_agent=True, host="published port 80 to 127.0.0.1:5")
    more = (begun, ev.WebSocketMessage(2), ev.McpMessage("tools"), ev.PolicyLoaded("new.toml", raw=b"x"))
    found = recall(bundle(tmp_path / "run.hark", *more))
    assert found.loaded.source != "new.toml"
    assert found.changes == [7]


def test_a_broken_bundle_is_refused_before_anything_is_read_of_it(tmp_path: Path) -> None:
    path = Path(bundle(tmp_path / "run.hark"))
    data = bytearray(path.read_bytes())
    data[data.index(b"/home/ann/project")] ^= 1
    path.write_bytes(data)
    with pytest.raises(ReplayError, match="does not verify: BROKEN"):
        recall(str(path))
    path.write_bytes(b"no bundle")
    with pytest.raises(ReplayError, match="nothing is replayed from it"):
        recall(str(path))


def test_a_record_that_breaks_off_is_replayed_only_when_asked(tmp_path: Path) -> None:
    path = bundle(tmp_path / "run.hark", seal=False, end=None)
    with pytest.raises(TruncatedError, match="was killed; `hark replay -truncated`") as refused:
        recall(path)
    assert refused.value.exit_code == 3
    run = recall(path, truncated=True)
    assert run.truncated
    assert run.end is None


def test_no_words_of_a_bundle_act_on_the_terminal(tmp_path: Path) -> None:
    path = bundle(tmp_path / "run.hark", end=RunEnd(reason="never-started: \x1b[2Jhidden"))
    with pytest.raises(HarkError) as refused:
        recall(path)
    assert "\x1b" not in str(refused.value)


def test_a_copy_that_lacks_what_playback_needs_is_refused_and_one_that_lacks_a_remark_is_not(
    tmp_path: Path,
) -> None:
    from tests.hark.cli.program import hark

    path = bundle(tmp_path / "run.hark", ev.LlmRequest(exchange=1), ev.ShimReport("a", "b", "c"))
    for seq, name in ((4, "without.hark"), (5, "remarkless.hark")):
        done = hark("redact", "-seq", seq, "-o", tmp_path / name, path)
        assert done.code == 0, done.err
    with pytest.raises(ReplayError, match=r"event 4 \(LlmRequest\) was taken out of this copy"):
        recall(str(tmp_path / "without.hark"))
    assert recall(str(tmp_path / "remarkless.hark")).events == 8
