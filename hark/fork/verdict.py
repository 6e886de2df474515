"""The verdict on a fork: one word, the sentence behind it, and what was denied first where it was live.

What the policy denied is told apart from what it allows and a fork does not do again.

FORKED is a run that did all that was recorded up to the branch point, went live there, and had its patch made
on what it was for; what the agent did then is its own. Every other verdict says what to do about it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.bundle.outcome import RECORDER_FAILED, describe, split
from hark.errors import ReplayError
from hark.fork.forking import Outcome
from hark.patch.world import is_not_again
from hark.rerun.replaying import frames_of
from hark.running.run import EXIT_RECORDER
from hark.running.summary import signal_name
from hark.visible import visible

FORKED: Final = "FORKED"
DIVERGED: Final = "FORK-DIVERGED"
INCOMPLETE: Final = "FORK-INCOMPLETE"
UNPATCHED: Final = "FORK-UNPATCHED"
EXIT_NOT_FORKED: Final = 1


@dataclass(frozen=True, slots=True)
class Refused:
    """The first thing of its kind that was refused where the run was live."""

    event: int
    what: str
    why: str

    def words(self) -> str:
        """Say so."""
        return f"{visible(self.what)} (event {self.event}): {visible(self.why)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a fork."""

    word: str
    why: str
    """Why it is none, and what to do; empty for FORKED."""
    outcome: Outcome
    end: RunEnd | None
    denied: Refused | None
    """By the policy."""
    denials: int
    repeated: Refused | None
    """What the policy may allow, and a fork does not do again."""
    repeats: int
    events: int
    """On record where the run was live."""

    @property
    def exit_code(self) -> int:
        """The exit code of `hark fork`."""
        if self.word == INCOMPLETE and self.outcome.interrupted is not None:
            return 128 + self.outcome.interrupted
        if self.word == FORKED and not self.outcome.moved:
            return EXIT_RECORDER
        return 0 if self.word == FORKED else EXIT_NOT_FORKED

    def lines(self) -> list[str]:
        """What a person is told; the verdict stands first."""
        return list(_lines(self))

    def record(self) -> dict[str, object]:
        """All of it, for programs."""
        return _record(self)


def judge(outcome: Outcome) -> Verdict:
    """Judge a fork. Raises ReplayError where it broke down itself before the branch point."""
    if outcome.failure is not None and outcome.branch is None:
        raise ReplayError(f"the fork broke down, so nothing is said of the agent: {outcome.failure}")
    end, events, live = None, 0, False
    denied: list[Refused] = []
    repeated: list[Refused] = []
    asked = ""
    for frame in frames_of(outcome.bundle):
        event = frame.event
        if isinstance(event, ev.Branch) and event.parent == outcome.recalled.verified.root:
            live = True
        elif isinstance(event, RunEnd):
            end = event
        if not live:
            continue
        events += 1
        asked = _asked(event) or asked
        why = _denial(event)
        if why:
            kind = repeated if is_not_again(why) else denied
            kind.append(Refused(frame.seq, asked, why) if not kind else kind[0])
    word, why = _unwritten(outcome, end) or _word(outcome)
    first, second = (next(iter(kind), None) for kind in (denied, repeated))
    return Verdict(word, why, outcome, end, first, len(denied), second, len(repeated), events)


def _asked(event: object) -> str:
    match event:
        case ev.EgressAttempt():
            return f"{event.protocol} to {event.host}:{event.port}"
        case ev.DnsQuery():
            return f"the name {event.name}"
        case ev.McpMessage() if event.from_agent and event.data:
            return f"a message to mcp.{event.server}"
        case _:
            return ""


def _denial(event: object) -> str:
    match event:
        case ev.EgressDecision() | ev.DnsDecision() if not event.allowed:
            return event.reason
        case ev.McpMessage() if event.note.startswith(ev.REFUSED):
            return event.note.removeprefix(ev.REFUSED)
        case _:
            return ""


def _unwritten(outcome: Outcome, end: RunEnd | None) -> tuple[str, str] | None:
    """Tell of a live part that is not all on record: what the agent did then says nothing."""
    if outcome.branch is None or (end is not None and split(end.reason)[0] != RECORDER_FAILED):
        return None
    why = outcome.failure or (split(end.reason)[1] if end is not None else "") or "its record breaks off"
    return INCOMPLETE, f"it was ended where it was live, since it could not be recorded: {visible(why)}"


