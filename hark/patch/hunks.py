"""How one text becomes another: short stretches of it and what stands there instead.

What always holds: replaced one after another, each at its first place, they lead from the one to the other if
each stretch occurs once; how much is shown around them, so that it does, is the caller's choice.
"""

from difflib import SequenceMatcher
from enum import Enum
from typing import Final, NamedTuple

MAX_LINES: Final = 4000  # beyond that one stretch is all that differs
_JOINS: Final = 2
"""Lines that are equal between two stretches and still belong to one."""


class Spread(Enum):
    """How much stands around what differs."""

    BARE = 0
    WORDS = 24
    LINES = 160
    WHOLE = -1


class Hunk(NamedTuple):
    """A stretch of the old text, never empty, and the new one."""

    old: str
    new: str


def hunks(old: str, new: str, spread: Spread) -> list[Hunk]:
    """Return how `old` becomes `new`; none for two that are equal, and for an empty `old`."""
    if old == new or not old:
        return []
    if spread is Spread.WHOLE:
        return [Hunk(old, new)]
    return [_around(old, new, place, spread.value) for place in _places(old, new)]


class _Place(NamedTuple):
    start: int
    end: int
    new_start: int
    new_end: int


def _places(old: str, new: str) -> list[_Place]:
    """Return where the texts differ: by line where both have few, each place then as short as may be."""
    was, now = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if max(len(was), len(now)) > MAX_LINES:
        return [_short(old, new, _Place(0, len(old), 0, len(new)))]
    before, after = _offsets(was), _offsets(now)
    found: list[_Place] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        place = _Place(before[i1], before[i2], after[j1], after[j2])
        if found and i1 - _line(before, found[-1].end) < _JOINS:
            place = _Place(found[-1].start, place.end, found[-1].new_start, place.new_end)
            found.pop()
        found.append(place)
    return [_short(old, new, place) for place in found]


def _offsets(lines: list[str]) -> list[int]:
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return offsets


def _line(offsets: list[int], offset: int) -> int:
    return offsets.index(offset)


def _short(old: str, new: str, place: _Place) -> _Place:
    """Take off what both sides of a place begin and end with."""
    start, end, new_start, new_end = place
    while start < end and new_start < new_end and old[start] == new[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    return _Place(start, end, new_start, new_end)


def _around(old: str, new: str, place: _Place, many: int) -> Hunk:
    """Return a place with some characters of what stands around it; at least one, where it would be empty."""
    if many == 0 and place.start == place.end:
        many = 1
    before = old[max(place.start - many, 0) : place.start]
    after = old[place.end : place.end + many]
    return Hunk(
        before + old[place.start : place.end] + after, before + new[place.new_start : place.new_end] + after
    )
