"""A patch file's JSON as nodes that know where they stand: typed reading, one sentence for each mistake.

What always holds: every error begins with the place, line and column counted from 1; nothing is converted on
the way; a key that is not known is an error with the likely one.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from hark.errors import ForkError
from hark.patch import jsontext, nearest
from hark.replay import jsonform
from hark.visible import visible

MAX_PATCH: Final = 8 << 20  # bytes; it stands in one event of the fork's record
_BOM: Final = b"\xef\xbb\xbf"
_STRAY: Final = re.compile(r",\s*[}\]]")


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a patch."""

    source: str
    text: bytes
    value: Any
    path: jsontext.Path = ()

    def fail(self, sentence: str) -> NoReturn:
        """Raise ForkError: the place, then the sentence."""
        found = next((node for node in jsontext.nodes(self.text) if node.path == self.path), None)
        raise ForkError(f"{_place(self.source, self.text, found.begin if found else 0)}: {sentence}")

    @property
    def name(self) -> str:
        """The member's name."""
        return str(self.path[-1]) if self.path else "the patch"

    def members(self, known: Mapping[str, str]) -> "dict[str, Node]":
        """Return an object's members, all known. `known` maps other words to what they likely mean."""
        if not isinstance(self.value, dict):
            self.fail(f"{self._what()} must be an object, written as {{...}}")
        members = {key: self._child(key, value) for key, value in self.value.items()}
        for key, node in members.items():
            if known.get(key) != key:
                near = known.get(key) or next(iter(nearest.names(key, sorted(set(known.values())), 1)), "")
                listed = ", ".join(dict.fromkeys(known.values()))
                meant = f'did you mean "{near}"?' if near else f"known are {listed}"
                node.fail(f'"{visible(key)}" is no key of a patch; {meant}')
        return members

    def items(self) -> "list[Node]":
        """Return a list's items."""
        if not isinstance(self.value, list):
            self.fail(f"{self._what()} must be a list, written as [...]")
        return [self._child(number, value) for number, value in enumerate(self.value)]

    def string(self) -> str:
        """Return a text that UTF-8 can hold."""
        if not isinstance(self.value, str):
            self.fail(f'{self._what()} must be a text, written as "..."')
        if any("\ud800" <= char <= "\udfff" for char in self.value):
            self.fail(f"{self._what()} has half of a surrogate pair in it, which is no character")
        return self.value

    def number(self, least: int, most: int) -> int:
        """Return a whole number."""
        if type(self.value) is not int or not least <= self.value <= most:
            self.fail(f"{self._what()} must be a whole number from {least} to {most}")
        return self.value

    def spelled(self) -> bytes:
        """Return its JSON, in UTF-8."""
        spelled = jsonform.spell(self.value)
        try:
            spelled.decode("utf-8")
        except UnicodeDecodeError:
            self.fail(f"{self._what()} has half of a surrogate pair in it, which is no character")
        return spelled

    def _what(self) -> str:
        return f'"{visible(self.name)}"' if self.path and isinstance(self.path[-1], str) else "this"

    def _child(self, step: str | int, value: Any) -> "Node":
        return Node(self.source, self.text, value, (*self.path, step))


def load(raw: bytes, source: str) -> Node:
    """Read a file's bytes as JSON. Raises ForkError."""
    if len(raw) > MAX_PATCH:
        raise ForkError(f"{source}: is larger than {MAX_PATCH} bytes, which no patch may be")
    text = raw.removeprefix(_BOM)
    try:
        return Node(source, text, jsonform.load(text))
    except jsonform.NotJsonError as error:
        raise _not_json(text, source, str(error)) from None


def _not_json(text: bytes, source: str, words: str) -> ForkError:
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        return ForkError(f"{_place(source, text, error.start)}: is not UTF-8")
    try:
        json.loads(decoded)
    except json.JSONDecodeError as error:
        comma = _comma_too_many(decoded, error.pos)
        place = _place(source, text, len(decoded[: error.pos if comma is None else comma].encode()))
        if comma is not None:
            return ForkError(f"{place}: is not JSON: there is a comma too many")
        return ForkError(f"{place}: is not JSON: {error.msg}{_meant(decoded, error.pos)}")
    except (RecursionError, ValueError) as error:
        return ForkError(f"{source}: is not JSON that can be read: {error}")
    return _of_two_meanings(text, source, words)


def _of_two_meanings(text: bytes, source: str, words: str) -> ForkError:
    """Say where a text that some readers take is refused: a member that stands twice, NaN."""
    seen: set[jsontext.Path] = set()
    for node in jsontext.nodes(text):
        if node.path in seen:
            return ForkError(
                f'{_place(source, text, node.begin)}: "{visible(str(node.path[-1]))}" stands twice; keep one'
            )
        seen.add(node.path)
    return ForkError(f"{source}: is not JSON of one meaning: {words}")


def _comma_too_many(text: str, at: int) -> int | None:
    """Return where a comma before a closing bracket stands. Python 3.13 names that, 3.12 what follows it."""
    before = text[:at].rstrip()
    start = len(before) - 1 if before.endswith(",") else at
    return start if _STRAY.match(text, start) else None


def _meant(text: str, at: int) -> str:
    """Return what is likely wrong there; nothing where nothing is likely."""
    here, before = text[at : at + 1], text[:at].rstrip()[-1:]
    if here == "'" or (before in "{,[:" and here == "'"):
        return '; texts stand in double quotes: "..."'
    if here in ("/", "#"):
        return "; JSON has no comments"
    if not text.strip():
        return "; the file is empty"
    if here in ("\n", "\r", "\t"):
        return r"; a line break in a text is written as \n"
    return ""


def _place(source: str, text: bytes, at: int) -> str:
    before = text[:at].decode("utf-8", "replace")
    return f"{source}:{before.count('\n') + 1}:{len(before) - before.rfind('\n')}"
