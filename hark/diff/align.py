"""Which action of one run stands for which of the other, as one list in the order of the first.

What always holds: every action is in one row. Equal rows pair actions of one stream with the same parts, in
the stream's order; so two runs without another row are those that a replay calls equal, and what raced is
no difference. A request that differs in anything is changed, where the other run has one of its method, host
and path without a counterpart; which of several is for the caller to say.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import NamedTuple

from hark.diff.near import Pairs, in_order
from hark.diff.order import gaps, matched
from hark.replay.actions import Action, Streams

type Pairing = Callable[[list[Action], list[Action]], Pairs]
"""Which of some actions stands for which of the other run's, by place; of one title all, in order. MUST name
no place twice."""


class Row(NamedTuple):
    """One action of both runs, or of one alone."""

    was: Action | None
    now: Action | None
    equal: bool = False
    """Whether both did the same, in its place."""

    @property
    def action(self) -> Action:
        """Return the side that there is, the first run's before the other's."""
        found = self.was or self.now
        if found is None:
            raise ValueError("a row without an action")
        return found


def rows(one: Streams, other: Streams, pairing: Pairing = in_order) -> list[Row]:
    """Return all actions of two runs, side by side."""
    found: list[Row] = []
    lone: dict[str, tuple[list[Action], list[Action]]] = {}
    for name in dict.fromkeys((*one.actions, *other.actions)):
        left, right = one.actions.get(name, []), other.actions.get(name, [])
        pairs = matched([action.parts for action in left], [action.parts for action in right])
        found += (Row(left[x], right[y], equal=True) for x, y in pairs)
        for x, y in gaps(pairs, len(left), len(right)):
            both = min(len(x), len(y))
            found += (
                Row(left[i], right[j], left[i].parts == right[j].parts)
                for i, j in zip(x[:both], y[:both], strict=True)
            )
            title = (left or right)[0].title
            without = lone.setdefault(title, ([], []))
            without[0].extend(left[i] for i in x[both:])
            without[1].extend(right[j] for j in y[both:])
    for was, now in lone.values():
        found += _paired(sorted(was, key=_seq), sorted(now, key=_seq), pairing)
    return _in_order(found)


def _paired(was: list[Action], now: list[Action], pairing: Pairing) -> Iterable[Row]:
    pairs = pairing(was, now) if was and now else []
    lefts, rights = {x for x, _ in pairs}, {y for _, y in pairs}
    yield from (Row(was[x], now[y]) for x, y in pairs)
    yield from (Row(action, None) for x, action in enumerate(was) if x not in lefts)
    yield from (Row(None, action) for y, action in enumerate(now) if y not in rights)


def _in_order(found: list[Row]) -> list[Row]:
    """Sort by the first run; what the other has alone comes behind what it had come after there."""
    both = sorted((row.now.seq, row.was.seq) for row in found if row.was is not None and row.now is not None)
    order = [seq for seq, _ in both]
    reached = list(accumulate((seq for _, seq in both), max))

    def place(row: Row) -> tuple[int, int, int]:
        if row.was is not None:
            return row.was.seq, 0, 0
        known = bisect_left(order, row.action.seq)
        return reached[known - 1] if known else -1, 1, row.action.seq

    return sorted(found, key=place)


def _seq(action: Action) -> int:
    return action.seq
