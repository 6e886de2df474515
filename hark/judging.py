"""The verdict on a replay: one word, the sentence behind it, and all that led to it, for people and programs.

Equal is a run in which every action was the recorded one, in the order of its stream; everything recorded was
used; nothing was dialled; and the agent ended as it had. Anything else diverged, and the first difference is
named with both sides. Of a recording that breaks off, what it has is compared, and the exit code says that it
has no end. A replay that broke down itself is no verdict on the agent, but a ReplayError.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from hark.errors import ReplayError
from hark.replay import digest
from hark.replay.actions import Action, Streams, actions
from hark.replay.treatment import EXIT, PROGRAM
from hark.replaying import Course, frames_of
from hark.visible import visible

EQUAL: Final = "REPLAY-EQUAL"
DIVERGED: Final = "REPLAY-DIVERGED"
EXIT_DIVERGED: Final = 1
EXIT_TRUNCATED: Final = 3
LAST_EQUAL: Final = 3
"""Actions before the first difference that are named."""
MAX_NAMED: Final = 5  # of a list in the text; JSON has them all
_SHOWN: Final = 48  # characters of a part that are shown; a hash is longer than a word


class Difference(NamedTuple):
    """The first action that was another: its stream, both sides where they are there, and where inside."""

    title: str
    recorded: Action | None
    replayed: Action | None
    where: str

    @property
    def at(self) -> int | None:
        """The event of the recording that it is about."""
        return None if self.recorded is None else self.recorded.seq


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a replay."""

    course: Course
    word: str
    why: str
    recorded: Streams
    replayed: Streams
    difference: Difference | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of `hark replay`."""
        if self.word == DIVERGED:
            return EXIT_DIVERGED
        return EXIT_TRUNCATED if self.course.recalled.truncated else 0

    @property
    def programs(self) -> list[str]:
        """Programs that were executed here and are not the recorded ones."""
        return sorted(
            stream.removeprefix(f"{PROGRAM} ")
            for stream, found in self.replayed.actions.items()
            if stream.startswith(f"{PROGRAM} ") and _others(found, self.recorded.actions.get(stream))
        )

    @property
    def equal_before(self) -> list[Action]:
        """The last actions before the first difference that were the same."""
        end = self._end()
        same = [
            one
            for stream, found in self.recorded.actions.items()
            for one, other in zip(found, self.replayed.actions.get(stream, ()), strict=False)
            if one.parts == other.parts and one.seq < end
        ]
        return sorted(same, key=lambda one: one.seq)[-LAST_EQUAL:]

    def _end(self) -> int:
        named = [divergence.event for divergence in self.course.report.divergences[:1]]
        named += [self.difference.at] if self.difference is not None else []
        return min((at for at in named if at is not None), default=self.course.recalled.events)

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
    recorded = actions(frames_of(course.recalled.path), course.rules)
    replayed = actions(frames_of(course.bundle), course.rules)
    difference = _difference(course, recorded, replayed)
    why = _why(course, difference)
    return Judgement(course, DIVERGED if why else EQUAL, why, recorded, replayed, difference)


def _why(course: Course, difference: Difference | None) -> str:
    """Say why a replay is not equal; nothing where it is."""
    if course.report.divergences and not course.ran_on:
        return course.report.divergences[0].words
    if difference is not None:
        return f"{visible(difference.title)}: {difference.where}"
    if course.report.dials or course.packets:
        return f"the replay dialled {course.report.dials} times and sent or received {course.packets} packets"
    left = () if course.recalled.truncated else course.report.unconsumed
    return left[0] if left else ""


def _difference(course: Course, recorded: Streams, replayed: Streams) -> Difference | None:
    """Find the first difference that is no consequence of the replay's having been ended."""
    ended = bool(course.report.divergences) or course.recalled.truncated
    found = []
    for stream in dict.fromkeys((*recorded.actions, *replayed.actions)):
        if ended and stream == EXIT:
            continue
        one = _in_stream(recorded.actions.get(stream, []), replayed.actions.get(stream, []), ended=ended)
        if one is not None:
            found.append(one)
    return min(found, key=_order, default=None)


def _in_stream(recorded: list[Action], replayed: list[Action], *, ended: bool) -> Difference | None:
    for one, other in zip(recorded, replayed, strict=False):
        if one.parts != other.parts and not ended:
            return Difference(one.title, one, other, _where(one, other))
    if len(recorded) < len(replayed) and not ended:
        extra = replayed[len(recorded)]
        return Difference(extra.title, None, extra, "it was not recorded")
    if len(recorded) > len(replayed) and not ended:
        missing = recorded[len(replayed)]
        return Difference(missing.title, missing, None, f"it did not come (event {missing.seq})")
    return None


