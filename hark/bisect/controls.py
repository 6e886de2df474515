"""Controls: as much text as was found, somewhere else in the message, whose removal should change nothing.

What always holds: a control has nothing of what was found, is one stretch, as long where there is one, and is
the same for the same message. Not done here: what it means that one changes the outcome as well.
"""

import random
from collections.abc import Iterable, Iterator
from typing import Final

from hark.bisect.message import Message, Unit
from hark.bisect.units import Level

MOST: Final = 3
"""Several: where two spans are needed together, one control may hit the other one."""
LEAST: Final = 0.5
"""Of what was found: a smaller stretch is no control."""


def controls(
    message: Message, found: Iterable[Unit], finest: Level, seed: bytes
) -> Iterator[tuple[Unit, ...]]:
    """Yield up to `MOST` controls; none where the message has not so much else."""
    gone = message.runs(found)
    size = _size(gone)
    pieces = _pieces(message, finest)
    free = [not any(_overlap(piece, unit) for unit in gone) for piece in pieces]
    starts = [at for at, is_free in enumerate(free) if is_free]
    random.Random(seed).shuffle(starts)  # noqa: S311 (any place will do)
    windows = [(start, _window(pieces, free, start, size)) for start in starts]
    windows.sort(key=lambda one: _size(one[1]) < size)  # the short ones are for want of longer ones
    used: set[int] = set()
    many = 0
    for start, window in windows:
        taken = set(range(start, start + len(window)))
        if _size(window) < size * LEAST or used & taken:
            continue
        yield window
        used |= taken
        many += 1
        if many == MOST:
            return


def _pieces(message: Message, finest: Level) -> list[Unit]:
    pieces = message.units()
    for level in (Level.SENTENCE, Level.WORD):
        if finest in (level, Level.WORD):
            pieces = [piece for unit in pieces for piece in message.cut(unit, level)]
    return pieces


def _window(pieces: list[Unit], free: list[bool], start: int, size: int) -> tuple[Unit, ...]:
    """Return the pieces from one on that are as long together, without one that was found."""
    window: list[Unit] = []
    for piece, is_free in zip(pieces[start:], free[start:], strict=True):
        if not is_free or _size(window) >= size:
            break
        window.append(piece)
    return tuple(window)


def _size(units: Iterable[Unit]) -> int:
    return sum(unit.end - unit.start for unit in units)


def _overlap(one: Unit, other: Unit) -> bool:
    return one.leaf == other.leaf and one.start < other.end and other.start < one.end
