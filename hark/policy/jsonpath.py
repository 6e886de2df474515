"""Paths to values in JSON: `$.messages[*].content`, `$["odd name"]`, read from text and written as text.

A step is a member's name (str), an item's number (int), or `EVERY_ITEM` or `EVERY_MEMBER`. What always
holds: `written(read(text))` reads as the same steps, and a path has at most `MAX_STEPS`. This is the part of
JSONPath (RFC 9535) that names places; filters, slices, unions and `..` are refused, not guessed.
"""

import json
import re
from collections.abc import Sequence
from enum import Enum
from typing import Final

MAX_STEPS: Final = 64
_DOTTED: Final = re.compile(r"\.([^\x00-,.-@[-^`{-\x7f][^\x00-,./:-@[-^`{-\x7f]*)")
"""Letters, `_`, `-` and all beyond ASCII, then digits too; by what is not in it, which compiles at once."""
_NUMBER: Final = re.compile(r"\[(0|[1-9][0-9]{0,8})\]", re.ASCII)
_DOUBLE: Final = re.compile(r'\[("(?:[^"\\\x00-\x1f]|\\.)*")\]')
_SINGLE: Final = re.compile(r"\['([^'\\\x00-\x1f]*)'\]")


class Every(Enum):
    """A step to all items of a list, or to all members of an object."""

    ITEM = "[*]"
    MEMBER = ".*"


EVERY_ITEM: Final = Every.ITEM
EVERY_MEMBER: Final = Every.MEMBER

type Step = str | int | Every
type Steps = tuple[Step, ...]


class PathError(ValueError):
    """The text is no path; the message says why, without its subject."""


def read(text: str) -> Steps:
    """Return the steps of a path. Raises PathError."""
    if not text.startswith("$"):
        raise PathError("does not begin with $, which stands for the body")
    steps: list[Step] = []
    at = 1
    while at < len(text):
        if len(steps) == MAX_STEPS:
            raise PathError(f"has more than {MAX_STEPS} steps")
        step, at = _step(text, at)
        steps.append(step)
    return tuple(steps)


def _step(text: str, at: int) -> tuple[Step, int]:
    for every in Every:
        if text.startswith(every.value, at):
            return every, at + len(every.value)
    if found := _DOTTED.match(text, at):
        return found[1], found.end()
    if found := _NUMBER.match(text, at):
        return int(found[1]), found.end()
    if found := _SINGLE.match(text, at):
        return found[1], found.end()
    if found := _DOUBLE.match(text, at):
        try:
            return str(json.loads(found[1])), found.end()
        except ValueError:
            pass
    raise PathError(f'cannot be read at character {at + 1}; a step is .name, ["any name"], [0], [*] or .*')


def written(steps: Sequence[Step]) -> str:
    """Return the path's text, in printable ASCII."""
    return "$" + "".join(map(_text, steps))


def _text(step: Step) -> str:
    if isinstance(step, Every):
        return step.value
    if isinstance(step, int):
        return f"[{step}]"
    if step.isascii() and _DOTTED.fullmatch(f".{step}"):
        return f".{step}"
    return f"[{json.dumps(step)}]".replace("\x7f", "\\u007f")
