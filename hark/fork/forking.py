"""One fork: a recorded run started again and checked up to its branch point, and live from there on.

The bundle is verified, read and admitted as for a replay, and started as one (`hark.rerun.replaying`); a
stranger's needs a word of its own, whatever policy is given, since it will ask real servers. Its process
keeps the host's network: up to the branch point nothing dials, because playback answers. Secrets are resolved
once the bundle was admitted. The first divergence before the branch point ends it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hark.bundle import outcome
from hark.bundle.lineage import Lineage
from hark.errors import ConfinementError, ReplayError
from hark.fork.asking import Asking
from hark.fork.editing import SOURCE, Editor, made, told
from hark.fork.forker import Forker, Outward, forker_of, policy_then, refuse_values
from hark.fork.message import refuse_asked
from hark.fork.point import Turn, settle
from hark.patch.rewrite import Rewrites
from hark.patch.where import Side
from hark.replay import jsonform
from hark.rerun import throwaway
from hark.rerun.admitting import Ask, admit, own_key
from hark.rerun.filling import fill
from hark.rerun.recalled import Recalled, recall
from hark.rerun.replaying import Asked, Replayed, Turns, pieces
from hark.rerun.restaging import Given, giver_of, parsed, refuse_hostile, stage
from hark.running.keeping import Place, find_place
from hark.running.run import Run, Say
from launcher.launch import launch
from launcher.played import Played
from launcher.report import NeverStarted
from launcher.supervise import Boundary

if TYPE_CHECKING:
    from hark.anchoring.making import Anchoring
    from hark.bundle.events import Branch
    from hark.plan.preparation import Prepared
    from hark.policy.model import Policy
    from hark.replay.score import Score
    from mediator.config import MediatorConfig
    from mediator.credentials import Broker
    from mediator.playback.playback import Playback
    from mediator.playback.report import Divergence, Report

SEED_BYTES = 32
_COPY = "a copy of the recorded policy, for -policy"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `hark fork` was told."""

    replay: Asked
    """As of a replay; its policy is not the fork's."""
    at: str
    policy: str | None = None
    patch: bytes | None = None
    patch_source: str = ""
    editor: Editor | None = None
    """Makes the patch, where there is none."""
    rewrites: Rewrites = field(default_factory=Rewrites)
    outward: Outward = field(default_factory=Outward)
    anchor: Anchoring | None = None
    """Whom to ask for an anchor of the fork's own bundle."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a fork went, for the verdict."""

    recalled: Recalled
    signer: str
    bundle: str
    turn: Turn
    policy: str | None
    """The forker's, as named."""
    branch: Branch | None
    """None: it never went live."""
    applied: bool
    """Whether the patch, where there is one, reached what it was for."""
    altered: int
    """Live requests that were sent otherwise than the agent made them."""
    report: Report
    code: int
    notes: tuple[str, ...]
    kept: str | None
    failure: str | None
    moved: bool = True
    """Whether the fork's own bundle lies where it was asked for."""
    interrupted: int | None = None
    """The signal that somebody sent meanwhile."""


def fork(
    wanted: Wanted, environ: Mapping[str, str], *, say: Say, ask: Ask | None, show: Say | None = None
) -> Outcome:
    """Fork a bundle. Raises HarkError where nothing was started, PatchError where a patch matches nothing.

    `show` gets lines that the user may copy.
    """
    asked = wanted.replay
    recalled = recall(asked.bundle, own=own_key(environ), to_fork=True)
    refuse_hostile(recalled)
    patch, source = wanted.patch, wanted.patch_source
    if wanted.editor is not None:
        patch, source = made(recalled, wanted.at, wanted.editor), SOURCE
        say(f"the patch: {told(patch)}")
    turn = settle(recalled, wanted.at, patch, source)
    recorded = parsed(recalled.loaded)
    signer = admit(recalled, recorded, asked, environ, say=say, ask=ask)
    live = policy_then(recalled, turn.point, wanted.policy)
    own = live if wanted.policy is not None else None
    if turn.call is not None:
        refuse_asked(turn.call, own)
    given = asked.given if own is None else _with_grants(asked.given, own.read_paths, own.write_paths)
    with throwaway.folders(asked.keep, environ) as folders:
        giver = giver_of(recalled, recorded, given, environ)
        differing = fill(recalled, asked.given.workdir, giver, folders, recorded.snapshot.max_bytes)
        staged = stage(recalled, recorded, given, folders, environ, giver=giver)
        forker = forker_of(staged.prepared, live, wanted.outward, environ, own=own is not None)
        refuse_values(staged.prepared, forker, _written(turn, wanted.rewrites))
        notes = (*staged.notes, *differing, *turn.notes, *forker.notes)
        for note in notes:
            say(note)
        prepared = replace(
            staged.prepared,
            upstreams=forker.upstreams,
            upstream_roots=forker.roots,
            proxies=forker.proxies,
        )
        place = find_place(asked.output, asked.key, environ, say, wanted.anchor)
        parts = Told(recalled, turn, forker, wanted, signer, notes)
        return _played(parts, prepared, place, environ, say=say, show=show or say)


def _written(turn: Turn, rewrites: Rewrites) -> dict[str, bytes]:
    """Return what the forker would have sent or answered, by what it is called."""
    patch = {} if turn.patch is None else {"the patch": turn.patch.raw + turn.patch.note.encode()}
    model = {} if rewrites.model is None else {"-model": rewrites.model.encode()}
    return {
        **patch,
        **model,
        **{f"-set {pointer}": jsonform.spell(value) for pointer, value in rewrites.sets},
    }