def _order(difference: Difference) -> tuple[bool, bool, int]:
    """Programs first: they explain the rest. Then what both have, by the recording's order."""
    known = difference.recorded or difference.replayed
    program = difference.title.startswith(f"{PROGRAM} ")
    return not program, difference.recorded is None, known.seq if known is not None else 0


def _where(one: Action, other: Action) -> str:
    """Say which part of an action differs, with both sides."""
    theirs = dict(other.parts)
    for name, value in one.parts:
        if theirs.get(name) != value:
            return f"{name} is {_shown(theirs.get(name))} and was {_shown(value)} (event {one.seq})"
    more = sorted(theirs.keys() - dict(one.parts).keys())
    return f"{', '.join(more)} was not there when recorded (event {one.seq})"


def _shown(value: bytes | None) -> str:
    if value is None:
        return "not there"
    text = value.decode("ascii", "replace")
    return visible(text) if text.isprintable() and len(text) <= _SHOWN else value.hex()[:16]


def _others(found: list[Action], recorded: list[Action] | None) -> bool:
    return recorded is not None and {one.parts for one in found}.isdisjoint({one.parts for one in recorded})


def _lines(judgement: Judgement) -> Iterator[str]:
    course, report = judgement.course, judgement.course.report
    if judgement.word == DIVERGED:
        yield f"{judgement.word}: {judgement.why}"
        yield from _diverged(judgement)
    else:
        broken = "; the bundle breaks off there" if course.recalled.truncated else ""
        yield f"{judgement.word}, {len(judgement.recorded)} actions{broken}"
        yield f"  digest {digest.of_run(judgement.recorded).hex()}"
    held = f"{report.held} held for {report.held_s:.1f} s" if report.held else "none held"
    yield f"  {report.released} releases, {held}; {report.dials} dials, {course.packets} packets"
    yield f"  signed by {course.signer}"
    if course.kept is not None:
        yield f"  what it worked on is kept in {course.kept}"


def _diverged(judgement: Judgement) -> Iterator[str]:
    course, report = judgement.course, judgement.course.report
    for program in judgement.programs[:MAX_NAMED]:
        yield f"  another program than when recorded: {visible(program)}"
    for detail in (*course.notes, *(more for one in report.divergences[:1] for more in one.details)):
        yield f"  {visible(detail)}"
    for action in judgement.equal_before:
        yield f"  equal before it: event {action.seq}, {visible(action.title)}"
    yield from (f"  not used: {visible(words)}" for words in report.unconsumed[:MAX_NAMED])
    more = len(report.unconsumed) - MAX_NAMED
    if more > 0:
        yield f"  and {more} more answers were not used; -json names them"


def _record(judgement: Judgement) -> dict[str, object]:
    course, report = judgement.course, judgement.course.report
    recalled = course.recalled
    return {
        "verdict": judgement.word,
        "exit_code": judgement.exit_code,
        "why": judgement.why or None,
        "actions": len(judgement.recorded),
        "digest_version": digest.DIGEST_VERSION,
        "digest": digest.of_run(judgement.replayed).hex(),
        "recorded_digest": digest.of_run(judgement.recorded).hex(),
        "difference": _difference_record(judgement.difference),
        "divergences": [
            {"kind": one.kind, "words": one.words, "event": one.event, "details": list(one.details)}
            for one in report.divergences
        ],
        "equal_before": [{"event": one.seq, "action": one.title} for one in judgement.equal_before],
        "programs": judgement.programs,
        "unconsumed": list(report.unconsumed),
        "out_of_order": list(report.early),
        "releases": report.released,
        "held": report.held,
        "held_s": report.held_s,
        "dials": report.dials,
        "packets": course.packets,
        "notes": list(course.notes),
        "truncated": recalled.truncated,
        "run": recalled.start.run_id,
        "root": recalled.verified.root.hex(),
        "signer": recalled.verified.public_key.hex() or None,
        "own": recalled.verified.own,
        "bundle": course.bundle,
        "kept": course.kept,
        "recorded_exit": _exit(judgement.recorded),
        "exit": _exit(judgement.replayed),
    }


def _difference_record(difference: Difference | None) -> dict[str, object] | None:
    if difference is None:
        return None
    return {
        "action": difference.title,
        "where": difference.where,
        "recorded": _side(difference.recorded),
        "replayed": _side(difference.replayed),
    }


def _side(action: Action | None) -> dict[str, object] | None:
    if action is None:
        return None
    parts = {name: _shown(value) for name, value in action.parts}
    return {"event": action.seq, "exchange": action.exchange, "parts": parts}


def _exit(streams: Streams) -> dict[str, object] | None:
    end = streams.end
    return None if end is None else {"code": end.exit_code, "reason": end.reason}
