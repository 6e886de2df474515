"""One replay: a recorded run started again, answered from its bundle, and compared with it.

The bundle is verified and read before anything is started (`hark.rerun.recalled`), its run is planned as a
stranger's (`hark.rerun.restaging`), and it runs only for somebody who said so: the caller by word or policy,
or by having its signer in their list. Then it is a run like any other (`hark.running.run`), with its own
bundle; in place of servers stands playback, and the process that answers has left the host's network. The
first divergence ends it. Nothing here prints: `say` gets each sentence for the user.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from hark.bundle import outcome
from hark.bundle.walk import BundleFile
from hark.errors import ConfinementError, ReplayError
from hark.rerun import throwaway
from hark.rerun.admitting import Ask, admit, own_key
from hark.rerun.filling import fill
from hark.rerun.recalled import Recalled, decoded, recall
from hark.rerun.requested import left_out
from hark.rerun.restaging import Given, Staged, giver_of, policy_of, refuse_hostile, stage
from hark.running.filing import Files
from hark.running.keeping import Place, find_place
from hark.running.run import Run, Say
from launcher import offline
from launcher.launch import launch
from launcher.played import Piece, Played
from launcher.report import NeverStarted

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from hark.bundle.events import Event, PolicyLoaded
    from hark.bundle.frame import Frame as Stored
    from hark.bundle.writer import Writer
    from hark.plan.preparation import Prepared
    from hark.policy.model import Policy
    from hark.repeatable.timing import Moment
    from hark.replay.canonical import Canonical, Rules
    from hark.replay.recorded import Frame
    from hark.replay.renamed import Renaming
    from hark.replay.renames import Renames
    from hark.replay.score import Score
    from hark.rerun.contents import Contents
    from launcher.surroundings import Surroundings
    from mediator.branching import InForce
    from mediator.config import MediatorConfig, Recorder
    from mediator.credentials import Broker
    from mediator.playback.playback import Playback
    from mediator.playback.report import Divergence, Report
    from mediator.publish import Opened


@dataclass(frozen=True, slots=True)
class Asked:
    """What `hark replay` was told, as written on its command line."""

    bundle: str
    given: Given = field(default_factory=Given)
    trust: bool = False
    trusted_keys: str | None = None
    realtime: bool = False
    keep: str | None = None
    truncated: bool = False
    renaming: bool = False
    """Take a request for a recorded one that differs from it by identifiers alone, and say so."""
    output: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """How a replay went, for the verdict."""

    recalled: Recalled
    signer: str
    bundle: str
    """The replay's own; where it lies now."""
    report: Report
    packets: int
    """Sent or received by the process that answers, while the agent ran."""
    rules: Rules
    notes: tuple[str, ...]
    kept: str | None
    failure: str | None
    """Why the replay itself broke down."""
    renaming: Renaming
    """What the replay calls recorded identifiers; empty unless that was asked for."""
    ran_on: bool
    """Whether the agent did all that was recorded, and more than a recording that breaks off has."""
    left_out: tuple[str, ...] = ()
    """What the policy's `[replay]` leaves out of the comparison: headers and JSON paths."""
    moved: bool = True
    """Whether the replay's own bundle lies where it was asked for."""
    interrupted: int | None = None
    """The signal that somebody sent meanwhile."""
    uncontained: bool = False
    """Whether no boundary stood around it, so that there is no record of files and programs."""


def replay(
    asked: Asked,
    environ: Mapping[str, str],
    *,
    say: Say,
    ask: Ask | None,
    meanwhile: Callable[[], object] = bool,
) -> Course:
    """Replay a bundle. Raises HarkError where nothing was started.

    `ask` is there where a person can be asked; `meanwhile` is done while the agent starts.
    """
    own = own_key(environ)
    recalled = recall(asked.bundle, own=own, truncated=asked.truncated)
    refuse_hostile(recalled)
    policy = policy_of(recalled, asked.given)
    signer = admit(recalled, policy, asked, environ, say=say, ask=ask)
    with throwaway.folders(asked.keep, environ) as folders:
        giver = giver_of(recalled, policy, asked.given, environ)
        differing = fill(recalled, asked.given.workdir, giver, folders, policy.snapshot.max_bytes)
        staged = stage(recalled, policy, asked.given, folders, environ, giver=giver)
        staged = replace(staged, notes=(*staged.notes, *differing))
        for note in staged.notes:
            say(note)
        place = find_place(asked.output, asked.key, environ, say)
        parts = recalled, staged, asked, place, environ
        return _played(*parts, signer=signer, say=say, meanwhile=meanwhile)


