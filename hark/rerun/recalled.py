"""What a bundle asks to have run again: verified first, then read once, an event at a time.

Always: nothing is read out of a bundle that is BROKEN or whose signature is not good. A run that cannot be
replayed is refused here with the event that says so: one that never started, whose recorder failed, that
has a kind of event which playback does not know, or from which something was taken out that playback needs.
Of the events only those are kept that say how the run is started; memory does not grow with the bundle.

What stands in the values is the bundle's word: somebody else may have written it. Nothing here acts on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hark.bundle import events as ev
from hark.bundle import outcome
from hark.bundle.bounds import KIND_NAMES, SEAL, RunEnd, RunStart, kind_name
from hark.bundle.frame import Frame
from hark.errors import BundleError, ReplayError, TruncatedError
from hark.plan import remounting
from hark.unchanged import Unchanged
from hark.verify.result import BROKEN, REJECTED, TRUNCATED, Result
from hark.verify.steps import verify
from hark.visible import quoted

PROGRAMS: Final = "programs"
"""Root of the manifest that lists every program that was executed."""
PROJECT: Final = "project"
"""Name of the snapshot of the writable project directory."""
STREAMS: Final = "streams"
"""Source of the Input that says what the agent's three standard streams were."""

_COMMENTARY: Final = frozenset((12, 15, SEAL, 39, 43, 45, 50))
"""What may have been taken out of a copy that is replayed: remarks that nothing is run with."""
_ANOTHERS: Final = frozenset((13, 14))
"""Reads of clock and randomness one by one: no hark writes or plays them."""
_BODY_HASH: Final = 44
_ONCE: Final = frozenset((1, 3, 41, 47))
"""RunStart, EnvSnapshot, Boundary, Determinism: with a second one, readers would differ in which counts."""


@dataclass(slots=True)
class Recalled:
    """One recorded run, as it is to be started again."""

    path: str
    verified: Result
    file: Unchanged
    """The bundle itself, for whoever reads it again."""
    events: int = 0
    start: RunStart = field(default_factory=RunStart)
    loaded: ev.PolicyLoaded = field(default_factory=ev.PolicyLoaded)
    changes: list[int] = field(default_factory=list)
    """Events by which another policy came into force."""
    env: Mapping[str, str] = field(default_factory=dict)
    boundary: ev.Boundary | None = None
    determinism: ev.Determinism | None = None
    programs: dict[str, bytes] = field(default_factory=dict)
    manifest: dict[str, bytes] = field(default_factory=dict)
    """Files of the project at the start, by path below it."""
    left_out: dict[str, str] = field(default_factory=dict)
    """What of the project is neither there nor in the copy, and why."""
    looked_through: set[str] = field(default_factory=set)
    single: set[str] = field(default_factory=set)
    """Those among them that are files."""
    """Folders besides the project whose results are on the record."""
    was_there: set[str] = field(default_factory=set)
    """What of them lay there when the run began, and was written or removed."""
    end: RunEnd | None = None
    streams: tuple[str, ...] = ()
    """What standard input, output and error were: terminal, null, pipe, file, other."""
    snapshot_bytes: int = 0
    """Size of the stored copy of the project, packed; 0 where there is none."""
    mounted: dict[str, bytes] = field(default_factory=dict)
    """Files that the agent was shown with placeholders in them, by path."""
    branches: list[ev.Branch] = field(default_factory=list)
    """Where the run went live; of a run that is no fork, nowhere."""
    clock: list[ev.ClockLog] = field(default_factory=list)
    """What the agent's threads read when they asked the real clock again, in parts."""
    last_time_ns: int = 0
    once: set[int] = field(default_factory=set)
    """Kinds of events, of those that a run has once, that were there."""
    unrecorded: list[ev.ShimReport] = field(default_factory=list)
    """What the recording itself says that it could not hold."""

    @property
    def truncated(self) -> bool:
        """Tell whether the record breaks off."""
        return self.verified.verdict == TRUNCATED

    @property
    def has_terminal(self) -> bool:
        """Tell whether the agent had a terminal of its own."""
        return "terminal" in self.streams


def recall(path: str, *, own: bytes = b"", truncated: bool = False, to_fork: bool = False) -> Recalled:
    """Verify the bundle and read how its run began.

    Raises ReplayError, and TruncatedError for a record that breaks off unless `truncated` allows it.
    """
    try:
        result = verify(path, own=own)
    except TruncatedError:
        raise
    except BundleError as error:
        raise ReplayError(f"nothing is replayed from it: {error}") from None
    if result.verdict in {BROKEN, REJECTED}:
        raise ReplayError(f"nothing is replayed from a bundle that does not verify: {result.line()}")
    if result.verdict == TRUNCATED and not truncated:
        raise TruncatedError(
            f"{path} has no end, its writer was killed{', and is not forked' if to_fork else ''}; "
            f"`hark replay -truncated` replays the {result.events} events in it"
        )
    recalled = Recalled(path, result, Unchanged(path, result))
    for frame in recalled.file.frames():
        _take(recalled, frame)
    _refuse_unfit(recalled)
    return recalled