def _with_grants(given: Given, read: tuple[str, ...], write: tuple[str, ...]) -> Given:
    return replace(given, read=(*given.read, *read), write=(*given.write, *write))


@dataclass(frozen=True, slots=True)
class Told:
    """All that one fork is made of."""

    recalled: Recalled
    turn: Turn
    forker: Forker
    wanted: Wanted
    signer: str
    notes: tuple[str, ...]

    @property
    def policy(self) -> Policy:
        """The live side's; the recorded rules are in no file of the forker's."""
        live = self.forker.then.policy
        return live if self.wanted.policy is not None or not live.raw else replace(live, source=_COPY)


def _played(
    told: Told, prepared: Prepared, place: Place, environ: Mapping[str, str], *, say: Say, show: Say
) -> Outcome:
    stand_in = Turns()
    inputs = Played(tuple(pieces(told.recalled)), stand_in.turn, ends=True)
    try:
        with launch(prepared.plan, inputs) as boundary:
            run = Forked(told, prepared, place, boundary, environ, say=say, show=show)
            stand_in.run = run
            try:
                code = run.play()
                return run.outcome(code)
            finally:
                run.contents.close()
    except (ConfinementError, NeverStarted) as error:
        raise ReplayError(str(error)) from error


class Forked(Replayed):
    """A run that is played up to its branch point. Used once, from the main thread."""

    stopped_as = outcome.FORK_DIVERGED

    def __init__(
        self,
        told: Told,
        prepared: Prepared,
        place: Place,
        boundary: Boundary,
        environ: Mapping[str, str],
        *,
        say: Say,
        show: Say,
    ) -> None:
        self._told = told
        self._branch: Branch | None = None
        asked_live = told.turn.point.side is Side.REQUEST
        turn = told.turn
        said = b"" if turn.call is None else turn.call.said
        sent = turn.sent if asked_live else None
        self._asking = Asking(sent, turn.patch, told.wanted.rewrites, said=said)
        super().__init__(
            prepared,
            place,
            boundary,
            environ,
            say=say,
            recalled=told.recalled,
            asked=told.wanted.replay,
        )
        self.show = show
        self.is_kept = told.wanted.replay.keep is not None

    def conductor(self, score: Score, on_diverged: Callable[[Divergence], None], **named: Any) -> Playback:
        """Return what plays the recording up to the branch point, with its answer patched."""
        from mediator.playback.forking import Forking

        turn = self._told.turn
        turn.put(score)
        held = {part.seq for part in turn.parts}
        contents = named.pop("contents")
        named["contents"] = lambda seq: None if seq in held else contents(seq)
        typed = frozenset(one.seq for one in pieces(self._told.recalled) if one.source != "stdin")
        return Forking(score, on_diverged, turn.branch, self._asking, typed=typed, **named)

    def goes_by_hours(self) -> bool:
        """The forker's policy may."""
        return True

    def brokered(self) -> Broker:
        """Return what holds stand-ins, looks for the forker's values from the start, and holds them later."""
        from mediator.credentials import Broker

        return Broker(self.prepared.secrets, later=self._told.forker.then.secrets)

    def lineage(self) -> Lineage:
        """Return which bundle it is a fork of."""
        turn = self._told.turn
        return Lineage(self._told.recalled.verified.root, turn.point.at, turn.patch_hash)

    def config(self, roots: bytes) -> MediatorConfig:
        """Return what the mediator is told: what comes into force, and when."""
        from mediator.branching import Ahead

        return replace(super().config(roots), ahead=Ahead(self._begun, self._told.forker.then))

    def _begun(self, exchange: int, verified: int) -> Branch:
        """Move the clocks, and say that it is live. From the mediator's thread."""
        from hark.bundle.events import Branch

        turn = self._told.turn
        seed = os.urandom(SEED_BYTES) if self.prepared.controlled.seed else b""
        self._asking.branch = exchange
        self.policy = self._told.policy
        self._branch = Branch(
            parent=self._told.recalled.verified.root,
            at=turn.point.at,
            side=turn.point.side.value,
            wall_ns=self.timing.go_live(time.time_ns(), seed),
            seed=seed,
            patch=b"" if turn.patch is None else turn.patch.raw,
            note="" if turn.patch is None else turn.patch.note,
            verified=verified,
            exchange=exchange,
        )
        return self._branch

    def tell(self, *told: Any, **named: Any) -> None:
        """Say what a run says: its live part is one."""
        Run.tell(self, *told, **named)

    def outcome(self, code: int) -> Outcome:
        """Return how it went, once `play` has returned."""
        told = self._told
        return Outcome(
            recalled=told.recalled,
            signer=told.signer,
            bundle=self.delivery.lies_at,
            moved=self.delivery.is_moved,
            turn=told.turn,
            policy=told.wanted.policy,
            branch=self._branch,
            applied=self._is_applied(),
            altered=self._asking.altered_requests,
            report=self.playback.report(),
            code=code,
            notes=told.notes,
            kept=told.wanted.replay.keep,
            failure=self.failure or self.limit,
            interrupted=self.passed_on,
        )

    def _is_applied(self) -> bool:
        turn = self._told.turn
        if turn.patch is None:
            return True
        if turn.point.side is Side.REQUEST:
            return self._asking.applied
        if turn.point.talk:
            return self._branch is not None  # a message is one part, and went to the agent
        return self.score.is_used(turn.exchange)