def _played(
    recalled: Recalled,
    staged: Staged,
    asked: Asked,
    place: Place,
    environ: Mapping[str, str],
    *,
    signer: str,
    say: Say,
    meanwhile: Callable[[], object],
) -> Course:
    """Launch, leave the network, and play. Whatever is wrong with the host leaves it unreplayed."""
    stand_in = Turns()
    # One that ended well had a reader, or did not mind: it need not find that this one's has left.
    well = recalled.end is not None and (recalled.end.exit_code, recalled.end.reason) == (0, "exit")
    inputs = Played(tuple(pieces(recalled)), stand_in.turn, to_the_end=well)
    try:
        with launch(staged.prepared.plan, inputs) as boundary:
            offline.leave_network()
            run = Replayed(staged.prepared, place, boundary, environ, say=say, recalled=recalled, asked=asked)
            stand_in.run = run
            run.is_kept = asked.keep is not None
            run.judge_by(meanwhile)
            try:
                run.play()
                return run.course(signer, staged, asked)
            finally:
                run.contents.close()
    except (ConfinementError, NeverStarted) as error:
        raise ReplayError(str(error)) from error


def pieces(recalled: Recalled) -> Iterator[Piece]:
    """Yield the recorded input."""
    for frame in _frames(recalled, frozenset((_INPUT,))):
        event = frame.event
        yield Piece(frame.seq, event.source, event.data, event.end)


def frames_of(path: str) -> Iterator[Frame]:
    """Yield the events of a bundle, in order."""
    from hark.bundle.events import decode
    from hark.replay.recorded import Frame

    with BundleFile(path) as file:
        for placed in file.frames():
            if placed.frame.kind not in _FILES:
                yield Frame(
                    placed.frame.seq, placed.frame.time, decode(placed.frame.kind, placed.frame.payload)
                )


def recorded_frames(recalled: Recalled) -> Iterator[Frame]:
    """Yield the recorded events, in order, as they were verified. Raises ReplayError where one is another."""
    return _decoded(frame for frame in recalled.file.frames() if frame.kind not in _FILES)


_FILES: Final = frozenset((38, 48))


def _frames(
    recalled: Recalled, kinds: frozenset[int] | None = None, contents: Contents | None = None
) -> Iterator[Frame]:
    """Yield the recorded events: those of some kinds, or all that playback has a use for.

    `contents` keeps apart what is large.
    """
    from hark.bundle.events import decode
    from hark.replay.recorded import Frame

    for placed in recalled.file.placed():
        frame = placed.frame
        if frame.kind not in _BULK if kinds is None else frame.kind in kinds:
            event = decode(frame.kind, frame.payload)
            kept = event if contents is None else contents.aside(placed, event)
            yield Frame(frame.seq, frame.time, kept)


def _decoded(frames: Iterable[Stored]) -> Iterator[Frame]:
    from hark.replay.recorded import Frame

    for frame in frames:
        yield Frame(frame.seq, frame.time, decoded(frame))


_INPUT: Final = 37
_BULK: Final = frozenset((4, 38, 48))
"""Kinds that playback has no use for and that may be large: files, and what threads read of the clock."""


class Turns:
    """Gives the turns of input, before there is a run that could."""

    run: Replayed | None = None

    def turn(self, seq: int) -> bool:
        return self.run is not None and self.run.turn(seq)


