"""How two bodies differ, in lines that are safe to print: JSON by path, text by its lines, the rest by byte.

What always holds: bodies that differ give at least one change; a change has at most `MAX_LINES` lines and
says how many more there are; nothing recorded stands in a line unescaped. Text of more than `MAX_TEXT` bytes,
or JSON beyond `hark.replay.jsonform`, is compared by byte alone. Costs are bounded by `hark.diff.order`.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from hark.diff.order import Effort, Pairs, gaps, matched
from hark.policy.jsonpath import Step, written
from hark.replay import jsonform
from hark.replay.difference import common
from hark.visible import visible, visible_bytes

MAX_LINES: Final = 200
MAX_TEXT: Final = 4 << 20  # bytes; beyond, nobody reads a list of lines
AROUND: Final = 2  # equal lines on either side of one that differs
EXCERPT: Final = 120  # characters of one long line around the place where it differs
BEFORE: Final = 30  # of them before that place
MAX_SPELLED: Final = 32 << 20  # bytes of JSON that are spelled to find equal items of lists


class Change(NamedTuple):
    """One difference: where it is, what it is, and lines of both sides: `-` the first's, `+` the second's."""

    where: str
    words: str
    lines: tuple[str, ...] = ()


def of_bodies(where: str, was: bytes, now: bytes, effort: Effort | None = None) -> Iterator[Change]:
    """Yield how two bodies differ; nothing where they are the same. By byte where the effort is spent."""
    if was == now:
        return
    effort = effort or Effort()
    if effort.spent:
        yield _of_bytes(where, was, now)
        return
    effort.left -= len(was) + len(now)
    found = False
    if max(len(was), len(now)) <= MAX_TEXT:
        try:
            values = jsonform.load(was), jsonform.load(now)
        except jsonform.NotJsonError:
            pass
        else:
            for change in _Walk(where, effort).of(*values, []):
                found = True
                yield change
    if not found:
        yield _of_text(where, was, now, effort)


def of_text(where: str, was: str, now: str, effort: Effort | None = None) -> Change:
    """Return how two texts differ: by line where one has several, else around the first place."""
    one, other = was.split("\n"), now.split("\n")
    if len(one) == 1 and len(other) == 1:
        at = len(_shared(was, now))
        return Change(where, f"differs at character {at}", (_excerpt("-", was, at), _excerpt("+", now, at)))
    return Change(where, "differs", _bounded(_unified(one, other, effort or Effort())))


def _of_text(where: str, was: bytes, now: bytes, effort: Effort) -> Change:
    if max(len(was), len(now)) <= MAX_TEXT and b"\0" not in was and b"\0" not in now:
        try:
            return of_text(where, was.decode(), now.decode(), effort)
        except UnicodeDecodeError:
            pass
    return _of_bytes(where, was, now)


def _of_bytes(where: str, was: bytes, now: bytes) -> Change:
    at = common(was, now)
    sides = (
        f"{mark}{visible_bytes(side[at : at + EXCERPT // 2])}" for mark, side in (("-", was), ("+", now))
    )
    return Change(where, f"differs at byte {at} (of {len(was)}, and of {len(now)})", tuple(sides))


def _shared(was: str, now: str) -> str:
    size = common(was.encode("utf-8", "surrogatepass"), now.encode("utf-8", "surrogatepass"))
    return was.encode("utf-8", "surrogatepass")[:size].decode("utf-8", "ignore")


def _excerpt(mark: str, text: str, at: int) -> str:
    start = max(0, at - BEFORE)
    end = start + EXCERPT
    return f"{mark}{'...' * (start > 0)}{visible(text[start:end])}{'...' * (end < len(text))}"


def _unified(one: list[str], other: list[str], effort: Effort) -> Iterator[str]:
    shown = 0
    for left, right in gaps(matched(one, other, effort), len(one), len(other)):
        begin = max(shown, left.start - AROUND)
        if begin > shown or not shown:
            yield f"@@ line {begin + 1}"
        yield from (f" {_excerpt('', line, 0)}" for line in one[begin : left.start])
        yield from _replaced([one[at] for at in left], [other[at] for at in right])
        shown = min(len(one), left.stop + AROUND)
        yield from (f" {_excerpt('', line, 0)}" for line in one[left.stop : shown])


def _replaced(was: list[str], now: list[str]) -> Iterator[str]:
    """Yield lines that stand for others; a long one from where it differs on."""
    places = [len(_shared(one, other)) for one, other in zip(was, now, strict=False)]
    for mark, lines in (("-", was), ("+", now)):
        for number, line in enumerate(lines):
            yield _excerpt(mark, line, places[number] if number < len(places) else 0)


def _bounded(lines: Iterator[str]) -> tuple[str, ...]:
    kept: list[str] = []
    more = 0
    for line in lines:
        if len(kept) < MAX_LINES:
            kept.append(line)
        else:
            more += 1
    return (*kept, f"@@ and {more} more lines") if more else tuple(kept)


class _Walk:
    """One comparison of two JSON values."""

    def __init__(self, where: str, effort: Effort) -> None:
        self._where = where
        self._effort = effort
        self._left = MAX_SPELLED

    def of(self, was: Any, now: Any, at: list[Step]) -> Iterator[Change]:
        if isinstance(was, dict) and isinstance(now, dict):
            yield from self._objects(was, now, at)
        elif isinstance(was, list) and isinstance(now, list):
            yield from self._lists(was, now, at)
        elif isinstance(was, str) and isinstance(now, str):
            if was != now:
                yield of_text(self._path(at), was, now, self._effort)
        elif (one := jsonform.spell(was)) != (other := jsonform.spell(now)):
            yield Change(self._path(at), "differs", (_said("-", one), _said("+", other)))

    def _objects(self, was: dict[str, Any], now: dict[str, Any], at: list[Step]) -> Iterator[Change]:
        for name in dict.fromkeys((*was, *now)):
            if name not in now:
                yield self._lone("-", was[name], [*at, name])
            elif name not in was:
                yield self._lone("+", now[name], [*at, name])
            else:
                yield from self.of(was[name], now[name], [*at, name])

    def _lists(self, was: list[Any], now: list[Any], at: list[Step]) -> Iterator[Change]:
        pairs = self._matched(was, now) if self._left > 0 else []
        for left, right in gaps(pairs, len(was), len(now)):
            both = min(len(left), len(right))
            for x, y in zip(left[:both], right[:both], strict=True):
                yield from self.of(was[x], now[y], [*at, x])
            yield from (self._lone("-", was[x], [*at, x]) for x in left[both:])
            yield from (self._lone("+", now[y], [*at, y]) for y in right[both:])

    def _matched(self, was: list[Any], now: list[Any]) -> Pairs:
        return matched(self._spelled(was), self._spelled(now), self._effort)

    def _spelled(self, items: list[Any]) -> list[bytes]:
        spelled = [jsonform.spell(item) for item in items]
        self._left -= sum(map(len, spelled))
        return spelled

    def _lone(self, mark: str, value: Any, at: list[Step]) -> Change:
        words = "is missing" if mark == "-" else "is new"
        return Change(self._path(at), words, (_said(mark, jsonform.spell(value)),))

    def _path(self, at: list[Step]) -> str:
        return f"{self._where} {written(at)}"


def _said(mark: str, spelled: bytes) -> str:
    return _excerpt(mark, spelled[: 4 * EXCERPT].decode("utf-8", "surrogateescape"), 0)
