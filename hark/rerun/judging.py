"""The verdict on a replay: one word, the sentence behind it, and all that led to it, for people and programs.

Equal is a run in which every action was the recorded one, in the order of its stream; everything recorded was
used; nothing was dialled; and the agent ended as it had. Anything else diverged, and the first difference is
named with both sides; unless somebody sent hark a signal meanwhile: then nothing is said of the agent. Of a
recording that breaks off, what it has is compared, and the exit code says that it has no end. A replay that
broke down itself, or came to what cannot be played, is no verdict on the agent, but a ReplayError.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from hark.bundle.bounds import RunEnd
from hark.errors import ReplayError
from hark.replay import digest
from hark.replay.actions import Action, Streams, actions
from hark.replay.difference import Difference
from hark.replay.diverge import Compared, compare
from hark.replay.exchanges import OPEN
from hark.replay.inside import inside, named, to_json, words
from hark.replay.treatment import EXIT, FILE, PROGRAM
from hark.replay.whose import Process, whose
from hark.rerun.replaying import Course, frames_of, recorded_frames
from hark.rerun.requested import listed
from hark.running.run import EXIT_RECORDER
from hark.running.summary import signal_name
from hark.visible import visible

EQUAL: Final = "REPLAY-EQUAL"
RENAMED: Final = "REPLAY-EQUAL-RENAMED"
DIVERGED: Final = "REPLAY-DIVERGED"
INTERRUPTED: Final = "REPLAY-INTERRUPTED"
EXIT_DIVERGED: Final = 1
EXIT_TRUNCATED: Final = 3
MAX_NAMED: Final = 5  # of a list in the text; JSON has them all
_AT_THE_END: Final = (EXIT, FILE, PROGRAM)
"""Streams that are recorded when a run ends, so that a recording that breaks off has nothing of them."""
_BESIDE: Final = (f"{FILE} ", f"{PROGRAM} ")
"""Streams that only a boundary's record has."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a replay."""

    course: Course
    why: str
    """Why it is not equal; empty where it is."""
    compared: Compared
    inside: tuple[Difference, ...]
    """Where inside the first action that differs."""
    processes: tuple[Process | None, Process | None]
    """Whose the first action that differs was, in the recorded run and here, where that is known."""
    programs: tuple[str, ...]
    """Programs that were executed here and are not the recorded ones."""
    ends: tuple[RunEnd | None, RunEnd | None]
    """How the recorded run and the replay ended."""

    @property
    def word(self) -> str:
        """The verdict."""
        if self.why:
            return DIVERGED if self.course.interrupted is None else INTERRUPTED
        return RENAMED if self.course.renaming.pairs else EQUAL

    @property
    def exit_code(self) -> int:
        """The exit code of `hark replay`."""
        if self.why:
            return EXIT_DIVERGED if self.course.interrupted is None else 128 + self.course.interrupted
        if self.course.recalled.truncated:
            return EXIT_TRUNCATED
        return 0 if self.course.moved else EXIT_RECORDER

    def lines(self) -> list[str]:
        """What a person is told; the verdict stands first."""
        return list(_lines(self))

    def record(self) -> dict[str, object]:
        """All of it, for programs."""
        return _record(self)


def judge(course: Course) -> Judgement:
    """Compare a replay with its recording. Raises ReplayError where the replay itself broke down."""
    if course.failure is not None:
        raise ReplayError(f"the replay broke down, so nothing is said of the agent: {course.failure}")
    uncovered = [one for one in course.report.divergences[:1] if one.kind == "uncovered"]
    if uncovered:
        raise ReplayError(f"it cannot be replayed: {uncovered[0].words}")
    undone = replace(course.rules, undo=course.renaming.undone) if course.renaming.pairs else course.rules
    was = actions(recorded_frames(course.recalled), course.rules)
    now = actions(frames_of(course.bundle), undone)
    ends = (was.end, now.end)
    programs = tuple(_other_programs(was, now))
    if course.recalled.truncated:
        was, now = _as_far(was, now)
    if course.uncontained:
        was, now = _reached(was), _reached(now)
    compared = compare(was, now)
    found: tuple[Difference, ...] = ()
    processes: tuple[Process | None, Process | None] = None, None
    if compared.first is not None:
        first = compared.first
        found = inside(
            first,
            lambda: recorded_frames(course.recalled),
            lambda: frames_of(course.bundle),
            course.rules,
        )
        processes = (
            None if first.recorded is None else whose(recorded_frames(course.recalled), first.recorded),
            None if first.replayed is None else whose(frames_of(course.bundle), first.replayed),
        )
    return Judgement(course, _why(course, compared, found), compared, found, processes, programs, ends)


def _why(course: Course, compared: Compared, found: tuple[Difference, ...]) -> str:
    """Say why a replay is not equal; nothing where it is."""
    why = _difference(course, compared, found)
    if not why or course.interrupted is None:
        return why
    return f"by {signal_name(course.interrupted)} before it was through, so nothing is said of the agent"


def _difference(course: Course, compared: Compared, found: tuple[Difference, ...]) -> str:
    report = course.report
    if report.divergences and not course.ran_on:
        return report.divergences[0].words
    if report.dials or course.packets:
        return f"the replay dialled {report.dials} times and sent or received {course.packets} packets"
    if course.recalled.truncated:
        return words(compared, found) if compared.first is not None else ""
    if not compared.equal:
        return words(compared, found)
    return report.unconsumed[0] if report.unconsumed else ""


def _as_far(was: Streams, now: Streams) -> tuple[Streams, Streams]:
    """Leave of both runs what a recording that breaks off could have: what was over by then."""
    recorded = {
        stream: kept
        for stream, found in was.actions.items()
        if not stream.startswith(_AT_THE_END) and (kept := [one for one in found if not _is_open(one)])
    }
    replayed = {
        stream: now.actions[stream][: len(found)]
        for stream, found in recorded.items()
        if stream in now.actions
    }
    return Streams(recorded, was.end), Streams(replayed, now.end)