class Replayed(Run):
    """A run that is played from a bundle. Used once, from the main thread."""

    def __init__(
        self,
        prepared: Prepared,
        place: Place,
        boundary: Surroundings,
        environ: Mapping[str, str],
        *,
        say: Say,
        recalled: Recalled,
        asked: Asked,
    ) -> None:
        from hark.repeatable.timing import Timing
        from hark.replay.renames import Renames
        from hark.rerun.contents import Contents

        super().__init__(prepared, place, boundary, environ, say=say, show=say)
        self._recalled = recalled
        self._packets = 0
        self.rules = rules_of(recalled, prepared.policy)
        self._renames = Renames()
        renames = self._renames if asked.renaming else None
        self.contents = Contents(recalled.path)
        aside = self.contents if renames is None else None  # who renames, looks through all of an answer
        self.score, times = _score(recalled, self.rules, renames, aside)
        self._policies = dict(_changes(self.score, prepared)) if asked.given.policy is None else {}
        self._branches = dict(_branches(self.score, prepared)) if asked.given.policy is None else {}
        self.timing = Timing(recalled.start.started_at, times)
        self.playback = self.conductor(
            self.score,
            lambda divergence: self.stop(f"it diverged: {divergence.words}"),
            clock=self.timing,
            idle=self._is_idle,
            alive=lambda: self.boundary.process() >= 0,
            starved=self._starved,
            realtime=asked.realtime,
            zone=partial(_zone, recalled) if self.goes_by_hours() else _utc,
            contents=self.contents.of,
        )

    def conductor(self, score: Score, on_diverged: Callable[[Divergence], None], **named: Any) -> Playback:
        """Return what plays the recording; `named` is as of a Playback."""
        from mediator.playback.playback import Playback

        return Playback(score, on_diverged, **named)

    def goes_by_hours(self) -> bool:
        """Tell whether the recorded machine's zone decides anything: reading zones takes time."""
        later = [policy for policy, _ in self._policies.values()]
        live = [branch.policy for branch in self._branches.values()]
        return any(rule.hours for policy in (self.prepared.policy, *later, *live) for rule in policy.rules)

    def judge_by(self, load: Callable[[], object]) -> None:
        """Load what the verdict needs when the agent waits for nothing: once it was answered, or at once."""
        if self.score.recording.exchanges:
            self.playback.played = load
        else:
            self.meanwhile = load

    def turn(self, seq: int) -> bool:
        """Wait for the turn of a piece of input. From the thread that passes it on."""
        return self.playback.input_turn(seq, lambda: self.boundary.process() < 0)

    def _is_idle(self) -> bool:
        from launcher.idle import Idle

        process = self.boundary.process()
        return process < 0 or Idle(process)()

    def _starved(self) -> float:
        from launcher.idle import Idle

        process = self.boundary.process()
        return 0.0 if process < 0 else Idle(process).starved()

    def filed(self, broker: Broker, own: tuple[str, ...]) -> Files | None:
        """As of a run; folders besides the project count where they did in the recording."""
        keep = self.prepared.snapshot
        files = Files(self.prepared, broker, keep=keep, beside=own, recorded=self._recalled)
        files.begin()
        return files

    def beginning(self) -> int:
        """Begin when the recorded run did: the agent sees it, and certificates are judged by it."""
        return self._recalled.start.started_at

    def latest(self) -> int:
        """Return the real time, or that of a branch: what never loads the preload reads the real clock."""
        return max(time.time_ns(), *(branch.wall_ns for branch in self._recalled.branches), self.began_at)

    def clock(self) -> int:
        """Count as the recording did."""
        return self.timing.read()

    def opening(self) -> Iterator[Event]:
        """Yield what a run's record opens with, and which recording was replayed."""
        from hark.bundle.events import Determinism

        for event in super().opening():
            if not isinstance(event, Determinism):
                yield event
        yield self.prepared.controlled.opening()._replace(replayed=self._recalled.verified.root)

    def set_clock(self, writer: Writer) -> None:
        """Begin the page that the agent's shims read; playback moves it."""
        super().set_clock(writer)
        writer.on_frame = self.timing.on_frame
        self.timing.show_on(self.boundary.page)

    def recorder(self, writer: Writer) -> Recorder:
        """Record what comes in at the recorded times; where it goes live, as a run does."""
        from hark.repeatable.timing import Stamping

        self.timing.begin()
        return Stamping(writer, self.timing, self.score, super().recorder(writer))

    def config(self, roots: bytes) -> MediatorConfig:
        """Return what the mediator is told: to answer from the recording."""
        from mediator.nearby import recorded

        return replace(
            super().config(roots),
            near=recorded(self._recalled.start.upstreams),
            playback=self.playback,
            changes=self._policies,
            branches=self._branches,
        )

    def _publish(self) -> Opened | None:
        """Listen nowhere: what the operator's side said to a published port is played into the agent."""
        if not self.plan.published:
            return None
        from mediator.publish import Opened

        return Opened((), self.boundary.doorway.connect)

    def tell(self, *_told: object, **_named: object) -> None:
        """Say nothing that the recorded run has said; the verdict comes when all is compared."""
        self._packets = offline.packets()

    def course(self, signer: str, staged: Staged, asked: Asked) -> Course:
        """Return how it went, once `play` has returned."""
        return Course(
            recalled=self._recalled,
            signer=signer,
            bundle=self.delivery.lies_at,
            moved=self.delivery.is_moved,
            report=self.playback.report(),
            packets=self._packets,
            rules=self.rules,
            renaming=self._renames.renaming,
            notes=staged.notes,
            kept=asked.keep,
            failure=self.failure or self._own_limit(),
            interrupted=self.passed_on,
            left_out=left_out(self.prepared.policy),
            ran_on=self._recalled.truncated
            and all(one.done for one in self.score.recording.actions if one.blocking),
        )

    def _own_limit(self) -> str | None:
        """Return what ended the replay, unless the recorded run was ended by the same."""
        end = self._recalled.end
        if self.limit is None or (end and end.reason == outcome.reason(outcome.INTERRUPTED, self.limit)):
            return None
        return self.limit


