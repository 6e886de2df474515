"""How one JSON value becomes another: steps of a patch, as its file has them.

What always holds: made in their order on the first value they give the second; two numbers are one if they
are spelled alike (RFC 8785), and true is no number. A text that is replaced in place may stand elsewhere too:
whoever takes such steps makes and compares them first.
"""

from collections.abc import Iterator
from typing import Any, Final

from hark.patch import jsontext, pointer
from hark.patch.hunks import Spread, hunks
from hark.replay import jsonform

LONG: Final = 120  # characters; of a longer text a part is replaced, where that is shorter

type Step = dict[str, Any]


def steps(old: Any, new: Any) -> Iterator[list[Step]]:
    """Yield ways from one value to the other: texts replaced, with ever more around them, and set whole."""
    for spread in (Spread.BARE, Spread.WORDS, Spread.LINES):
        yield list(_steps(old, new, (), spread))
    yield list(_steps(old, new, (), None))


def _steps(old: Any, new: Any, path: jsontext.Path, spread: Spread | None) -> Iterator[Step]:
    if jsonform.spell(old) == jsonform.spell(new):
        return
    match old, new:
        case dict(), dict():
            yield from _of_objects(old, new, path, spread)
        case list(), list():
            yield from _of_lists(old, new, path, spread)
        case str(), str() if spread is not None and len(old) > LONG:
            yield from ({"replace": one.old, "with": one.new} for one in hunks(old, new, spread))
        case _:
            yield _set(path, new)


def _of_objects(
    old: dict[str, Any], new: dict[str, Any], path: jsontext.Path, spread: Spread | None
) -> Iterator[Step]:
    for name in old:
        if name not in new:
            yield {"remove": pointer.written((*path, name))}
    for name, value in new.items():
        if name in old:
            yield from _steps(old[name], value, (*path, name), spread)
        else:
            yield _set((*path, name), value)


def _of_lists(old: list[Any], new: list[Any], path: jsontext.Path, spread: Spread | None) -> Iterator[Step]:
    """Yield steps by item; what was taken out goes from the end, and what came in amidst is set whole."""
    begin, end = _shared(old, new)
    was, now = old[begin : len(old) - end], new[begin : len(new) - end]
    if len(now) > len(was) and end:
        yield _set(path, new)
        return
    for number, (one, other) in enumerate(zip(was, now, strict=False), begin):
        yield from _steps(one, other, (*path, number), spread)
    for number in reversed(range(begin + len(now), begin + len(was))):
        yield {"remove": pointer.written((*path, number))}
    for item in now[len(was) :]:
        yield _set((*path, pointer.END), item)


def _shared(old: list[Any], new: list[Any]) -> tuple[int, int]:
    """Return how many items both lists begin, and then end, with."""
    was, now = list(map(jsonform.spell, old)), list(map(jsonform.spell, new))
    short = min(len(was), len(now))
    begin = next((at for at in range(short) if was[at] != now[at]), short)
    end = next((at for at in range(short - begin) if was[-1 - at] != now[-1 - at]), short - begin)
    return begin, end


def _set(path: jsontext.Path, value: Any) -> Step:
    return {"set": pointer.written(path), "value": value}
