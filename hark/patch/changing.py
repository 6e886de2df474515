"""Headers and a body while the steps of a patch are made on them, one after another.

What always holds: the body is unpacked when a step asks for its text, and not before; a chunk keeps its place
whatever becomes of its text; a step that changes nothing raises.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, assert_never

from hark.bundle.fields import Pairs
from hark.errors import PatchError
from hark.patch import bodies, fields, nearest, pointer, texts
from hark.patch.edits import Edit, across
from hark.patch.steps import (
    DropChunk,
    Patch,
    RemoveHeader,
    RemoveValue,
    Replace,
    SetBody,
    SetHeader,
    SetStatus,
    SetValue,
    Step,
)

MAX_PLACES: Final = 100_000  # of one text that a step replaces; each has an edit in memory


@dataclass(slots=True)
class Changing:
    """What a patch is made on. `status` is None for a request."""

    headers: Pairs
    chunks: list[bytes]
    whole: bool = True
    status: int | None = None
    notes: list[str] = field(default_factory=list)
    dropped: set[int] = field(default_factory=set)
    changed: bool = False
    """Whether the body is another one."""
    _unpacked: bool = False
    _size: int = 0
    _announced: int | None = None
    _came: int = 0

    def run(self, patch: Patch) -> None:
        """Make all steps. Raises PatchError with the number of the step."""
        for number, step in enumerate(patch.steps, 1):
            try:
                self._make(step)
            except PatchError as error:
                raise PatchError(error.what, error.nearest, number) from None
        if self.changed:
            self._settle()

    @property
    def body(self) -> bytes:
        """Return the body whole."""
        return b"".join(self.chunks)

    def _make(self, step: Step) -> None:
        match step:
            case SetHeader(name, value):
                self.headers = fields.with_header(self.headers, name, value)
            case RemoveHeader(name):
                self.headers = fields.without_header(self.headers, name)
            case SetStatus(status):
                self._set_status(status)
            case DropChunk(chunk):
                self._drop(chunk)
            case SetBody(text):
                data = self._encoded(text)
                self._unpack(text=False)
                self.chunks = [data if not number else b"" for number in range(max(len(self.chunks), 1))]
                self.changed = True
            case Replace():
                self._edit(self._replacing(step))
            case SetValue(steps, value, event):
                self._edit([self._at(event, lambda one: pointer.setting(one.text, one.value, steps, value))])
            case RemoveValue(steps, event):
                self._edit([self._at(event, lambda one: pointer.removing(one.text, one.value, steps))])
            case _:
                assert_never(step)

    def _edit(self, edits: list[Edit]) -> None:
        size = sum(map(len, self.chunks)) + sum(len(one.new) - (one.end - one.start) for one in edits)
        if size > bodies.MAX_TEXT:  # steps that double a text are few words
            raise PatchError(
                f"it makes a body of {size:,} bytes, and hark makes none beyond {bodies.MAX_TEXT:,}"
            )
        self.chunks = across(self.chunks, edits)
        self.changed = True

    def _replacing(self, step: Replace) -> list[Edit]:
        old, new = self._encoded(step.old), self._encoded(step.new)
        body = self._read()
        try:
            found = texts.replacements(body, old, new)
        except texts.NotJsonAfterwards as error:
            raise PatchError(
                f"replacing {nearest.quoted(step.old)} in {error} would leave no JSON of it"
            ) from None
        if not found:
            raise self._nowhere(step.old, old, body)
        if len(found) > MAX_PLACES:
            raise PatchError(
                f"{nearest.quoted(step.old)} occurs more than {MAX_PLACES:,} times; patch less of it"
            )
        if step.most is not None and len(found) < step.most:
            raise PatchError(f"{nearest.quoted(step.old)} occurs {_times(len(found))}, not {step.most}")
        return [edit for edits in found[: step.most] for edit in edits]

    def _nowhere(self, wanted: str, old: bytes, body: texts.Body) -> PatchError:
        """Say that a text does not occur, and where it nearly does."""
        names = [text.where for text in body.texts if text.of_protocol and old in text.text]
        if names:
            where = f"{nearest.quoted(wanted)} occurs in no text: in {names[0]} it says what something is"
            return PatchError(f'{where}; use "set" there, or write it with its quotation marks')
        return PatchError(f"{nearest.quoted(wanted)} does not occur", nearest.text(old, body.named()))

    def _at(self, event: int | None, edit: "Callable[[texts.Document], Edit]") -> Edit:
        """Return the edit of the one JSON document that a pointer is about."""
        body = self._read()
        if body.is_events:
            return self._in_event(body, event, edit)
        if event is not None:
            raise PatchError("the body is no stream of events (text/event-stream), so it has no event")
        if not body.documents:
            raise PatchError("the body is no JSON object or list, so no pointer leads into it")
        return edit(body.documents[0])

    def _in_event(
        self, body: texts.Body, event: int | None, edit: "Callable[[texts.Document], Edit]"
    ) -> Edit:
        many = len(body.events)
        if event is None:
            raise PatchError(
                f'the body is a stream of {many} events; say which one the pointer is about, with "event": 0'
            )
        if event >= many:
            raise PatchError(f"the body has {many} events, counted from 0; there is no event {event}")
        found = next((one for one in body.documents if one.event is body.events[event]), None)
        if found is None:
            raise PatchError(f"the data of event {event} is no JSON object or list")
        return body.events[event].raw(edit(found), body.data)

    def _set_status(self, status: int) -> None:
        if self.status is None:
            raise PatchError("a request has no status")
        self.status = status

    def _drop(self, chunk: int) -> None:
        if self.status is None:
            raise PatchError("a request is not recorded in chunks")
        if chunk >= len(self.chunks) or chunk in self.dropped:
            many = f"{len(self.chunks)} chunk{'' if len(self.chunks) == 1 else 's'}"
            gone = " any more" if chunk in self.dropped else ""
            raise PatchError(f"the answer has {many}, counted from 0; there is no chunk {chunk}{gone}")
        self._unpack()
        self.dropped.add(chunk)
        self.chunks[chunk] = b""
        self.changed = True

    def _read(self) -> texts.Body:
        self._unpack()
        return texts.Body(self.body, fields.kind(self.headers))

    def _unpack(self, *, text: bool = True) -> None:
        """Undo the codings, the first time; what is put in place of all needs no text of the old body."""
        if self._unpacked:
            return
        self._unpacked = True
        self._announced = fields.length(self.headers)
        self._came = len(self.body)
        if text:
            self.chunks = bodies.unpacked(bodies.codings(self.headers), self.chunks, whole=self.whole)
        self._size = len(self.body)

    def _encoded(self, text: str) -> bytes:
        try:
            return text.encode(fields.charset(self.headers))
        except UnicodeEncodeError:
            raise PatchError(
                f"{nearest.quoted(text)} has a character that the body's charset does not have"
            ) from None

    def _settle(self) -> None:
        """Make the headers true."""
        missing = None
        if not self.whole and self._announced is not None:
            missing = max(self._announced - self._came, 0)
        self.headers, notes = fields.true_of(self.headers, self._size, self.body, missing)
        self.notes += notes


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