def _word(outcome: Outcome) -> tuple[str, str]:
    first = outcome.report.divergences[0] if outcome.report.divergences else None
    words = outcome.turn.point.words
    if outcome.interrupted is not None and (outcome.branch is None or not outcome.applied):
        number = signal_name(outcome.interrupted)
        return INCOMPLETE, f"interrupted by {number} before {words}, the branch point, was through"
    if outcome.branch is None and first is not None:
        if first.kind == "stall":
            return INCOMPLETE, f"it stalled before the branch point: {first.words}; `hark replay` shows more"
        details = "".join(f"; {detail}" for detail in first.details)
        return DIVERGED, (
            f"before the branch point it did not do as recorded: {first.words}{details}; "
            "`hark replay` has to be REPLAY-EQUAL before a fork can be"
        )
    if outcome.branch is None:
        return INCOMPLETE, (
            f"the agent ended before {words}, the branch point; `hark replay` shows whether it still does "
            "what was recorded"
        )
    if not outcome.applied:
        return UNPATCHED, (
            f"the agent did not take {words} with the patch to its end; it went away first, or the request "
            "was refused: fork at another event, or allow it"
        )
    return FORKED, ""


def _lines(verdict: Verdict) -> Iterator[str]:
    outcome, point = verdict.outcome, verdict.outcome.turn.point
    branch = outcome.branch
    if verdict.why:
        yield f"{verdict.word}: {verdict.why}"
    else:
        yield f"{FORKED} at {point.place}"
    if branch is not None:
        count = branch.verified
        yield f"  {count} action{'' if count == 1 else 's'} verified before it, {verdict.events} events live"
        if branch.note:
            yield f"  patch: {visible(branch.note)}"
    if outcome.altered:
        one = outcome.altered == 1
        were, them = ("request was", "it") if one else ("requests were", "them")
        yield f"  {outcome.altered} live {were} sent otherwise than the agent made {them}"
    yield f"  parent {outcome.recalled.verified.root.hex()}"
    yield f"  {describe(verdict.end)}"
    if branch is not None:
        under = visible(outcome.policy) if outcome.policy is not None else "the recorded rules"
        if verdict.denied is None:
            yield f"  {under} denied nothing after it"
        else:
            yield f"  {under} denied {verdict.denials} after it, first {verdict.denied.words()}"
    if verdict.repeated is not None:
        yield f"  {verdict.repeats} not done again, first {verdict.repeated.words()}"
    yield f"  signed by {outcome.signer}"
    if outcome.kept is not None:
        yield f"  what it worked on is kept in {outcome.kept}"


def _refused(first: Refused | None) -> dict[str, object] | None:
    return None if first is None else {"event": first.event, "what": first.what, "why": first.why}


def _record(verdict: Verdict) -> dict[str, object]:
    outcome, turn, branch = verdict.outcome, verdict.outcome.turn, verdict.outcome.branch
    return {
        "verdict": verdict.word,
        "exit_code": verdict.exit_code,
        "why": verdict.why or None,
        "parent_root": outcome.recalled.verified.root.hex(),
        "parent_run": outcome.recalled.start.run_id,
        "at": turn.point.at,
        "request": turn.point.request,
        "side": turn.point.side.value,
        "words": turn.point.words,
        "patch_hash": turn.patch_hash.hex() or None,
        "note": turn.patch.note if turn.patch is not None else None,
        "applied": outcome.applied if turn.patch is not None else None,
        "verified": branch.verified if branch is not None else None,
        "live_events": verdict.events,
        "altered_requests": outcome.altered,
        "policy": outcome.policy,
        "denials": verdict.denials,
        "first_denial": _refused(verdict.denied),
        "not_done_again": verdict.repeats,
        "first_not_done_again": _refused(verdict.repeated),
        "divergences": [
            {"kind": one.kind, "words": one.words, "event": one.event, "details": list(one.details)}
            for one in outcome.report.divergences
        ],
        "notes": list(outcome.notes),
        "failure": outcome.failure,
        "signer": outcome.recalled.verified.public_key.hex() or None,
        "bundle": outcome.bundle,
        "kept": outcome.kept,
        "end": None
        if verdict.end is None
        else {"exit_code": verdict.end.exit_code, "reason": verdict.end.reason},
    }