def _reached(streams: Streams) -> Streams:
    """Leave what a run without a boundary has: what it reached for, and how it ended."""
    kept = {stream: found for stream, found in streams.actions.items() if not stream.startswith(_BESIDE)}
    return Streams(kept, streams.end)


def _is_open(action: Action) -> bool:
    return dict(action.parts).get("outcome") == OPEN.encode()


def _other_programs(was: Streams, now: Streams) -> Iterator[str]:
    for stream, found in sorted(now.actions.items()):
        recorded = {one.parts for one in was.actions.get(stream, ())}
        if stream.startswith(f"{PROGRAM} ") and recorded and recorded.isdisjoint(one.parts for one in found):
            yield stream.removeprefix(f"{PROGRAM} ")


def _lines(judgement: Judgement) -> Iterator[str]:
    course, report = judgement.course, judgement.course.report
    if judgement.why:
        yield f"{judgement.word}: {judgement.why if course.interrupted else _first(judgement)}"
        yield from () if course.interrupted else _diverged(judgement)
    else:
        broken = "; the bundle breaks off there" if course.recalled.truncated else ""
        count = judgement.compared.equal_actions
        yield f"{judgement.word}, {count} action{'' if count == 1 else 's'}{broken}"
        yield f"  digest {judgement.compared.recorded_digest.hex()}"
    yield from (f"  {was} is called {now} here" for was, now in course.renaming.pairs.items())
    held = f"{report.held} held for {report.held_s:.1f} s" if report.held else "none held"
    packets = "files and programs not compared" if course.uncontained else f"{course.packets} packets"
    yield f"  {report.released} releases, {held}; {report.dials} dials, {packets}"
    if course.left_out:
        yield f"  its policy leaves out of the comparison: {listed(course.left_out)}"
    yield f"  signed by {course.signer}"
    if course.kept is not None:
        yield f"  what it worked on is kept in {course.kept}"


def _first(judgement: Judgement) -> str:
    """Say what differs first: another program, which explains what came of it, and then that."""
    if not judgement.programs:
        return judgement.why
    more = len(judgement.programs) - MAX_NAMED
    shown = ", ".join(map(visible, judgement.programs[:MAX_NAMED])) + (
        f" and {more} more" if more > 0 else ""
    )
    first, report = judgement.compared.first, judgement.course.report
    is_all = first is not None and first.action.stream.startswith(_BESIDE[1]) and not report.divergences
    return f"another program than when recorded: {shown}{'' if is_all else f'; {judgement.why}'}"


def _diverged(judgement: Judgement) -> Iterator[str]:
    course, report, compared = judgement.course, judgement.course.report, judgement.compared
    for detail in (*course.notes, *(more for one in report.divergences[:1] for more in one.details)):
        yield f"  {detail}"
    yield from _sides(judgement.inside)
    was, now = judgement.processes
    if was is not None and was == now:
        yield f"  by {now}"
    else:
        yield from () if was is None else (f"  recorded by {was}",)
        yield from () if now is None else (f"  here by {now}",)
    if compared.first is not None:
        for action in compared.first.before:
            yield f"  equal before it: event {action.seq}, {named(action)}"
    yield from (f"  not used: {left}" for left in report.unconsumed[:MAX_NAMED])
    more = len(report.unconsumed) - MAX_NAMED
    if more > 0:
        yield f"  and {more} more answers were not used; -json names them"


def _sides(found: tuple[Difference, ...]) -> Iterator[str]:
    """Say both sides, from where they differ on, of those whose words do not."""
    told = [one for one in found if one.words.startswith("differs") and (one.recorded or one.replayed)]
    for one in told[:MAX_NAMED]:
        yield f'  {one.where}: recorded "{one.recorded}", here "{one.replayed}"'


def _record(judgement: Judgement) -> dict[str, object]:
    course, report = judgement.course, judgement.course.report
    recalled = course.recalled
    was, now = judgement.ends
    return {
        "verdict": judgement.word,
        "exit_code": judgement.exit_code,
        "why": judgement.why or None,
        "actions": judgement.compared.equal_actions,
        "digest": judgement.compared.replayed_digest.hex(),
        "recorded_digest": judgement.compared.recorded_digest.hex(),
        "comparison": to_json(judgement.compared, judgement.inside),
        "digest_version": digest.DIGEST_VERSION,
        "divergences": [
            {"kind": one.kind, "words": one.words, "event": one.event, "details": list(one.details)}
            for one in report.divergences
        ],
        "renaming": dict(course.renaming.pairs),
        "processes": {
            side: None if process is None else process.to_json()
            for side, process in zip(("recorded", "replayed"), judgement.processes, strict=True)
        },
        "programs": list(judgement.programs),
        "unconsumed": list(report.unconsumed),
        "out_of_order": list(report.early),
        "releases": report.released,
        "held": report.held,
        "held_s": report.held_s,
        "dials": report.dials,
        "packets": course.packets,
        "notes": list(course.notes),
        "left_out": list(course.left_out),
        "truncated": recalled.truncated,
        "run": recalled.start.run_id,
        "root": recalled.verified.root.hex(),
        "signer": recalled.verified.public_key.hex() or None,
        "own": recalled.verified.own,
        "bundle": course.bundle,
        "kept": course.kept,
        "recorded_end": _end(was),
        "end": _end(now),
    }


def _end(end: RunEnd | None) -> dict[str, object] | None:
    return None if end is None else {"exit_code": end.exit_code, "reason": end.reason}
