"""One bisection: is the outcome seen again, is it the message, which span of it, and is that so.

What always holds: each step stands on runs that were made, and a verdict names the step that it ended at:

1. the recorded run shows the outcome, and after the branch point;
2. a fork with nothing changed shows it too (else the servers answer otherwise now, and nothing can be said);
3. a fork with all text of the message removed does not (else it is not this message);
4. what is left of the search is 1-minimal;
5. it is confirmed by runs that the search has not seen, and that this process has made;
6. as much text removed elsewhere changes nothing, by such runs too.

Not done here: forks (`hark.bisect.forks`), searching (`hark.bisect.ddmin`), words for people (`.verdict`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from hark.bisect.controls import controls
from hark.bisect.counting import Rule, Shown, Tally
from hark.bisect.ddmin import Candidates, Search
from hark.bisect.driver import Driver, Question, Spent
from hark.bisect.message import Message, Unit
from hark.bisect.narrowing import Narrowing
from hark.bisect.removal import removal
from hark.bisect.units import Level
from hark.errors import PatchError
from hark.patch.where import Point

FOUND: Final = "BISECTED"
UNSEEN: Final = "BISECT-UNSEEN"
UNMOVED: Final = "BISECT-UNMOVED"
UNCONFIRMED: Final = "BISECT-UNCONFIRMED"
UNSPECIFIC: Final = "BISECT-UNSPECIFIC"
STOPPED: Final = "BISECT-STOPPED"


@dataclass(frozen=True, slots=True)
class Suspect:
    """A message that may have carried the cause."""

    point: Point
    message: Message


@dataclass(frozen=True, slots=True)
class Ranked:
    """A suspect without all of its text."""

    point: Point
    tally: Tally
    gone: bool


@dataclass(slots=True)
class Outcome:
    """What came of a bisection, as far as it came."""

    word: str = STOPPED
    suspect: Suspect | None = None
    ranked: list[Ranked] = field(default_factory=list)
    baseline: Tally | None = None
    all_removed: Tally | None = None
    narrowing: Narrowing | None = None
    confirmed: Tally | None = None
    controls: list[tuple[tuple[Unit, ...], Tally]] = field(default_factory=list)
    specific: bool | None = None
    """Whether a control changed nothing; None where the message had no room for one."""
    patch: bytes = b""
    runs: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def units(self) -> tuple[Unit, ...]:
        """Return what was found, or what did last."""
        return () if self.narrowing is None else self.narrowing.best


@dataclass(slots=True)
class Bisection:
    """One search through messages of one recorded run."""

    driver: Driver
    rule: Rule
    finest: Level
    search: Callable[[Sequence[Unit]], Search[Unit]]
    note: str
    """In each child's record: what is looked for."""
    words: dict[str, str] = field(default_factory=dict)
    """What a question removes, in words, for whoever shows progress."""
    outcome: Outcome = field(default_factory=Outcome)

    def run(self, suspects: Sequence[Suspect], seed: bytes) -> Outcome:
        """Carry it to its end, or to that of the budget."""
        try:
            self.outcome.word = self._run(suspects, seed)
        except Spent:
            self.outcome.word = STOPPED
        self.driver.stop()
        self.outcome.runs = self.driver.runs
        return self.outcome

    def _run(self, suspects: Sequence[Suspect], seed: bytes) -> str:
        outcome = self.outcome
        suspect = suspects[0] if len(suspects) == 1 else self._ranked(suspects)
        if suspect is None:
            return UNMOVED
        outcome.suspect = suspect
        if not self._is_seen_again(suspect):
            return UNSEEN
        paragraphs = self._paragraphs(suspect)
        if not paragraphs:
            return UNMOVED
        outcome.narrowing = Narrowing(suspect.message, paragraphs, self.search, self.finest)
        units = outcome.narrowing.run(lambda candidates: self._first(suspect, candidates))
        outcome.patch = self._removing(suspect, units, "the span that was found").patch
        asked = self._controls(suspect, units, seed)
        for _, control in asked:
            self.driver.renew(control)
        if not self._is_confirmed(suspect, units, asked[0][1] if asked else None):
            return UNCONFIRMED
        outcome.specific = self._is_specific(asked)
        return UNSPECIFIC if outcome.specific is False else FOUND

    def _ranked(self, suspects: Sequence[Suspect]) -> Suspect | None:
        """Ask of each message whether it carried the cause; the first one that did brought it in."""
        questions = [
            self._removing(one, one.message.units(), f"all text of {one.point.words}") for one in suspects
        ]
        tallies = self.driver.each(questions, self.rule)
        for one, tally in zip(suspects, tallies, strict=True):
            self.outcome.ranked.append(Ranked(one.point, tally, self.rule.is_gone(tally) is True))
        self.outcome.ranked.sort(key=lambda one: (not one.gone, one.tally.seen > 0, one.point.at))
        return next(
            (one for one, tally in zip(suspects, tallies, strict=True) if self.rule.is_gone(tally)), None
        )

    def _is_seen_again(self, suspect: Suspect) -> bool:
        question = Question(suspect.point.at, b"")
        self.words[question.key] = "nothing removed"
        ahead = self._without_all(suspect, markup=False)
        tally = self.outcome.baseline = self.driver.times(question, self.rule.trials, ahead)
        shown = tally.seen + tally.gone
        if tally.seen:
            chance = self.rule.by_chance(tally.seen / shown)
            if chance > 0.001:
                self.outcome.notes.append(
                    f"with nothing removed it was {tally.words()}: a removal that changes nothing counts "
                    f"1 time in {1 / chance:.0f}; raise -trials"
                )
        return tally.seen > self.rule.tolerated

    def _paragraphs(self, suspect: Suspect) -> tuple[Unit, ...]:
        """Return the paragraphs without which it is gone: the text, or else the markup too; or none."""
        for markup in (False, True):
            paragraphs = tuple(suspect.message.units(markup=markup))
            if self._is_gone_without(self._without_all(suspect, markup=markup)):
                return paragraphs
            if len(paragraphs) == len(suspect.message.units(markup=True)):
                break
        return ()

    def _without_all(self, suspect: Suspect, *, markup: bool) -> Question:
        words = "all text of the message, and its markup" if markup else "all text of the message"
        return self._removing(suspect, suspect.message.units(markup=markup), words)

    def _is_gone_without(self, question: Question) -> bool:
        (tally,) = self.driver.each([question], self.rule)
        self.outcome.all_removed = tally
        if tally.silent and not tally.seen:
            self.outcome.notes.append(
                "a fork without any text of the message shows nothing, since the agent did not go on as it "
                "should, or for too long; that its removal would do is taken for granted until the "
                "confirming run"
            )
            return True
        return self.rule.is_gone(tally) is True

    def _first(self, suspect: Suspect, candidates: Candidates[Unit]) -> int | None:
        return self.driver.first(_Lazy(self, suspect, candidates), self.rule)

    def _is_confirmed(self, suspect: Suspect, units: Sequence[Unit], ahead: Question | None) -> bool:
        """Run it again as often as it takes to count; what the search has seen does not."""
        question = self._removing(suspect, units, "the span that was found")
        trials = self.rule.trials
        self.driver.renew(question, trials)
        self.driver.times(question, 2 * trials, ahead)
        fresh = Tally()
        for trial in range(trials, 2 * trials):  # the search counted those before
            done = self.driver.known.get((question.key, trial))
            fresh.add(Shown.NOTHING if done is None else done.shown)
        self.outcome.confirmed = fresh
        return self.rule.is_gone(fresh) is True

    def _is_specific(self, asked: Sequence[tuple[tuple[Unit, ...], Question]]) -> bool | None:
        specific: bool | None = None
        for control, question in asked:
            (tally,) = self.driver.each([question], self.rule)
            self.outcome.controls.append((control, tally))
            if tally.seen:
                return True
            if self.rule.is_gone(tally):
                specific = False
        return specific

    def _controls(
        self, suspect: Suspect, units: Sequence[Unit], seed: bytes
    ) -> list[tuple[tuple[Unit, ...], Question]]:
        asked = []
        for control in controls(suspect.message, units, self.finest, seed):
            question = self._asked(suspect, control, "as much text elsewhere")
            if question is not None:
                asked.append((control, question))
        return asked

    def _asked(self, suspect: Suspect, units: Sequence[Unit], words: str) -> Question | None:
        try:
            return self._removing(suspect, units, words)
        except PatchError:
            return None

    def _removing(self, suspect: Suspect, units: Sequence[Unit], words: str) -> Question:
        question = Question(suspect.point.at, removal(suspect.message, units, self.note))
        self.words.setdefault(question.key, f"without {words}")
        return question


class _Lazy:
    """Candidates as questions, each made when it is looked at: patches of a long message take time."""

    def __init__(self, bisection: Bisection, suspect: Suspect, candidates: Candidates[Unit]) -> None:
        self._make = bisection._asked  # noqa: SLF001 (a part of it)
        self._of = bisection.outcome.narrowing
        self._suspect = suspect
        self._candidates = candidates
        self._made: dict[int, Question | None] = {}

    def __len__(self) -> int:
        return len(self._candidates)

    def __getitem__(self, index: int, /) -> Question | None:
        if index not in self._made:
            units = self._candidates[index]
            level = "" if self._of is None else self._of.level.value
            words = f"{len(units)} of {self._of.pieces if self._of else 0} {level}s"
            self._made[index] = self._make(self._suspect, units, words)
        return self._made[index]
