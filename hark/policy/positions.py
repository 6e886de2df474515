"""Where each key and list item of a TOML text stands: line and column, by path.

tomllib says where a text is not TOML and nothing about the values of one that is, and the library that keeps
a document's layout (tomlkit) gives no positions either. So this walks a text that tomllib has read already,
takes the grammar for granted and decides nothing: no value comes from here, and a wrong position is all that
a fault could cause. A path that is not found gives its nearest parent's place.
"""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Container
from contextlib import suppress
from typing import Final, NamedTuple

type Path = tuple[str | int, ...]
"""Keys and list indexes from the top: `("allow", 0, "host")`."""

_BLANK: Final = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR: Final = re.compile(r"[^,\]}\n#]+")
_STRING: Final = re.compile(
    r"""
    \"{3} (?: \\. | [^\\] )*? "{3,5}  # as the first: two quotes may stand before the three that end it
    | '{3} .*? '{3,5}
    | " (?: \\. | [^"\\\n] )* "
    | ' [^'\n]* '
    """,
    re.DOTALL | re.VERBOSE,
)


class Place(NamedTuple):
    """Where something stands, both counted from 1, the column in characters."""

    line: int
    column: int


def index(text: str) -> dict[Path, Place]:
    """Return the place of every key and list item of a TOML text."""
    walk, places = _walked(text)
    return {path: places(offset) for path, offset in walk.offsets.items()}


def _walked(text: str) -> "tuple[_Walk, Callable[[int], Place]]":
    text = text.replace("\r\n", "\n")
    walk = _Walk(text)
    # Places found so far are right, and the rest has a parent's. A key that is no string of TOML can stand
    # behind the mistake for which this text is walked.
    with suppress(_LostError, RecursionError, tomllib.TOMLDecodeError):
        walk.document()
    ends = [found.start() for found in re.finditer("\n", text)]
    return walk, lambda offset: _place(ends, offset)


def nearest(places: dict[Path, Place], path: Path) -> Place | None:
    """Return the place of this path, or of what it is in; None where nothing of it is known."""
    while path:
        if path in places:
            return places[path]
        path = path[:-1]
    return None


def twice(text: str) -> tuple[str, Place] | None:
    """Return the words for the first key or table that stands twice, and its second place."""
    walk, places = _walked(text)
    if walk.twice is None:
        return None
    path, first, second = walk.twice
    name = ".".join(str(part) for part in path if isinstance(part, str))
    return f"{name} stands twice, first in line {places(first).line}; make one of the two", places(second)


def place_at(text: str, offset: int) -> Place:
    """Return the place of one character of a text."""
    before = text[:offset].replace("\r\n", "\n")
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))


def _place(ends: list[int], offset: int) -> Place:
    line = bisect_left(ends, offset)
    return Place(line + 1, offset - ends[line - 1] if line else offset + 1)


class _LostError(Exception):
    """The walk met what it takes for impossible in TOML."""


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.offsets: dict[Path, int] = {}
        self.last: dict[Path, int] = {}
        """Of each array of tables, the index of the table that was opened last."""
        self.taken: set[Path] = set()
        """What no header may open any more: tables that one has opened, and what keys have set."""
        self.twice: tuple[Path, int, int] | None = None
        """The first key or table that stands twice, and both places."""

    def document(self) -> None:
        prefix: Path = ()
        while self.peek():
            brackets = 2 if self.text.startswith("[[", self.at) else int(self.text[self.at] == "[")
            if brackets:
                prefix = self.header(brackets)
            else:
                self.pair(prefix)

    def header(self, brackets: int) -> Path:
        self.at += brackets
        path: Path = ()
        names = self.key()
        for number, (name, offset) in enumerate(names, 1):
            path = self.note((*path, name), offset)
            if brackets == 2 and number == len(names):
                self.last[path] = self.last.get(path, -1) + 1
            if path in self.last:
                path = self.note((*path, self.last[path]), offset)
        self.at += brackets
        if brackets == 1:
            self.once(path, self.taken, names[-1][1])
            self.taken.add(path)
        return path

    def pair(self, path: Path) -> None:
        names = self.key()
        full = (*path, *(name for name, _ in names))
        self.once(full, self.offsets, names[-1][1])
        for name, offset in names:
            path = self.note((*path, name), offset)
            self.taken.add(path)
        self.at += 1  # the equals sign
        self.take(_SPACE)
        self.value(path)

    def once(self, path: Path, known: Container[Path], offset: int) -> None:
        if path in known and self.twice is None:
            self.twice = (path, self.offsets[path], offset)

    def key(self) -> list[tuple[str, int]]:
        names: list[tuple[str, int]] = []
        while True:
            self.take(_SPACE)
            start = self.at
            quoted = self.text[start : start + 1] in ('"', "'")
            word = self.take(_STRING if quoted else _BARE)
            names.append((tomllib.loads(f"k = {word}")["k"] if quoted else word, start))
            self.take(_SPACE)
            if self.text[self.at : self.at + 1] != ".":
                return names
            self.at += 1

    def value(self, path: Path) -> None:
        match self.text[self.at : self.at + 1]:
            case "[":
                self.array(path)
            case "{":
                self.inside("}", lambda _: self.pair(path))
            case '"' | "'":
                self.take(_STRING)
            case _:
                self.take(_SCALAR)

    def array(self, path: Path) -> None:
        self.inside("]", lambda number: self.value(self.note((*path, number), self.at)))

    def inside(self, end: str, read: Callable[[int], None]) -> None:
        """Read what stands between a bracket and its end, separated by commas."""
        self.at += 1
        number = 0
        while self.peek() != end:
            read(number)
            number += 1
            if self.peek() == ",":
                self.at += 1
        self.at += 1

    def peek(self) -> str:
        """Skip what has no meaning and return the next character; empty at the end."""
        self.take(_BLANK)
        return self.text[self.at : self.at + 1]

    def take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _LostError
        self.at = found.end()
        return found[0]

    def note(self, path: Path, offset: int) -> Path:
        self.offsets.setdefault(path, offset)
        return path
