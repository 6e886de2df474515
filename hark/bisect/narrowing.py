"""A span narrowed level by level: the paragraphs that have to go, of these the sentences, of these the words.

What always holds: what is left at a level does, and is 1-minimal in its pieces: without any one of them it
does not. `best` is what did last, at whatever moment the search is left.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hark.bisect.ddmin import Candidates, Search
from hark.bisect.message import Message, Unit
from hark.bisect.units import Level

type First = Callable[[Candidates[Unit]], int | None]
"""Returns the index of the first candidate whose removal does."""


class Found(NamedTuple):
    """What was left at one level."""

    level: Level
    units: tuple[Unit, ...]
    among: int
    """How many pieces there were."""


@dataclass(slots=True)
class Narrowing:
    """One search."""

    message: Message
    paragraphs: tuple[Unit, ...]
    search: Callable[[Sequence[Unit]], Search[Unit]]
    finest: Level
    found: list[Found] = field(default_factory=list)
    best: tuple[Unit, ...] = ()
    level: Level = Level.PARAGRAPH
    pieces: int = 0

    def run(self, first: First) -> tuple[Unit, ...]:
        """Narrow to the finest level; removing all of `paragraphs` has to do."""
        self.best = self.paragraphs
        for level in Level:
            self.level = level
            pieces = self._cut(level)
            self.pieces = len(pieces)
            self.best = self._narrowed(pieces, first)
            self.found.append(Found(level, self.best, len(pieces)))
            if level is self.finest:
                break
        return self.best

    def _cut(self, level: Level) -> tuple[Unit, ...]:
        if level is Level.PARAGRAPH:
            return self.best
        return tuple(piece for unit in self.best for piece in self.message.cut(unit, level))

    def _narrowed(self, pieces: tuple[Unit, ...], first: First) -> tuple[Unit, ...]:
        searching = self.search(pieces)
        try:
            candidates = next(searching)
            while True:
                index = first(candidates)
                if index is not None:
                    self.best = candidates[index]
                candidates = searching.send(index)
        except StopIteration as ended:
            left: tuple[Unit, ...] = ended.value
            return left
