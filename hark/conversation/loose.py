"""JSON that strangers wrote, read without trust: any bytes give a value, and any value gives texts and lists.

What always holds: nothing here raises; what is not of the wanted type reads as empty. A text may hold lone
surrogates, as JSON may: whoever writes it anywhere has to mean it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

MAX_DEPTH: Final = 100  # what people send nests some ten deep
MAX_QUICK: Final = 1 << 16  # bytes; of longer ones nearly all have many brackets
_NONE: Final[Mapping[str, Any]] = {}


def load(data: bytes | str) -> Any:
    """Return the value; None where there is none that can be read."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        return None
    return value if _has_few_brackets(data) or _shallow(value) else None


def dump(value: Any) -> str:
    """Return a value that `load` returned as JSON in one line, characters as themselves."""
    return json.dumps(value, ensure_ascii=False)


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, an empty one where it is none."""
    return value if isinstance(value, dict) else _NONE


def at(value: Any, *steps: str) -> Any:
    """Return what stands at these members, None where one is missing."""
    for step in steps:
        value = mapping(value).get(step)
    return value


def items(value: Any) -> Sequence[Any]:
    """Return a list, an empty one where it is none."""
    return value if isinstance(value, list) else ()


def objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a list's objects."""
    return (item for item in items(value) if isinstance(item, dict))


def text(value: Any) -> str:
    """Return a text, an empty one where it is none."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """Return a count. True is none."""
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _has_few_brackets(data: bytes | str) -> bool:
    """Tell whether a value cannot nest deeper than `MAX_DEPTH`, which is quick to see of most."""
    brackets: tuple[Any, Any] = (b"[", b"{") if isinstance(data, bytes) else ("[", "{")
    return len(data) < MAX_QUICK and sum(map(data.count, brackets)) < MAX_DEPTH


def _shallow(value: Any) -> bool:
    """Tell whether a value nests no deeper than `MAX_DEPTH`, without nesting calls."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level if isinstance(one, dict | list) for inner in _inside(one)]
        if not level:
            return True
    return False


def _inside(value: Any) -> Iterator[Any]:
    inner = value.values() if isinstance(value, dict) else value
    return (one for one in inner if isinstance(one, dict | list))
