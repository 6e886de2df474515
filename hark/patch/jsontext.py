r"""JSON as it is written: where each value stands in a text, so that one can be changed and the rest kept.

What always holds: the text was read by `hark.replay.jsonform` before, which refuses what readers may take in
two ways; so its grammar, its depth and its UTF-8 are taken for granted here, and nothing is decided. What
stands outside of an edit keeps its spelling: `1.0`, `\u00fc`, spaces and the order of members.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from hark.patch.edits import Edit
from hark.replay import jsonform

type Path = tuple[str | int, ...]

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^ \t\r\n{}\[\],:"]++', re.DOTALL)
_PIECE: Final = re.compile(
    rb"[^\\]++|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.",
    re.DOTALL,
)
_OPENS: Final = re.compile(rb"[ \t\r\n]*[\[{]")
_OPENING, _CLOSING = frozenset(b"{["), frozenset(b"}]")


class Node(NamedTuple):
    """A value: its path, where its member or item begins, and where the value itself begins and ends."""

    path: Path
    begin: int
    start: int
    end: int


class _Open(NamedTuple):
    begin: int
    start: int
    is_object: bool


def load(text: bytes) -> Any:
    """Return the value of a text, or None where it is no JSON object or list, or not of one meaning."""
    if not _OPENS.match(text) or len(text) > MAX_JSON:
        return None
    try:
        return jsonform.load(text)
    except jsonform.NotJsonError:
        return None


MAX_JSON: Final = 16 << 20  # bytes; a longer text is patched as text


def nodes(text: bytes) -> Iterator[Node]:
    """Yield all values of a text; a list or object comes behind what is in it."""
    opened: list[_Open] = []
    path: list[str | int] = []
    key_at: int | None = None
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        first = text[start]
        begin = start if key_at is None else key_at
        in_object = bool(opened) and opened[-1].is_object
        if first in _OPENING:
            opened.append(_Open(begin, start, first == ord("{")))
            path.append("" if first == ord("{") else 0)
            key_at = None
        elif first in _CLOSING:
            container = opened.pop()
            path.pop()
            yield Node(tuple(path), container.begin, container.start, end)
        elif first == ord(","):
            if not in_object:
                path[-1] = _next(path[-1])
        elif first == ord('"') and in_object and key_at is None:
            path[-1], key_at = decoded(text[start:end]).decode("utf-8", "surrogatepass"), start
        elif first != ord(":"):
            yield Node(tuple(path), begin, start, end)
            key_at = None


def strings(text: bytes) -> Iterator[Node]:
    """Yield the values of a text that are strings, in their order; names of members are none."""
    return (node for node in nodes(text) if text[node.start] == ord('"'))


def indented(text: bytes) -> bytes:
    """Return the same JSON with a line for each member and item, every string and number as it is written."""
    pieces: list[bytes] = []
    depth, before = 0, 0
    for token in _TOKEN.finditer(text):
        first = token[0][0]
        if first in _CLOSING:
            depth -= 1
        if before not in _OPENING if first in _CLOSING else before in b"{[,":
            pieces.append(b"\n" + b"  " * depth)
        if first in _OPENING:
            depth += 1
        pieces.append(b": " if first == ord(":") else token[0])
        before = first
    return b"".join(pieces)


def decoded(literal: bytes) -> bytes:
    """Return what a string says, in UTF-8; a lone surrogate as its three bytes."""
    if b"\\" not in literal:
        return literal[1:-1]
    value: str = json.loads(literal)
    return value.encode("utf-8", "surrogatepass")


def quoted(text: bytes) -> bytes:
    """Return a text as it stands between the quotes of a string."""
    return json.dumps(text.decode("utf-8", "surrogatepass"), ensure_ascii=False)[1:-1].encode(
        "utf-8", "surrogatepass"
    )


class Literal:
    """One string as it is written, and edits of what it says as edits of that."""

    def __init__(self, literal: bytes) -> None:
        self.text = decoded(literal)
        self._escaped = literal if b"\\" in literal else b""
        self._says: list[int] = []
        self._stands: list[int] = []
        self._verbatim: list[bool] = []

    def raw(self, edit: Edit) -> Edit:
        """Return an edit of `text` as one of the literal, quotes counted."""
        return Edit(self._at(edit.start), self._at(edit.end), quoted(edit.new))

    def _at(self, place: int) -> int:
        if not self._escaped:
            return place + 1
        if not self._says:
            self._survey(self._escaped)
        piece = bisect_right(self._says, place) - 1
        inside = place - self._says[piece] if self._verbatim[piece] else 0
        return self._stands[piece] + inside

    def _survey(self, literal: bytes) -> None:
        """Note where each piece stands, and of what it says: plain characters, or one escape."""
        says = 0
        for piece in _PIECE.finditer(literal, 1, len(literal) - 1):
            plain = literal[piece.start()] != ord("\\")
            self._says.append(says)
            self._stands.append(piece.start())
            self._verbatim.append(plain)
            says += len(piece[0]) if plain else _size(piece[0])
        self._says.append(says)
        self._stands.append(len(literal) - 1)
        self._verbatim.append(True)


def _size(escape: bytes) -> int:
    """Return how many bytes of UTF-8 an escape stands for."""
    if len(escape) == 2:
        return 1
    return 4 if len(escape) == 12 else len(chr(int(escape[-4:], 16)).encode("utf-8", "surrogatepass"))


def _next(step: str | int) -> int:
    return step + 1 if isinstance(step, int) else 0
