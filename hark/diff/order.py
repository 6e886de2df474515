"""Which items of two sequences belong together: a common subsequence, found in bounded time.

What always holds: the pairs ascend on both sides and are equal items; what both sequences begin and end with
is paired. The subsequence is a longest one where the two differ in few places (Myers' O(ND), up to `WORK`
steps), else one of items that stand at the same occurrence on both sides, which may be shorter: never
quadratic, whoever wrote the sequences.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import count
from typing import Final

MAX_EDITS: Final = 400  # beyond, two texts are more unlike than alike
WORK: Final = 2_000_000  # steps of one comparison, some 0.3 s

ALL: Final = 400_000_000  # steps of one command, about a minute

type Pairs = list[tuple[int, int]]
type Gap = tuple[range, range]


class Effort:
    """What one command may still spend on looking inside what differs, in steps; a byte of a body is one."""

    def __init__(self, left: int = ALL) -> None:
        self.left = left

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0


def matched(one: Sequence[Hashable], other: Sequence[Hashable], effort: Effort | None = None) -> Pairs:
    """Return the places of equal items, (in `one`, in `other`), ascending in both."""
    names: defaultdict[Hashable, int] = defaultdict(count().__next__)
    left, right = [names[item] for item in one], [names[item] for item in other]
    shorter = min(len(left), len(right))
    begin = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    room = shorter - begin
    end = next((at for at in range(room) if left[-1 - at] != right[-1 - at]), room)
    inner_left, inner_right = left[begin : len(left) - end], right[begin : len(right) - end]
    inner = _few_edits(inner_left, inner_right, effort or Effort())
    if inner is None:
        inner = _same_occurrence(inner_left, inner_right)
    return [
        *((at, at) for at in range(begin)),
        *((begin + x, begin + y) for x, y in inner),
        *((len(left) - at, len(right) - at) for at in range(end, 0, -1)),
    ]


def gaps(pairs: Pairs, one: int, other: int) -> list[Gap]:
    """Return what lies between the pairs of two sequences that are so long: places on either side."""
    found: list[Gap] = []
    x = y = 0
    for left, right in [*pairs, (one, other)]:
        if x < left or y < right:
            found.append((range(x, left), range(y, right)))
        x, y = left + 1, right + 1
    return found


def _few_edits(one: list[int], other: list[int], effort: Effort) -> Pairs | None:
    """Find a longest common subsequence; None where that would take too many steps."""
    if not one or not other:
        return []
    both = len(one) + len(other)
    limit = min(both, MAX_EDITS, WORK // both, max(0, effort.left) // both)
    reached = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(limit + 1):
        trace.append(dict(reached))
        effort.left -= both
        for line in range(-edits, edits + 1, 2):
            x = _start(reached, line, edits)
            y = x - line
            while x < len(one) and y < len(other) and one[x] == other[y]:
                x, y = x + 1, y + 1
            reached[line] = x
            if x >= len(one) and y >= len(other):
                return _walked_back(trace, x, y)
    return None


def _start(reached: dict[int, int], line: int, edits: int) -> int:
    """Return from where a diagonal is followed: the better of the two beside it."""
    below = line == -edits or (line != edits and reached[line - 1] < reached[line + 1])
    return reached[line + 1] if below else reached[line - 1] + 1


def _walked_back(trace: list[dict[int, int]], x: int, y: int) -> Pairs:
    pairs: Pairs = []
    for edits in range(len(trace) - 1, -1, -1):
        before, line = trace[edits], x - y
        start = _start(before, line, edits)
        while x > start and y > start - line:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        below = line == -edits or (line != edits and before[line - 1] < before[line + 1])
        x, y = (x, y - 1) if below else (x - 1, y)
    return pairs[::-1]


def _same_occurrence(one: list[int], other: list[int]) -> Pairs:
    """Pair the n-th of each item with the n-th, and keep the most of these pairs that ascend."""
    places: defaultdict[int, list[int]] = defaultdict(list)
    for y, item in enumerate(other):
        places[item].append(y)
    for found in places.values():
        found.reverse()
    candidates = [(x, places[item].pop()) for x, item in enumerate(one) if places.get(item)]
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, y) in enumerate(candidates):
        size = bisect_left(ends, y)
        before.append(last[size - 1] if size else -1)
        if size == len(ends):
            ends.append(y)
            last.append(number)
        else:
            ends[size], last[size] = y, number
    chain: Pairs = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(candidates[at])
        at = before[at]
    return chain[::-1]
