"""Which request of one run stands for which of the other's, where neither run made the other's: the nearest.

What always holds: as many are paired as the side with fewer has, each with one. When two bundles are compared
no more than `MAX_READ` requests are read again and `MAX_TRIED` pairs held against one another; beyond, those
that are left are paired in order. So the cost is bounded, whatever the bundles hold.
"""

from collections.abc import Callable, Sequence
from typing import Final

from hark.replay import treatment
from hark.replay.actions import Action
from hark.replay.canonical import Canonical
from hark.replay.nearest import Sketch, apart, sketch

MAX_READ: Final = 2_000
MAX_TRIED: Final = 60_000  # some 10 µs each

type Fetch = Callable[[Action], Canonical | None]
type Pairs = list[tuple[int, int]]


def in_order(was: Sequence[Action], now: Sequence[Action]) -> Pairs:
    """Pair the first with the first."""
    return [(at, at) for at in range(min(len(was), len(now)))]


class Nearness:
    """What is left of the bounds. `one` and `other` give a request of the first and of the second run."""

    def __init__(self, one: Fetch, other: Fetch) -> None:
        self._one = one
        self._other = other
        self._read = MAX_READ
        self._tried = MAX_TRIED

    def __call__(self, was: Sequence[Action], now: Sequence[Action]) -> Pairs:
        """Return which of `was` stands for which of `now`, by their places. All have one title."""
        tried, read = len(was) * len(now), len(was) + len(now)
        alone = tried < 2 or not was[0].stream.startswith(f"{treatment.REQUEST} ")
        if alone or tried > self._tried or read > self._read:
            return in_order(was, now)
        self._tried -= tried
        self._read -= read
        return _greedily(_sketches(was, self._one), _sketches(now, self._other))


def _sketches(actions: Sequence[Action], fetch: Fetch) -> list[Sketch | None]:
    found = (fetch(action) for action in actions)
    return [
        None if request is None else sketch(at, request, action.stream.encode())
        for at, (action, request) in enumerate(zip(actions, found, strict=True))
    ]


def _greedily(was: list[Sketch | None], now: list[Sketch | None]) -> Pairs:
    """Take the nearest pair, then the nearest of what is left; of equals those that stand nearest."""
    distances = sorted(
        (_distance(one, other), abs(x - y), x, y) for x, one in enumerate(was) for y, other in enumerate(now)
    )
    taken_x, taken_y, pairs = set[int](), set[int](), []
    for _, _, x, y in distances:
        if x not in taken_x and y not in taken_y:
            taken_x.add(x)
            taken_y.add(y)
            pairs.append((x, y))
    return pairs


def _distance(one: Sketch | None, other: Sketch | None) -> float:
    return float("inf") if one is None or other is None else apart(one, other)[0]
