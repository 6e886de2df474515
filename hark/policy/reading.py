"""A policy's TOML as nodes that know where they stand: typed reading, one sentence for each mistake.

Every value is taken through a `Node`, so an error always names file, line, column and key. Nothing is
converted on the way: a number is no string, and a truth value is no number.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NoReturn, Self

from hark.errors import PolicyError
from hark.policy.mistakes import MistakeError, bound, decoded, of_error
from hark.policy.positions import Path, Place, index, nearest

MAX_POLICY: Final = 1 << 20  # one event records the file whole, and nobody reviews a larger one
ABOVE: Final = ("allow_hosts", "read_paths", "write_paths", "exec")
"""Keys of a policy that are no tables, and so stand above all of them."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOWHERE: Final = re.compile(r"\A(?:\$(?:HOME|\{HOME\})/+|(?:\.{1,2}(?:/+|\Z))+)")
"""How people begin a path that is relative to something."""
_NAMES: Final = {str: "a string", int: "a whole number", bool: "true or false"}
_EXAMPLES: Final = {str: '"..."', int: "10", bool: "true"}


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a policy file. Every method that reads raises PolicyError where the value is another."""

    source: str
    text: str
    value: object
    path: Path = ()

    @property
    def name(self) -> str:
        """The key as its author would say it: `secrets.API_KEY.hosts`, without list indexes."""
        return ".".join(part for part in self.path if isinstance(part, str))

    def place(self) -> Place | None:
        """Where the key or list item begins; None for the file as a whole."""
        return nearest(index(self.text), self.path)

    def fail(self, sentence: str) -> NoReturn:
        """Raise PolicyError: the place, then the sentence."""
        place = self.place()
        where = f"{self.source}:{place.line}:{place.column}" if place else self.source
        raise PolicyError(f"{where}: {sentence}")

    def string(self) -> str:
        """Return a string without NUL, which no host, path or variable can hold."""
        text = self._typed(str)
        if "\0" in text:
            self.fail(f"{self.name} has a NUL character in it")
        return text

    def number(self) -> int:
        """Return a whole number."""
        return self._typed(int)

    def truth(self) -> bool:
        """Return true or false."""
        return self._typed(bool)

    def items(self) -> "list[Node]":
        """Return a list's items."""
        if not isinstance(self.value, list):
            self.fail(f'{self.name} must be a list, written as {self.name} = ["..."]')
        return [self._child(number, item) for number, item in enumerate(self.value)]

    def strings(self) -> "list[Node]":
        """Return the items of a list of strings, still as nodes."""
        if not isinstance(self.value, list) or not all(isinstance(item, str) for item in self.value):
            self.fail(f'{self.name} must be a list of strings, written as {self.name} = ["..."]')
        return self.items()

    def each[T](self, read: "Callable[[Node], T]", *, some: str = "") -> tuple[T, ...]:
        """Read a list of strings in which nothing stands twice. `some` says why it must not be empty."""
        found: dict[T, None] = {}
        for item in self.strings():
            value = read(item)
            if value in found:
                item.fail(f"{self.name} names {value} twice; remove one")
            found[value] = None
        if some and not found:
            self.fail(f"{self.name} is empty: {some}")
        return tuple(found)

    def entries(self) -> "Iterator[tuple[str, Node]]":
        """Return the entries of a table whose keys are the author's own names."""
        if not isinstance(self.value, dict):
            self.fail(f"{self.name} must be a table, written as [{self.name}]")
        return ((key, self._child(key, item)) for key, item in self.value.items())

    def tables(self) -> "list[Node]":
        """Return the tables of `[[name]]`."""
        if not isinstance(self.value, list) or not all(isinstance(item, dict) for item in self.value):
            self.fail(f"{self.name} must be tables, each written as [[{self.name}]]")
        return self.items()

    def table(self, *known: str) -> "dict[str, Node]":
        """Return a table that has no other keys than these."""
        table = dict(self.entries())
        for key, node in table.items():
            if key not in known:
                node.fail(f"{node.name} is not a key of a policy{self._meant(key, known)}")
        return table

    def choice(self, *known: str) -> str:
        """Return one of these strings."""
        text = self.string()
        if text not in known:
            meant = " or ".join(f'"{word}"' for word in known)
            from difflib import get_close_matches  # a policy with a mistake in it is rare

            near = get_close_matches(text, known, 1)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            self.fail(f'{self.name} is {meant}, not "{text}"{hint}')
        return text

    def required(self, table: "dict[str, Node]", key: str, example: str) -> "Node":
        """Return a key that this table must have."""
        if key not in table:
            self.fail(f"{self.name} has no {key}; add {key} = {example}")
        return table[key]

    def _typed[T: (str, int, bool)](self, kind: type[T]) -> T:
        if type(self.value) is not kind:  # not isinstance: True is an int to Python and none to a reader
            example = self.value if kind is int and _is_number(self.value) else _EXAMPLES[kind]
            self.fail(f"{self.name} must be {_NAMES[kind]}, written as {self.name} = {example}")
        return self.value

    def _meant(self, key: str, known: tuple[str, ...]) -> str:
        if self.path and key in ABOVE:
            return (
                f": in TOML it belongs to [{self.name}], which it stands behind; "
                f"put {key} above the first [table] of the file"
            )
        from difflib import get_close_matches

        near = get_close_matches(key, known, 1)
        if not near:
            return f"; known are {', '.join(known)}"
        return f"; did you mean {'.'.join(filter(None, (self.name, near[0])))}?"

    def _child(self, key: str | int, value: object) -> Self:
        return type(self)(self.source, self.text, value, (*self.path, key))


