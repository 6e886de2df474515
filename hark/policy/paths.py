"""Paths of requests and the patterns over them: one spelling, or a refusal in words.

A path has a spelling that is compared only where every server reads it the same way. What one server resolves
and another takes as it stands (dot segments, empty segments, encoded slashes, backslashes, what is encoded
twice, path parameters on a dot segment) is ambiguous and never compared: what is sent on is the agent's own
spelling, so to resolve it here would be to judge another path than the server's.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_OUTSIDE: Final = re.compile(r"[^\x21-\x7e]")
_ONLY_DOTS: Final = re.compile(r"(?:\.|%20)+(?:;.*|%3B.*)?|(?:;|%3B).*")
"""A segment that is `.` or `..` to a server that drops spaces, further dots or parameters."""
_SEPARATORS: Final = frozenset("/\\.%;?#")


@dataclass(frozen=True, slots=True)
class Spelled:
    """A path in its one spelling, without its query."""

    path: str


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A path that servers read in more than one way. `why` follows "its path"."""

    why: str


def spell(target: str) -> Spelled | Ambiguous:
    """Return the one spelling of the path in a request target in origin form (RFC 9112 3.2.1)."""
    path = target.partition("?")[0]
    if not path.startswith("/"):
        return Ambiguous("does not begin with a slash")
    why = _characters(path)
    if why:
        return Ambiguous(why)
    spelled = _ESCAPE.sub(_unescaped, path)
    first, *segments = spelled[1:].split("/")
    if "" in [first, *segments][:-1]:
        return Ambiguous("has an empty segment (//), which some servers drop")
    if any(_ONLY_DOTS.fullmatch(segment) for segment in (first, *segments)):
        return Ambiguous("has a dot segment, which some servers resolve and others do not")
    return Spelled(spelled)


def wrong_pattern(pattern: str) -> str | None:
    """Say what is wrong with a pattern; None where it can match something."""
    if "?" in pattern or "#" in pattern:
        return "has a query or fragment, and patterns are over the path alone"
    if "***" in pattern:
        return "has three stars in a row; * is any run without a slash, ** any run"
    if not pattern.startswith("/"):
        return f'does not begin with a slash; write "/{_below_host(pattern)}"'
    match spell(pattern):
        case Ambiguous(why):
            return why
        case Spelled():
            return None


def _below_host(pattern: str) -> str:
    """Return what is left of a URL, or of a path that nothing stands before, without its slash."""
    _, is_url, rest = pattern.partition("://")
    return rest.partition("/")[2] if is_url else pattern


def matches(pattern: str, spelled: Spelled) -> bool:
    """Tell whether a pattern matches the whole path.

    `*` is any run without a slash, `**` any run, both also empty.
    Takes time in proportion to the path: all ways to match are followed at once, as bits of one number.
    """
    machine = _machine(pattern)
    states = machine.closed(1)
    for character in spelled.path:
        kept = machine.anything if character == "/" else machine.stars
        states = machine.closed((states & machine.literals.get(character, 0)) << 1 | states & kept)
        if not states:
            return False
    return bool(states & machine.accepting)


@dataclass(frozen=True, slots=True)
class _Machine:
    literals: dict[str, int]
    stars: int
    """States at `*` or `**`."""
    anything: int
    """States at `**`."""
    accepting: int

    def closed(self, states: int) -> int:
        """Add what is reached by an empty run; two stars never follow each other, so once is enough."""
        return states | (states & self.stars) << 1


@lru_cache(maxsize=4096)
def _machine(pattern: str) -> _Machine:
    spelled = spell(pattern)
    if isinstance(spelled, Ambiguous):
        return _Machine({}, 0, 0, 0)  # a policy has no such pattern; whoever builds one allows nothing by it
    literals: dict[str, int] = {}
    stars = anything = 0
    state = 1
    for part in re.findall(r"\*\*|.", spelled.path):
        if part in ("*", "**"):
            stars |= state
            anything |= state if part == "**" else 0
        else:
            literals[part] = literals.get(part, 0) | state
        state <<= 1
    return _Machine(literals, stars, anything, state)


def _unescaped(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def _characters(path: str) -> str | None:
    if "#" in path:
        return "has a fragment, which is never sent"
    if _OUTSIDE.search(path):
        return "has characters that a path must have encoded"
    if "\\" in path:
        return "has a backslash, which some servers read as a slash"
    if "%" in _ESCAPE.sub("", path):
        return "has a percent sign that encodes nothing"
    codes = [int(code, 16) for code in _ESCAPE.findall(path)]
    if 0x2F in codes or 0x5C in codes:
        return "has an encoded slash or backslash, which some servers read as a slash"
    if any(code < 0x20 or code == 0x7F for code in codes):
        return "has an encoded control character"
    return _decoded(path)


def _decoded(path: str) -> str | None:
    raw = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), path)
    if _ESCAPE.search(raw):
        return "is encoded twice, and servers differ in how often they decode"
    try:
        text = raw.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return "has encoded bytes that are not UTF-8"
    looks = (character for character in text if character > "\x7f")
    if any(_SEPARATORS & set(unicodedata.normalize("NFKC", character)) for character in looks):
        return "has a character that some servers turn into a slash or dot"
    return None