def decoded(frame: Frame) -> ev.Event | ev.Unknown:
    """Return a verified frame's event. Raises ReplayError: whoever signed it may have written anything."""
    try:
        return ev.decode_frame(frame)
    except BundleError as error:
        raise ReplayError(f"nothing is replayed: {error}") from None


def _take(recalled: Recalled, frame: Frame) -> None:
    """Take from one event what is needed to start the run again."""
    recalled.events += 1
    recalled.last_time_ns = max(recalled.last_time_ns, frame.time)
    _refuse_kind(recalled, frame)
    if frame.kind not in _READ or not frame.payload:
        return
    event = decoded(frame)
    match event:
        case RunStart():
            recalled.start = event
        case ev.PolicyLoaded():
            _take_policy(recalled, event, frame.seq)
        case ev.EnvSnapshot():
            recalled.env = event.vars
        case ev.Boundary():
            recalled.boundary = event
        case ev.Determinism():
            recalled.determinism = event
        case RunEnd():
            recalled.end = event
        case ev.ShimReport():
            recalled.unrecorded.append(event)
        case _:
            _take_beside(recalled, event)


def _take_policy(recalled: Recalled, event: ev.PolicyLoaded, seq: int) -> None:
    if recalled.loaded == ev.PolicyLoaded():
        recalled.loaded = event
    else:
        recalled.changes.append(seq)


def _take_beside(recalled: Recalled, event: ev.Event | ev.Unknown) -> None:
    """Take what of the agent's surroundings comes in several events."""
    match event:
        case ev.FsManifest():
            _take_manifest(recalled, event)
        case ev.Input() if event.source == STREAMS:
            recalled.streams = tuple(event.data.decode("ascii", "replace").split())
        case ev.Snapshot() if event.name == PROJECT:
            recalled.snapshot_bytes += len(event.data)
        case ev.Snapshot() if (file := remounting.recorded(event)) and len(
            recalled.mounted
        ) < remounting.MOST:
            recalled.mounted[file[0]] = file[1]
        case ev.FileResult() if event.was_there:
            recalled.was_there.add(event.path)
        case ev.ClockLog():
            recalled.clock.append(event)
        case ev.Branch():
            recalled.branches.append(event)
        case _:
            pass


_READ: Final = frozenset((1, 2, 3, 4, 16, 37, 38, 39, 40, 41, 47, 48, 49))


def _take_manifest(recalled: Recalled, event: ev.FsManifest) -> None:
    """A manifest may come in parts, each with its root."""
    if event.root == PROGRAMS:
        recalled.programs |= event.entries
    elif event.root == recalled.start.working_dir:
        recalled.manifest |= event.entries
        recalled.left_out |= event.left_out
    else:
        recalled.looked_through.add(event.root)
        if event.single:
            recalled.single.add(event.root)


def _refuse_kind(recalled: Recalled, frame: Frame) -> None:
    """Refuse an event that playback could only pass over, which it never does."""
    what = f"event {frame.seq} ({kind_name(frame.kind)})"
    if frame.kind not in KIND_NAMES:
        raise ReplayError(f"{what} is of a kind that this hark does not know: it is not passed over")
    if frame.kind in _ANOTHERS:
        raise ReplayError(f"{what} is one read of a clock or generator, which only its own recorder replays")
    if frame.seq in recalled.verified.redacted and frame.kind not in _COMMENTARY:
        raise ReplayError(f"{what} was taken out of this copy, and the run cannot be played without it")
    if frame.kind in _ONCE:
        if frame.kind in recalled.once:
            raise ReplayError(
                f"{what} is there a second time, which no run of hark's has: it would replace the first"
            )
        recalled.once.add(frame.kind)
    if frame.kind == _BODY_HASH:
        raise ReplayError(f'{what} is a body recorded by its hash alone (body = "hash"): it is not there')


def _refuse_unfit(recalled: Recalled) -> None:
    """Refuse a run that has no course to compare with."""
    if not recalled.start.argv:
        raise ReplayError(f"{recalled.path} does not say which command was run")
    if recalled.end is not None:
        word, detail = outcome.split(recalled.end.reason)
        if word == outcome.NEVER_STARTED:
            raise ReplayError(f"there is no run in it: it never started ({quoted(detail)})")
        if word == outcome.RECORDER_FAILED:
            raise ReplayError(f"its recorder failed, so that what is missing is not known ({quoted(detail)})")
    if recalled.boundary is None and not recalled.truncated:
        raise ReplayError("it was not recorded by hark: it does not say as which user the agent ran")
