"""Two runs compared, action by action: equal, or the first that differs, and what was equal before it.

What always holds: runs are equal only where all their streams have the same actions and both came to an end
of their own; a run that never started, or whose end is not recorded, is equal to nothing. The first
difference is the earliest in the recording's order, except that programs come before everything: another
program explains the rest. A request that differs in anything is one action with two sides, where there is
one of its name on both. What was recorded and not asked for again is named, all of it.

Not done here: finding where inside two actions the difference is (`hark.replay.inside`).
"""

from bisect import bisect_left
from collections.abc import Iterable
from heapq import nlargest
from itertools import accumulate, zip_longest
from typing import Final, NamedTuple

from hark.bundle.bounds import RunEnd
from hark.bundle.outcome import EXIT, INTERRUPTED, SIGNAL, describe, split
from hark.replay import digest, treatment
from hark.replay.actions import Action, Streams

BEFORE: Final = 3
"""How many equal actions are named before the first that differs."""
_ENDS: Final = frozenset((EXIT, SIGNAL, INTERRUPTED))


class Divergence(NamedTuple):
    """Two actions that should be the same, or one without its other side."""

    recorded: Action | None
    replayed: Action | None
    before: tuple[Action, ...] = ()
    """The last recorded actions before it that were equal, the latest last."""

    @property
    def action(self) -> Action:
        """Return the side that there is, the recorded one first."""
        found = self.recorded or self.replayed
        if found is None:
            raise ValueError("a divergence without a side")
        return found

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the names of the parts that differ; none where a side is missing."""
        if self.recorded is None or self.replayed is None:
            return ()
        if self.recorded.stream != self.replayed.stream:
            return ("request",)
        was, now = dict(self.recorded.parts), dict(self.replayed.parts)
        return tuple(name for name in dict.fromkeys((*was, *now)) if was.get(name) != now.get(name))


class Compared(NamedTuple):
    """What came of comparing two runs."""

    first: Divergence | None
    unfit: str
    """Why the runs are not equal whatever they did; empty where nothing of the kind is."""
    unused: tuple[Action, ...]
    """Recorded actions that the replay did not come to: answers that were never consumed, and the rest."""
    extra: int
    """How many actions the replay had that were not recorded."""
    equal_actions: int
    recorded_digest: bytes
    replayed_digest: bytes

    @property
    def equal(self) -> bool:
        """Tell whether the runs are equal."""
        return self.first is None and not self.unfit and self.recorded_digest == self.replayed_digest


def compare(recorded: Streams, replayed: Streams) -> Compared:
    """Compare a replay's actions with those of the run that it replayed."""
    same, differing = _paired(recorded, replayed)
    unused = sorted(
        (was for was, now in differing if was is not None and now is None), key=lambda action: action.seq
    )
    return Compared(
        first=_first(same, differing),
        unfit=_unfit(recorded.end, replayed.end),
        unused=tuple(unused),
        extra=sum(was is None for was, _ in differing),
        equal_actions=len(same),
        recorded_digest=digest.of_run(recorded),
        replayed_digest=digest.of_run(replayed),
    )


type _Pair = tuple[Action | None, Action | None]


def _paired(recorded: Streams, replayed: Streams) -> tuple[list[tuple[Action, Action]], list[_Pair]]:
    """Return the actions that are equal, and those that are not, each with its other side if there is one."""
    same: list[tuple[Action, Action]] = []
    differing: list[_Pair] = []
    for name in dict.fromkeys((*recorded.actions, *replayed.actions)):
        for was, now in zip_longest(recorded.actions.get(name, ()), replayed.actions.get(name, ())):
            if was is not None and now is not None and was.parts == now.parts:
                same.append((was, now))
            else:
                differing.append((was, now))
    return same, differing


def _first(same: list[tuple[Action, Action]], differing: list[_Pair]) -> Divergence | None:
    if not differing:
        return None
    both = [(now.seq, was.seq) for was, now in differing if was is not None and now is not None]
    by_replay = sorted([*both, *((now.seq, was.seq) for was, now in same)])
    order = [seq for seq, _ in by_replay]
    reached = list(accumulate((seq for _, seq in by_replay), max))

    def place(pair: _Pair) -> tuple[bool, int, int]:
        was, now = pair
        program = any(side is not None and side.stream.startswith(f"{treatment.PROGRAM} ") for side in pair)
        if was is not None:
            return not program, was.seq, 0
        if now is None:
            raise ValueError("a pair without a side")
        known = bisect_left(order, now.seq)
        return not program, reached[known - 1] if known else -1, 1

    first = min(differing, key=place)
    was, now = _other_side(first, differing)
    limit = place(first)[1] + (first[0] is None)
    earlier = (action for action, _ in same if action.seq < limit)
    return Divergence(was, now, tuple(nlargest(BEFORE, earlier, key=lambda action: action.seq)[::-1]))


def _other_side(pair: _Pair, differing: list[_Pair]) -> _Pair:
    """Find for an action without its other side one that is without, too, and is called the same."""
    was, now = pair
    if was is not None and now is None:
        return was, _earliest(was, (other for one, other in differing if one is None))
    if now is not None and was is None:
        return _earliest(now, (one for one, other in differing if other is None)), now
    return pair


def _earliest(like: Action, lone: Iterable[Action | None]) -> Action | None:
    alike = (action for action in lone if action is not None and action.title == like.title)
    return min(alike, key=lambda action: action.seq, default=None)


def _unfit(recorded: RunEnd | None, replayed: RunEnd | None) -> str:
    for which, end in (("the recorded run", recorded), ("the replay", replayed)):
        if end is None or split(end.reason)[0] not in _ENDS:
            return f"of {which}: {describe(end)}"
    return ""
