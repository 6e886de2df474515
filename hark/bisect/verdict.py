"""The verdict of a bisection: one word, the span and where it stands, and every count that stands behind it.

What always holds: what is quoted of a recording is safe to print; a verdict that is not BISECTED says at
which step it ended and what to do.
"""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hark.bisect import bisecting
from hark.bisect.bisecting import Suspect
from hark.bisect.counting import Tally
from hark.bisect.message import Leaf, Unit
from hark.bisect.session import Session
from hark.visible import visible

MAX_SHOWN: Final = 1000  # characters of a span in the lines for people
MAX_RANKED: Final = 10
EXIT_NOT_FOUND: Final = 1


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of what was found."""

    text: str
    where: str
    pointer: str | None
    stream_event: int | None
    start: int
    end: int

    @classmethod
    def of(cls, leaf: Leaf, unit: Unit) -> "Span":
        """Return a unit as what it is in its text; bytes are those of the text in UTF-8, or as it is sent."""
        place = leaf.places[0]
        also = f", and in {len(leaf.places) - 1} more places" if len(leaf.places) > 1 else ""
        start, end = leaf.bytes_of(unit.start, unit.end)
        text = leaf.text[unit.start : unit.end]
        return cls(text, f"{place.words}{also}", place.pointer, place.event, start, end)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a session."""

    session: Session

    @property
    def exit_code(self) -> int:
        """The exit code of `hark bisect`."""
        return 0 if self.session.outcome.word == bisecting.FOUND else EXIT_NOT_FOUND

    @property
    def spans(self) -> list[Span]:
        """What was found, or what did last."""
        outcome = self.session.outcome
        if outcome.suspect is None:
            return []
        message = outcome.suspect.message
        return [Span.of(message.leaves[run.leaf], run) for run in message.runs(outcome.units)]

    @property
    def command(self) -> str:
        """The fork that shows it again; empty where nothing was found."""
        session = self.session
        suspect = session.outcome.suspect
        if not session.found or suspect is None:
            return ""
        words = ["hark", "fork", "-at", str(suspect.point.at), "-patch", session.found]
        return shlex.join([*words, *session.wanted.options, session.wanted.replay.bundle])

    def lines(self) -> list[str]:
        """What a person is told; the verdict stands first."""
        return list(_lines(self))

    def record(self) -> dict[str, object]:
        """All of it, for programs."""
        return _record(self)


def _lines(verdict: Verdict) -> Iterator[str]:
    session, outcome = verdict.session, verdict.session.outcome
    yield f"{outcome.word}: {_why(session)}"
    for span in verdict.spans:
        yield f'  "{_short(span.text.strip())}"'
        yield f"    in {span.where}, bytes {span.start} to {span.end}"
    yield from _ranked(outcome)
    if outcome.narrowing is not None:
        levels = ", ".join(f"{len(one.units)} of {one.among} {one.level}s" for one in outcome.narrowing.found)
        yield f"  narrowed to {levels or 'nothing yet'}"
    for what, tally in _tallies(outcome):
        yield f"  {what}: {tally.words()}"
    if outcome.narrowing is not None and outcome.confirmed is not None and not outcome.controls:
        yield "  no control: the message has not so much other text"
    for note in outcome.notes:
        yield f"  {note}"
    yield f"  {outcome.runs} runs; their bundles are in {os.path.join(session.folder, 'children')}"
    if verdict.command:
        yield f"  again: {verdict.command}"