def _changes(score: Score, prepared: Prepared) -> Iterator[tuple[int, tuple[Policy, PolicyLoaded]]]:
    """Yield the policies that came into force later, by their events. Raises ReplayError."""
    from hark.bundle.events import PolicyLoaded
    from hark.replay.pieces import Changed
    from hark.rerun.restaging import parsed
    from hark.running import record

    for part in score.recording.changes:
        if isinstance(part.piece, Changed):
            policy = parsed(PolicyLoaded(source=part.piece.source, raw=part.piece.raw))
            yield part.seq, (policy, record.loaded(prepared, policy))


def _branches(score: Score, prepared: Prepared) -> Iterator[tuple[int, InForce]]:
    """Yield what came into force where the recorded run went live. Raises ReplayError."""
    from hark.bundle.events import PolicyLoaded
    from hark.rerun.restaging import parsed
    from hark.running import record
    from mediator.branching import InForce
    from mediator.playback.standins import behind

    for seq, changed in score.recording.at_branches.items():
        policy = parsed(PolicyLoaded(source=changed.source, raw=changed.raw))
        secrets = behind(prepared.secrets, policy.secrets, {})
        yield seq, InForce(policy, record.loaded(prepared, policy), secrets)


def _score(
    recalled: Recalled, rules: Rules, renames: Renames | None, contents: Contents | None
) -> tuple[Score, list[Moment]]:
    """Read the recording, and when it had something come in."""
    from hark.repeatable.timing import Walls
    from hark.replay.score import Score

    walls = Walls(recalled.start.started_at)
    times: list[Moment] = []

    def noting() -> Iterator[Frame]:
        for frame in _frames(recalled, contents=contents):
            moment = walls.take(frame.event, frame.time_ns)
            if moment is not None:
                times.append(moment)
            yield frame

    score = Score(noting(), rules, _nearest, renames=renames)
    if score.recording.stray:
        raise ReplayError(f"{score.recording.stray}: no run of hark's has that, and it is not replayed")
    return score, times


def _utc() -> tzinfo:
    return UTC


def _zone(recalled: Recalled) -> ZoneInfo | None:
    """Return the time zone that the recorded machine judged rules by, as far as the agent was told."""
    name = recalled.env.get("TZ", "")
    if not name:
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError):
        return None


def _nearest(missed: Canonical, recorded: Sequence[tuple[int, Canonical]]) -> str:
    """Say which recorded request a missed one comes nearest to, and where it differs."""
    from hark.replay.nearest import among

    return among(missed, recorded) or "all that was recorded has been asked for"


def rules_of(recalled: Recalled, policy: Policy) -> Rules:
    """Return by which rules the requests of a recorded run are compared: its own policy's."""
    from hark.replay.canonical import Rules

    names = {recalled.env[spec.name]: spec.name for spec in policy.secrets if spec.name in recalled.env}
    return Rules.of(names, policy.replay)
