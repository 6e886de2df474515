"""The recorded request that a missed one comes nearest to, for the sentence that ends a run.

What always holds: nothing is served for what is found here; it is for people. A recorded request leaves a
sketch of some hundred bytes, so thousands of 80 kB cost no memory, and a miss compares sketches, then two or
three requests whole.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile
from typing import Final, NamedTuple
from zlib import crc32

from hark.replay.canonical import Canonical
from hark.replay.difference import Difference, common, of_requests
from hark.visible import visible

CLOSEST: Final = 3  # of the sketches; compared whole
NAMED: Final = 3  # differences in one sentence
_FIRST: Final = 8
_GROWTH: Final = 1.3


def _grid() -> tuple[int, ...]:
    places = [0, _FIRST]
    while places[-1] < 32 << 20:
        places.append(int(places[-1] * _GROWTH))
    return tuple(places)


_GRID: Final = _grid()
"""Offsets from either end of a body at which sketches are cut."""


class Sketch(NamedTuple):
    """What is kept of a recorded request."""

    seq: int
    key: bytes
    method: str
    host: str
    path: bytes
    form: str
    size: int
    query: int
    headers: frozenset[int]
    begin: array[int]
    end: array[int]


class Nearest(NamedTuple):
    """The nearest recorded request, and how the missed one differs from it."""

    seq: int
    differences: tuple[Difference, ...]
    """None: the same request was recorded, but not so often."""
    recorded: int
    """How often the missed request itself was recorded."""


class Sketches:
    """All recorded requests, as much of them as is needed to find the nearest."""

    def __init__(self) -> None:
        self._all: list[Sketch] = []

    def add(self, seq: int, request: Canonical) -> None:
        """Keep a recorded request; `seq` is its event's."""
        self._all.append(sketch(seq, request, request.key))

    def nearest(self, missed: Canonical, fetch: Callable[[int], Canonical]) -> Nearest | None:
        """Return the nearest recorded request; None where there is none.

        `fetch` MUST return the canonical form of the request whose event is given, by the same rules.
        """
        wanted = sketch(0, missed, missed.key)
        closest = sorted(self._all, key=lambda one: apart(one, wanted))[:CLOSEST]
        if not closest:
            return None
        same = [one.seq for one in self._all if one.key == wanted.key]
        if same:
            return Nearest(max(same), (), len(same))
        whole = [(one.seq, fetch(one.seq)) for one in closest]
        found = [(tuple(of_requests(one, missed)), _alike(one.body, missed.body), seq) for seq, one in whole]
        differences, _, seq = min(found, key=lambda one: (len(one[0]), -one[1], one[2]))
        return Nearest(seq, differences, 0)


def sentence(missed: Canonical, nearest: Nearest | None) -> str:
    """Return why there is no answer for a request."""
    begin = f"no recording for {visible(missed.name)}"
    if nearest is None:
        return f"{begin}; no request was recorded"
    if not nearest.differences:
        times = "once" if nearest.recorded == 1 else f"{nearest.recorded} times"
        return f"{begin} once more: it was recorded {times}, last as event {nearest.seq}"
    return f"{begin}; {words(nearest)}"


def among(missed: Canonical, recorded: Sequence[tuple[int, Canonical]]) -> str:
    """Return which of some requests, each with its event, is nearest, and what differs; nothing for none."""
    sketches = Sketches()
    for seq, request in recorded:
        sketches.add(seq, request)
    found = sketches.nearest(missed, dict(recorded).__getitem__)
    return "" if found is None else words(found)


def words(nearest: Nearest) -> str:
    """Return which event is nearest, and what differs."""
    if not nearest.differences:
        return f"nearest is event {nearest.seq}, which is the same"
    named = " and ".join(map(str, nearest.differences[:NAMED]))
    more = len(nearest.differences) - NAMED
    others = f", and {more} more differ" if more > 0 else ""
    return f"nearest is event {nearest.seq}: {named}{others}"


def sketch(seq: int, request: Canonical, key: bytes) -> Sketch:
    """Return what is kept of a request. `key` is its own, which is costly to find."""
    body = request.body
    cuts = [place for place in _GRID if place < len(body)]
    cuts.append(len(body))
    size = len(body)
    return Sketch(
        seq=seq,
        key=key,
        method=request.method,
        host=request.host,
        path=request.path,
        form=request.form,
        size=request.size,
        query=crc32(repr(request.query).encode()),
        headers=frozenset(crc32(name + b":" + value) for name, value in request.headers),
        begin=array("I", (crc32(body[one:other]) for one, other in pairwise(cuts))),
        end=array("I", (crc32(body[size - other : size - one]) for one, other in pairwise(cuts))),
    )


def apart(one: Sketch, wanted: Sketch) -> tuple[float, int]:
    """Return how far a recorded request is from the wanted one; of two alike the earlier is the nearer."""
    names = 8 * (one.host != wanted.host) + 4 * (one.method != wanted.method) + 2 * (one.form != wanted.form)
    path = (
        0.0 if one.path == wanted.path else 1 + 3 * _unshared(one.path.split(b"/"), wanted.path.split(b"/"))
    )
    headers = min(len(one.headers ^ wanted.headers), 10) / 20
    query = 0.5 * (one.query != wanted.query)
    return names + path + headers + query + _bodies_apart(one, wanted), one.seq


def _alike(one: bytes, other: bytes) -> int:
    return common(one, other) + common(one[::-1], other[::-1])


def _unshared(one: list[bytes], other: list[bytes]) -> float:
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return 1 - shared / max(len(one), len(other))


def _bodies_apart(one: Sketch, wanted: Sketch) -> float:
    """Return the part of the larger body that neither begin nor end share, from 0 to 1, as sketches tell."""
    larger = max(one.size, wanted.size)
    if one.key == wanted.key or not larger:
        return 0.0
    shared = sum(_shared(mine, theirs) for mine, theirs in ((one.begin, wanted.begin), (one.end, wanted.end)))
    return 1 - min(shared, larger) / larger


def _shared(one: array[int], other: array[int]) -> int:
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return _GRID[min(same, len(_GRID) - 1)]
