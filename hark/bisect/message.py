"""A recorded message as texts that can be shortened: units with exact offsets, and the body without some.

What always holds: a body without units is as well formed as it was: JSON stays JSON, also within its strings,
and a stream of events has as many events. Texts that say the same are one (a stream says at its end again
what it has sent in pieces), and are shortened together. What an API calls things by is no text here.

Not done here: the patch that a fork is given (`hark.bisect.removal`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hark.bisect.units import Level, Span, cut, is_markup
from hark.bundle.fields import Pairs
from hark.errors import PatchError
from hark.patch import bodies, fields, jsontext, texts
from hark.patch.apply import Sent
from hark.patch.edits import Edit, edited
from hark.patch.events import Event
from hark.patch.where import Side
from hark.replay.pieces import Data, End, Head, Part

type Home = Callable[[Edit], list[Edit]]
"""Makes of an edit of a text the edits of the body."""

MAX_MESSAGE: Final = 4 << 20  # bytes of a body: nobody waits for the forks that a longer one takes
_SURROGATES: Final = "surrogatepass"  # JSON may say halves of one


class Unit(NamedTuple):
    """A piece of a text, by characters."""

    leaf: int
    start: int
    end: int


class Place(NamedTuple):
    """Where a text stands: in words, and for programs."""

    words: str
    pointer: str | None = None
    event: int | None = None
    """Of a stream of events, from 0."""


@dataclass(slots=True)
class Leaf:
    """One text, and everywhere that it stands."""

    text: str
    codec: str
    places: list[Place] = field(default_factory=list)
    homes: list[Home] = field(default_factory=list)

    def bytes_of(self, start: int, end: int) -> Span:
        """Return a span of characters as one of the text's bytes."""
        begin = len(self._encoded(self.text[:start]))
        return begin, begin + len(self._encoded(self.text[start:end]))

    def without(self, spans: Iterable[Span]) -> Iterator[Edit]:
        """Yield the edits of the body that take spans out of the text, wherever it stands."""
        for start, end in spans:
            edit = Edit(*self.bytes_of(start, end), b"")
            for home in self.homes:
                yield from home(edit)

    def _encoded(self, text: str) -> bytes:
        return text.encode(self.codec, _SURROGATES if self.codec == "utf-8" else "strict")


class Message:
    """One message. Its headers are without codings, its body is unpacked."""

    def __init__(self, headers: Pairs, body: bytes, side: Side) -> None:
        self.headers: Final = headers
        self.body: Final = body
        self.side: Final = side
        self.kind: Final = fields.kind(headers)
        self.leaves: Final[list[Leaf]] = []
        self._numbers: dict[tuple[str, str], int] = {}
        for text, codec, place, home in _found(headers, body, self.kind):
            self._add(text, codec, place, home)

    def units(self, *, markup: bool = False) -> list[Unit]:
        """Return the paragraphs of all texts, in order: what is read, or the markup around it as well."""
        whole = (Unit(number, 0, len(leaf.text)) for number, leaf in enumerate(self.leaves))
        pieces = [piece for unit in whole for piece in self.cut(unit, Level.PARAGRAPH)]
        return [piece for piece in pieces if markup or not is_markup(self.text(piece))]

    def cut(self, unit: Unit, level: Level) -> list[Unit]:
        """Return the pieces of a unit."""
        text = self.text(unit)
        return [Unit(unit.leaf, unit.start + begin, unit.start + end) for begin, end in cut(text, level)]

    def text(self, unit: Unit) -> str:
        """Return what a unit says."""
        return self.leaves[unit.leaf].text[unit.start : unit.end]

    def runs(self, units: Iterable[Unit]) -> list[Unit]:
        """Return units with those that touch made one."""
        found: list[Unit] = []
        for unit in sorted(units):
            if found and found[-1].leaf == unit.leaf and found[-1].end >= unit.start:
                found[-1] = Unit(unit.leaf, found[-1].start, max(found[-1].end, unit.end))
            else:
                found.append(unit)
        return found

    def without(self, units: Iterable[Unit]) -> bytes:
        """Return the body without units."""
        spans: dict[int, list[Span]] = {}
        for run in self.runs(units):
            spans.setdefault(run.leaf, []).append((run.start, run.end))
        return edited(self.body, [edit for leaf in spans for edit in self.leaves[leaf].without(spans[leaf])])

    def _add(self, text: str, codec: str, place: Place, home: Home) -> None:
        if not text.strip():
            return
        number = self._numbers.setdefault((text, codec), len(self.leaves))
        if number == len(self.leaves):
            self.leaves.append(Leaf(text, codec))
        self.leaves[number].places.append(place)
        self.leaves[number].homes.append(home)


def of_answer(parts: Iterable[Part]) -> Message:
    """Return a recorded answer. Raises PatchError."""
    listed = list(parts)
    head = next((part.piece for part in listed if isinstance(part.piece, Head) and part.piece.status), None)
    if head is None:
        raise PatchError("there is no recorded answer")
    whole = any(isinstance(part.piece, End) for part in listed)
    chunks = [part.piece.data for part in listed if isinstance(part.piece, Data)]
    return _message(head.headers, chunks, Side.RESPONSE, whole=whole)


def of_request(sent: Sent) -> Message:
    """Return a request. Raises PatchError."""
    return _message(sent.headers, [sent.body], Side.REQUEST, whole=True)


def _message(headers: Pairs, chunks: list[bytes], side: Side, *, whole: bool) -> Message:
    body = b"".join(bodies.unpacked(bodies.codings(headers), chunks, whole=whole))
    if len(body) > MAX_MESSAGE:
        raise PatchError(f"the body has {len(body)} bytes, and more than {MAX_MESSAGE} are not searched")
    plain = tuple(one for one in headers if one[0].lower() != b"content-encoding")
    return Message(plain, body, side)


type _Found = tuple[str, str, Place, Home]


def _found(headers: Pairs, data: bytes, kind: str) -> Iterator[_Found]:
    body = texts.Body(data, kind)
    for text in body.texts:
        if not text.of_protocol:
            first = text.pieces[0]
            event = None if first.document.event is None else first.document.event.number
            place = Place(text.where, texts.pointer_of(first), event)
            yield from _nested(text.text, place, text.raw, texts.MAX_NESTED)
    codec = fields.charset(headers)
    for where, written, event_of, is_json in body.as_written():
        if is_json:
            continue
        try:
            decoded = written.decode(codec)
        except UnicodeDecodeError:
            continue  # a picture, or what calls itself a text and is none
        number = None if event_of is None else event_of.number
        yield decoded, codec, Place(where, None, number), _at(event_of, data)


def _at(event: Event | None, data: bytes) -> Home:
    return (lambda edit: [edit]) if event is None else (lambda edit: [event.raw(edit, data)])


def _nested(text: bytes, place: Place, home: Home, depth: int) -> Iterator[_Found]:
    """Yield a text; where it is JSON itself, as a tool's arguments are, the texts in it."""
    if not depth or jsontext.load(text) is None:
        yield text.decode("utf-8", _SURROGATES), "utf-8", place, home
        return
    for node in jsontext.strings(text):
        literal = jsontext.Literal(text[node.start : node.end])
        inner = Place(f"{place.words}, in its JSON", place.pointer, place.event)
        yield from _nested(literal.text, inner, _within(home, literal, node.start), depth - 1)


def _within(home: Home, literal: jsontext.Literal, start: int) -> Home:
    return lambda edit: home(literal.raw(edit).moved(start))
