"""Questions answered by runs, side by side: within a budget, each run once, and the same whoever is quicker.

What always holds: of several candidates the first in their order that does is the answer, though a later one
may have been run sooner; a run that is known is not made again; no run begins beyond the budget.

Not done here: what a run is. A `Runner` makes it: forks (`hark.bisect.forks`), or an oracle.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from hark.bisect.counting import Rule, Shown, Tally
from hark.bundle.hashing import content_hash


class Question(NamedTuple):
    """A message changed: the branch point, and the patch there; an empty one changes nothing."""

    at: int
    patch: bytes

    @property
    def key(self) -> str:
        """Return what it is remembered by."""
        return content_hash(b"%d\0%s" % (self.at, self.patch)).hex()


class Job(NamedTuple):
    """One run for a question."""

    question: Question
    trial: int


class Done(NamedTuple):
    """How one run ended."""

    key: str
    trial: int
    shown: Shown
    why: str = ""
    """Why it showed nothing."""
    seconds: float = 0.0
    bundle: str = ""


class Runner(Protocol):
    """Makes runs."""

    def begin(self, job: Job) -> None:
        """Begin one. MUST return at once."""

    def ended(self) -> Done:
        """Wait for one that was begun, and return it. Every one MUST come back once."""

    def drop(self) -> None:
        """End all that are under way, whose outcome nobody needs. MUST have ended when it returns."""


class Spent(Exception):  # noqa: N818  # no fault: the budget is used up
    """There is no run left in the budget."""


class Questions(Protocol):
    """Candidates in their order; None is one that cannot be asked."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __getitem__(self, index: int, /) -> Question | None:
        """Return one. MAY be made at that moment."""


type Note = Callable[[Done], None]


@dataclass(slots=True)
class Driver:
    """One bisection's."""

    runner: Runner
    note: Note
    """Is told of each run as it ends, before it counts."""
    jobs: int = 1
    most: int = 1000
    known: dict[tuple[str, int], Done] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)
    dropped: int = 0
    """Runs that were ended, since nobody needed them any more; servers have heard of them all the same."""
    _running: set[tuple[str, int]] = field(default_factory=set)
    _kept: set[tuple[str, int]] = field(default_factory=set)
    """Of those that are known, the runs of an earlier process."""

    @property
    def runs(self) -> int:
        """Return how many runs have been begun and are no longer under way."""
        return len(self.known) + self.dropped

    def learn(self, done: Done) -> None:
        """Count a run, once."""
        if (done.key, done.trial) not in self.known:
            self.known[done.key, done.trial] = done
            self.tally(done.key).add(done.shown)

    def remember(self, done: Done) -> None:
        """Count a run of an earlier process."""
        self.learn(done)
        self._kept.add((done.key, done.trial))

    def renew(self, question: Question, since: int = 0) -> None:
        """Ask a question anew, from a trial on: what an earlier process knows of it does not count."""
        key = question.key
        for kept in [one for one in self._kept if one[0] == key and one[1] >= since]:
            self._kept.remove(kept)
            del self.known[kept]
        self.tallies.pop(key, None)
        for done in [one for one in self.known.values() if one.key == key]:
            self.tally(key).add(done.shown)

    def tally(self, key: str) -> Tally:
        """Return what is known of a question."""
        return self.tallies.setdefault(key, Tally())

    def first(self, questions: Questions, rule: Rule) -> int | None:
        """Return the index of the first question whose outcome is gone."""
        while True:
            at = 0
            for at in range(len(questions)):
                question = questions[at]
                gone = False if question is None else rule.is_gone(self.tally(question.key))
                if gone:
                    self.stop()
                    return at
                if gone is None:
                    break
            else:
                self.stop()
                return None
            self._run(questions, at, rule)

    def each(self, questions: Sequence[Question], rule: Rule) -> list[Tally]:
        """Return what is known of each question once all are decided."""
        while any(rule.is_gone(self.tally(one.key)) is None for one in questions):
            self._run(questions, 0, rule)
        self.stop()
        return [self.tally(one.key) for one in questions]

    def times(self, question: Question, runs: int, ahead: Question | None = None) -> Tally:
        """Return what `runs` runs of a question showed, however they went.

        `ahead` is asked next: it has the runs that there is room for beside these, and they go on.
        """
        beside = [] if ahead is None else [ahead]
        while self.tally(question.key).runs < runs:
            self._run([question, *beside], 0, Rule(runs, runs))
        return self.tally(question.key)

    def _run(self, questions: Questions, at: int, rule: Rule) -> None:
        """Keep as many runs going as may be, the first questions first, and wait for one."""
        for index in range(at, len(questions)):
            if len(self._running) >= self.jobs:
                break
            question = questions[index]
            if question is not None and rule.is_gone(self.tally(question.key)) is None:
                self._begin(question, rule)
        if not self._running:
            raise Spent
        done = self.runner.ended()
        self._running.discard((done.key, done.trial))
        self.note(done)
        self.learn(done)

    def _begin(self, question: Question, rule: Rule) -> None:
        key = question.key
        for trial in range(rule.trials):
            if len(self._running) >= self.jobs or self.runs + len(self._running) >= self.most:
                return
            if (key, trial) not in self.known and (key, trial) not in self._running:
                self._running.add((key, trial))
                self.runner.begin(Job(question, trial))

    def stop(self) -> None:
        """End what is under way, since nobody needs it any more."""
        if self._running:
            self.runner.drop()
            self.dropped += len(self._running)
            self._running.clear()
