"""The texts of a body, as somebody reads them, and edits of such a text as edits of the body's bytes.

What always holds: each byte of a body belongs to one text at most, so edits of two texts never overlap. A
body is read by its type: a stream of events by the data of each, where what a model API sends in pieces is
one text; JSON by its strings; anything else as it is. What is not what its type says is a text as it is.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, NamedTuple

from hark.patch import jsontext, pointer, shapes
from hark.patch.edits import Edit, each, edited
from hark.patch.events import Event, events
from hark.patch.jsontext import Literal
from hark.policy.jsonpath import written

MAX_NESTED: Final = 3  # JSON in a string of JSON: a tool's arguments, and what a tool gave back
_EVENTS: Final = re.compile(r"text/event-stream[ \t]*(?:;.*)?", re.IGNORECASE | re.DOTALL)


class Document(NamedTuple):
    """Some JSON in a body: its text, where that begins, and the event that it is the data of."""

    text: bytes
    value: Any
    event: Event | None

    def raw(self, edit: Edit) -> Edit:
        """Return an edit of the document as one of the body, for what stands in one line."""
        at = self.event.at if self.event is not None else int
        return Edit(at(edit.start), at(edit.end), edit.new)


@dataclass(slots=True)
class Piece:
    """One string of a document that is a text, or a piece of one."""

    document: Document
    node: jsontext.Node
    literal: Literal

    def raw(self, edit: Edit) -> Edit:
        """Return an edit of what the string says as one of the body."""
        return self.document.raw(self.literal.raw(edit).moved(self.node.start))


def pointer_of(piece: Piece) -> str:
    """Return the JSON Pointer to a piece in its document."""
    return pointer.written(piece.node.path)


@dataclass(slots=True)
class Text:
    """One text: where it is, in words, and its pieces in order."""

    where: str
    pieces: list[Piece] = field(default_factory=list)
    joined: bool = False
    """Whether it is put together from what a model API sends in pieces."""
    of_protocol: bool = False
    """Whether it says what something is, in a document of a model API."""
    _ends: list[int] = field(default_factory=list)

    @property
    def text(self) -> bytes:
        """Return it whole."""
        return b"".join(piece.literal.text for piece in self.pieces)

    def raw(self, edit: Edit) -> list[Edit]:
        """Return an edit of it as edits of the body: what is new goes to the piece in which it begins."""
        ends = self._piece_ends()
        first = min(bisect_right(ends, edit.start), len(ends) - 1)
        found: list[Edit] = []
        for number in range(first, len(ends)):
            begin = ends[number - 1] if number else 0
            if number > first and edit.end <= begin:
                break
            inside = Edit(
                max(edit.start - begin, 0),
                min(edit.end, ends[number]) - begin,
                edit.new if number == first else b"",
            )
            found.append(self.pieces[number].raw(inside))
        return found

    def _piece_ends(self) -> list[int]:
        """Return where in the text each piece ends."""
        if len(self._ends) != len(self.pieces):
            self._ends = list(accumulate(len(piece.literal.text) for piece in self.pieces))
        return self._ends


class Body:
    """A body that is read by its type, once."""

    def __init__(self, data: bytes, kind: str) -> None:
        self.data = data
        self.is_events = bool(_EVENTS.fullmatch(kind.strip()))
        self.events = list(events(data)) if self.is_events else []
        self.documents: list[Document] = []
        for event in self.events:
            value = jsontext.load(event.data)
            if value is not None:
                self.documents.append(Document(event.data, value, event))
        if not self.is_events:
            value = jsontext.load(data)
            if value is not None:
                self.documents.append(Document(data, value, None))

    @cached_property
    def texts(self) -> list[Text]:
        """Return the texts that stand in strings, in the order in which they begin."""
        found: dict[str, Text] = {}
        for document in self.documents:
            of_model_api = shapes.is_of_model_api(document.value)
            for node in jsontext.strings(document.text):
                name = shapes.text_of(document.value, node.path)
                where = name or self._where(document, node)
                text = found.setdefault(where, Text(where, joined=bool(name)))
                text.of_protocol = not name and of_model_api and shapes.is_of_protocol(node.path)
                literal = Literal(document.text[node.start : node.end])
                text.pieces.append(Piece(document, node, literal))
        return list(found.values())

    def _where(self, document: Document, node: jsontext.Node) -> str:
        path = written(node.path)
        return path if document.event is None else f"{path} of event {document.event.number}"

    def named(self) -> Iterator[tuple[str, bytes]]:
        """Yield each text with where it is, and what of the body is none as it is written."""
        for text in self.texts:
            yield text.where, text.text
        for where, written_text, _, is_json in self.as_written():
            if not is_json:
                yield where, written_text

    def as_written(self) -> Iterator[tuple[str, bytes, Event | None, bool]]:
        """Yield what the body is, as it is written: where, the text, its event, and whether it is JSON."""
        if not self.is_events:
            yield "the body", self.data, None, bool(self.documents)
            return
        documents = {document.event.number for document in self.documents if document.event is not None}
        for event in self.events:
            yield f"event {event.number}", event.data, event, event.number in documents


def replacing(text: bytes, old: bytes, new: bytes, depth: int = MAX_NESTED) -> list[Edit]:
    """Return the edits that replace `old` in a text; where it is JSON itself, in its strings first.

    So what is new is spelled as JSON there, and the text stays what it is.
    """
    if depth and jsontext.load(text) is not None:
        found: list[Edit] = []
        for node in jsontext.strings(text):
            literal = Literal(text[node.start : node.end])
            inside = replacing(literal.text, old, new, depth - 1)
            found += [literal.raw(edit).moved(node.start) for edit in inside]
        if found:
            return found
    return each(text, old, new)


def replacements(body: Body, old: bytes, new: bytes) -> list[list[Edit]]:
    """Return how a body is edited for each place where `old` occurs, in their order; none: it does not occur.

    Looked at are texts, then the body as it is written. JSON is looked at as it is written for what has a
    quotation mark in it, so that a word is never a member's name, and must be JSON afterwards.
    """
    texts = (text for text in body.texts if not text.of_protocol)
    found = [text.raw(edit) for text in texts for edit in replacing(text.text, old, new)]
    return sorted(found) or _as_written(body, old, new)


def _as_written(body: Body, old: bytes, new: bytes) -> list[list[Edit]]:
    found: list[list[Edit]] = []
    for where, text, event, is_json in body.as_written():
        edits = each(text, old, new) if not is_json or b'"' in old else []
        if edits and is_json and jsontext.load(edited(text, edits)) is None:
            raise NotJsonAfterwards(where)
        found += [[edit if event is None else event.raw(edit, body.data)] for edit in edits]
    return found


class NotJsonAfterwards(ValueError):  # noqa: N818  # reads as what it says of the body
    """What would come of it is no JSON any more; the text says which part of the body."""