def _is_number(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"[0-9]{1,9}", value))


def load(raw: bytes, source: str) -> Node:
    """Read a file's bytes as TOML. Raises PolicyError."""
    if len(raw) > MAX_POLICY:
        raise PolicyError(
            f"{source}: is larger than {MAX_POLICY} bytes; a policy names hosts, it does not hold data"
        )
    text = ""
    try:
        text = decoded(raw)
        bound(text)
        return Node(source, text, tomllib.loads(text))
    except MistakeError as error:
        raise PolicyError(f"{source}:{error.place.line}:{error.place.column}: {error.words}") from None
    except tomllib.TOMLDecodeError as error:
        words, place = of_error(error, text)
        raise PolicyError(f"{source}:{place.line}:{place.column}: is not TOML: {words}") from None
    except (RecursionError, ValueError) as error:  # ValueError: a number of more digits than Python reads
        raise PolicyError(f"{source}: is not TOML that can be read: {error}") from None


def variable(node: Node, name: str | None = None) -> str:
    """Read the name of an environment variable: the node's own text, or `name` where a key is one."""
    text = node.string() if name is None else name
    if not _VARIABLE.fullmatch(text):
        node.fail(f'"{text}" is not the name of an environment variable')
    return text


def path(node: Node) -> str:
    """Read a path of the host: absolute or below the caller's home."""
    text = node.string()
    if not (text.startswith(("/", "~/")) or text == "~"):
        below = _NOWHERE.sub("", text)
        hint = f'write "~/{below}" for one in your home directory, or the whole path from /'
        if text.startswith("~"):
            hint = "write the whole path of that user's home directory"
        elif not below:
            hint = "the project itself needs no grant"
        node.fail(f'path "{text}" must begin with / or ~/; {hint}')
    return text


def inside(node: Node) -> str:
    """Read a path inside the project."""
    text = node.string()
    parts = text.split("/")
    if text.startswith(("/", "~")) or ".." in parts or "" in parts:
        node.fail(f'project path "{text}" must be relative to the project and stay inside it')
    return text


def assignments(node: Node) -> dict[str, str]:
    """Read a table of variables and their values."""
    return {variable(value, name): value.string() for name, value in node.entries()}
