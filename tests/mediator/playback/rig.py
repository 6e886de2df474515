"""Record with a real mediator and real servers into a real bundle, and play that back."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hark.bundle.bounds import RunEnd, RunStart
from hark.bundle.events import Branch, Event, decode
from hark.bundle.header import Header
from hark.bundle.walk import BundleFile
from hark.bundle.writer import Writer
from hark.policy.model import Policy
from hark.replay.actions import actions
from hark.replay.diverge import compare
from hark.replay.recorded import Frame
from hark.replay.score import Score
from mediator.playback.clock import Idle, always_idle
from mediator.playback.playback import Playback
from mediator.playback.report import Divergence
from tests.fakes.recorder import ListRecorder
from tests.mediator.rig import Rig, running


class BundleRecorder(ListRecorder):
    """Writes a bundle as well."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        path.unlink(missing_ok=True)
        self.writer = Writer.create(str(path), Header("01J8X0000000000000000000XX", 1))
        self.writer.append(RunStart(started_at=time.time_ns()))

    def append(self, event: Event, *, durable: bool = False) -> int:
        """As the protocol says."""
        self.writer.append(event, durable=durable)
        return super().append(event, durable=durable)


def frames_of(path: Path) -> list[Frame]:
    """Return what a bundle holds."""
    with BundleFile(str(path)) as bundle:
        found = [placed.frame for placed in bundle.frames()]
    return [Frame(frame.seq, frame.time, decode(frame.kind, frame.payload)) for frame in found]


@contextmanager
def recording(path: Path) -> Iterator[BundleRecorder]:
    """Give a recorder, and seal what it has."""
    recorder = BundleRecorder(path)
    yield recorder
    recorder.writer.append(RunEnd(ended_at=time.time_ns(), exit_code=0, reason="exit"))
    recorder.writer.seal("exit")
    recorder.writer.close()


@dataclass
class Steps:
    """A clock that keeps what it was told."""

    moved: list[tuple[int, int]] = field(default_factory=list)
    most: list[int | None] = field(default_factory=list)

    def release(self, time_ns: int, gap_ns: int, most_ns: int | None = None) -> None:
        """As the protocol says."""
        self.moved.append((time_ns, gap_ns))
        self.most.append(most_ns)

    def branched(self, branch: Branch, time_ns: int) -> None:
        """As the protocol says."""
        del branch, time_ns


@dataclass
class Played:
    """A replay under way."""

    rig: Rig
    playback: Playback
    clock: Steps
    diverged: list[Divergence]
    happened: threading.Event

    def wait_diverged(self, seconds: float = 60.0) -> Divergence:
        """Return why it went another way, once it has."""
        assert self.happened.wait(seconds), "it did not diverge"
        return self.diverged[0]


@contextmanager
def playing(
    frames: list[Frame],
    *allow: str,
    policy: Policy | None = None,
    idle: Idle = always_idle,
    realtime: bool = False,
    stall_s: float = 30.0,
    recorder: ListRecorder | None = None,
    **more: object,
) -> Iterator[Played]:
    """Run a mediator that answers from a recording; there is no server."""
    diverged: list[Divergence] = []
    happened = threading.Event()

    def tell(divergence: Divergence) -> None:
        diverged.append(divergence)
        happened.set()

    clock = Steps()
    playback = Playback(Score(frames), tell, clock=clock, idle=idle, realtime=realtime, stall_s=stall_s)
    with running(*allow, policy=policy, playback=playback, recorder=recorder, **more) as rig:  # type: ignore[arg-type]
        yield Played(rig, playback, clock, diverged, happened)


def changed(frames: list[Frame], kind: type, change: Callable[[Event], Event], nth: int = 0) -> list[Frame]:
    """Return a recording in which the nth event of a kind is another one."""
    places = [at for at, frame in enumerate(frames) if isinstance(frame.event, kind)]
    at = places[nth]
    return [*frames[:at], frames[at]._replace(event=change(frames[at].event)), *frames[at + 1 :]]


def equal(frames: list[Frame], played: Played) -> bool:
    """Tell whether the digest finds nothing that differs: each run is taken to have ended alike."""
    end = RunEnd(ended_at=1, exit_code=0, reason="exit")
    was = [(at, at, event) for at, _, event in frames if not isinstance(event, (RunStart, RunEnd))]
    now = list(enumerate(played.rig.recorder.events))
    found = compare(
        actions([*was, (10**6, 0, end)]), actions([*((at, at, one) for at, one in now), (10**6, 0, end)])
    )
    return found.equal


__all__ = ["BundleRecorder", "Played", "Steps", "changed", "equal", "frames_of", "playing", "recording"]