def _why(session: Session) -> str:
    outcome, until = session.outcome, visible(session.wanted.until)
    message = "any message" if outcome.suspect is None else _of(outcome.suspect)
    match outcome.word:
        case bisecting.FOUND:
            count, level = len(outcome.units), session.wanted.finest.value
            what = f"this {level}" if count == 1 else f"these {count} {level}s"
            return f"{until} does not happen without {what} of {message}"
        case bisecting.UNSEEN:
            return (
                f"{until} does not happen in a fork at {message} with nothing changed: the servers "
                "answer otherwise now; where they vary, ask more often with -trials"
            )
        case bisecting.UNMOVED:
            return (
                f"{until} happens without all text of {message} too, so it comes from elsewhere: -at all "
                "asks each answer, and what the agent says by itself is in its requests"
            )
        case bisecting.UNCONFIRMED:
            return (
                f"{until} was not shown to be gone by runs of its own without this of {message}: the servers "
                "vary, or the agent breaks; ask more often with -trials"
            )
        case bisecting.UNSPECIFIC:
            return (
                f"{until} does not happen without this of {message}, nor without as much text elsewhere: the "
                "agent needs the message whole, and this span says little"
            )
        case _:
            return (
                f"the budget of {session.wanted.most} runs was used up before the search of {message} ended; "
                f"the same command with -o {session.folder} and a larger -max-runs goes on"
            )


def _of(suspect: Suspect) -> str:
    return f"the {suspect.point.side.value} of {suspect.point.words}"


def _tallies(outcome: bisecting.Outcome) -> Iterator[tuple[str, Tally]]:
    if outcome.baseline is not None:
        yield "nothing removed", outcome.baseline
    if outcome.all_removed is not None:
        yield "all text of the message removed", outcome.all_removed
    if outcome.confirmed is not None:
        yield "confirming, by runs of its own", outcome.confirmed
    for number, (_, tally) in enumerate(outcome.controls, 1):
        yield f"control {number}, as much text removed elsewhere", tally


def _ranked(outcome: bisecting.Outcome) -> Iterator[str]:
    for number, one in enumerate(outcome.ranked[:MAX_RANKED], 1):
        verb = "it is gone" if one.gone else "it is not gone"
        yield f"  {number}. without the text of {one.point.words} {verb} ({one.tally.words()})"
    more = len(outcome.ranked) - MAX_RANKED
    if more > 0:
        yield f"  and {more} more messages; -json has all"


def _short(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}..."


def _record(verdict: Verdict) -> dict[str, object]:
    session, outcome = verdict.session, verdict.session.outcome
    point = None if outcome.suspect is None else outcome.suspect.point
    narrowing = outcome.narrowing
    message = None if outcome.suspect is None else outcome.suspect.message
    return {
        "verdict": outcome.word,
        "exit_code": verdict.exit_code,
        "why": None if outcome.word == bisecting.FOUND else _why(session),
        "until": session.wanted.until,
        "recorded_event": session.recorded,
        "parent_root": session.recalled.verified.root.hex(),
        "at": None if point is None else point.at,
        "side": None if point is None else point.side.value,
        "words": None if point is None else point.words,
        "spans": [
            {
                "text": span.text,
                "where": span.where,
                "pointer": span.pointer,
                "stream_event": span.stream_event,
                "bytes": [span.start, span.end],
            }
            for span in verdict.spans
        ],
        "levels": []
        if narrowing is None
        else [
            {"level": one.level.value, "left": len(one.units), "among": one.among} for one in narrowing.found
        ],
        "ranked": [
            {"at": one.point.at, "words": one.point.words, "gone": one.gone, **one.tally.record()}
            for one in outcome.ranked
        ],
        "baseline": _counted(outcome.baseline),
        "all_removed": _counted(outcome.all_removed),
        "confirmed": _counted(outcome.confirmed),
        "controls": [
            {"text": "".join(message.text(unit) for unit in units), **tally.record()}
            for units, tally in outcome.controls
        ]
        if message is not None
        else [],
        "specific": outcome.specific,
        "search": session.wanted.search,
        "trials": session.wanted.rule.trials,
        "tolerated": session.wanted.rule.tolerated,
        "runs": outcome.runs,
        "notes": outcome.notes,
        "patch": session.found or None,
        "again": verdict.command or None,
        "folder": session.folder,
        "signer": session.recalled.verified.public_key.hex() or None,
    }


def _counted(tally: Tally | None) -> dict[str, object] | None:
    return None if tally is None else tally.record()
