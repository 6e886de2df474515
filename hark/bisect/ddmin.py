"""Delta debugging: of items that do together, a part that still does and of which each item is needed.

Both searches are generators: one yields candidates, the preferred one first, and is sent the index of the
first that does, or None where none does. So nothing here knows what doing is, who asks, or how many at a
time; and what is found depends on the answers alone.

What always holds: what is returned was a candidate that does, or all items; and each item of it was asked
about: without that one, it did not do (1-minimal). Zeller and Hildebrandt's bound holds for `ddmin`: at most
n^2 + 3n questions, and 2 log2 n where one item alone is needed.
"""

from collections.abc import Callable, Generator, Sequence
from itertools import chain, pairwise
from typing import Final

type Candidates[T] = Sequence[tuple[T, ...]]
type Search[T] = Generator[Candidates[T], int | None, tuple[T, ...]]

FIRST_GUESS: Final = 0.1
"""How likely an item is needed before anything was asked (Wang et al., 2021)."""
_SURE: Final = 1 - 1e-9


def ddmin[T](items: Sequence[T]) -> Search[T]:
    """Return a 1-minimal part of the items (Zeller and Hildebrandt, 2002)."""
    left = tuple(items)
    parts = 2
    while len(left) > 1:
        pieces = _divided(left, parts)
        found = yield pieces
        if found is not None:
            left, parts = pieces[found], 2
            continue
        others = [tuple(chain(*pieces[:at], *pieces[at + 1 :])) for at in range(parts)]
        found = (yield others) if parts > 2 else None  # of two, one half is what the other leaves
        if found is not None:
            left, parts = others[found], parts - 1
        elif parts < len(left):
            parts = min(2 * parts, len(left))
        else:
            break
    return left


def probable[T](items: Sequence[T]) -> Search[T]:
    """Return a 1-minimal part, by guesses that learn from each answer (ProbDD; Wang et al., 2021).

    Each question leaves out as many items as promise most: those least likely needed. What cannot be left out
    makes each of them likelier, and one that could not be left out alone is sure.
    """
    left = tuple(range(len(items)))
    need = dict.fromkeys(left, FIRST_GUESS)
    while True:
        out = _most_promising(left, need)
        if not out:
            break
        kept = tuple(one for one in left if one not in out)
        if (kept or len(items) == 0) and (yield [tuple(items[one] for one in kept)]) is not None:
            left = kept
            continue
        none_needed = 1.0
        for one in out:
            none_needed *= 1 - need[one]
        for one in out:
            need[one] = min(1.0, need[one] / (1 - none_needed))
    rest = yield from _each_needed(tuple(items[one] for one in left))
    return rest


def _each_needed[T](left: tuple[T, ...]) -> Search[T]:
    """Ask about each item alone: what was sure beside others that are gone by now may not be needed."""
    while len(left) > 1:
        others = [left[:at] + left[at + 1 :] for at in range(len(left))]
        found = yield others
        if found is None:
            break
        left = others[found]
    return left


def _divided[T](items: tuple[T, ...], parts: int) -> list[tuple[T, ...]]:
    edges = [len(items) * number // parts for number in range(parts + 1)]
    return [items[begin:end] for begin, end in pairwise(edges)]


def _most_promising(left: Sequence[int], need: dict[int, float]) -> frozenset[int]:
    """Return the items to leave out: how many, times how likely none of them is needed, is most."""
    order = sorted((one for one in left if need[one] < _SURE), key=lambda one: (need[one], one))
    best, most, chance = 0, 0.0, 1.0
    for count, one in enumerate(order, 1):
        chance *= 1 - need[one]
        if count * chance > most:
            best, most = count, count * chance
    return frozenset(order[:best])


SEARCHES: Final[dict[str, Callable[[Sequence[object]], Search[object]]]] = {
    "ddmin": ddmin,
    "probable": probable,
}
