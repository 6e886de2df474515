"""`--edit`: what an editor shows of an answer or a request, and the patch that leads to what it left.

What always holds: a patch from here, made on what was shown, gives what was left, as far as it was shown: it
is made, and compared, before it is returned. JSON is shown indented and compared by value; a stream of a
model API as its texts put together; anything else as it is. Not done here: the editor itself.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hark.bundle.fields import Pairs
from hark.errors import ForkError, PatchError
from hark.patch import bodies, fields, jsontext, reading, texts, valuediff
from hark.patch.apply import Sent
from hark.patch.changing import Changing
from hark.patch.hunks import Spread, hunks
from hark.patch.model import MAX_STEPS, parse_patch
from hark.patch.steps import Patch
from hark.patch.where import Side
from hark.replay import jsonform
from hark.replay.pieces import Data, End, Head, Part

BAR: Final = "-----"
_END: Final = "\n"
"""Behind each text that is shown: editors put one there, and it is taken off again."""

type Steps = list[dict[str, Any]]
"""Steps as a patch file has them."""


@dataclass(frozen=True)
class Section:
    """One text of a stream, as it is shown."""

    where: str
    text: str


@dataclass(frozen=True)
class Shown:
    """What is edited: its headers without codings, its text in bytes, and what the editor is given."""

    headers: Pairs
    body: bytes
    side: Side
    text: str
    sections: tuple[Section, ...] = ()
    """Of a stream; none where it is shown as it is."""
    is_json: bool = False


def of_answer(parts: Sequence[Part]) -> Shown:
    """Return what is shown of a recorded answer. Raises PatchError."""
    head = next((part.piece for part in parts if isinstance(part.piece, Head) and part.piece.status), None)
    if head is None:
        raise PatchError("there is no recorded answer to be edited")
    whole = any(isinstance(part.piece, End) for part in parts)
    chunks = [part.piece.data for part in parts if isinstance(part.piece, Data)]
    return _shown(head.headers, chunks, Side.RESPONSE, whole=whole)


def of_request(sent: Sent) -> Shown:
    """Return what is shown of a request. Raises PatchError."""
    return _shown(sent.headers, [sent.body], Side.REQUEST, whole=True)


def of_message(data: bytes, side: Side) -> Shown:
    """Return what is shown of a message of a conversation. Raises PatchError."""
    return _shown((), [data], side, whole=True)


def patch_of(shown: Shown, left: str, note: str = "") -> bytes:
    """Return the patch file that leads from what was shown to what the editor left. Raises ForkError."""
    if left == shown.text or (not left.endswith(_END) and left + _END == shown.text):
        raise ForkError("nothing was changed, so there is no patch")
    for steps in _candidates(shown, left):
        if not 0 < len(steps) <= MAX_STEPS:
            continue
        patch = _file(steps, shown.side, note)
        made = _made(shown, parse_patch(patch))
        if made is not None and _is(made, shown, left):
            return patch
    raise ForkError("what was changed cannot be said in a patch; write one by hand (docs/patch.md)")


def _shown(headers: Pairs, chunks: Sequence[bytes], side: Side, *, whole: bool) -> Shown:
    body = b"".join(bodies.unpacked(bodies.codings(headers), chunks, whole=whole))
    plain = tuple(field for field in headers if field[0].lower() != b"content-encoding")
    read = texts.Body(body, fields.kind(plain))
    if read.is_events and (sections := _sections(read)):
        return Shown(plain, body, side, _in_sections(sections), sections)
    if not read.is_events and read.documents:
        return Shown(plain, body, side, jsontext.indented(body).decode() + _END, is_json=True)
    try:
        return Shown(plain, body, side, body.decode(fields.charset(plain)) + _END)
    except UnicodeDecodeError:
        raise PatchError("the body is no text, so an editor cannot show it") from None


def _sections(body: texts.Body) -> tuple[Section, ...]:
    """Return the texts that are put together from pieces, those that have characters in them."""
    found = []
    for text in body.texts:
        whole = text.text.decode("utf-8", "replace")
        if text.joined and whole and whole.encode() == text.text:
            found.append(Section(text.where, whole))
    return tuple(found)


def _in_sections(sections: Sequence[Section]) -> str:
    if len(sections) == 1:
        return sections[0].text + _END
    bar = _bar(sections)
    return "".join(f"{bar} {section.where} {bar}\n{section.text}{_END}" for section in sections)


def _bar(sections: Sequence[Section]) -> str:
    """Return what begins a section's first line, and no line of any text."""
    bar = BAR
    while any(re.search(rf"^{bar}", section.text, re.MULTILINE) for section in sections):
        bar += "-"
    return bar


def _left(shown: Shown, left: str) -> list[str]:
    """Return what the editor left of each section. Raises ForkError."""
    if len(shown.sections) == 1:
        return [left.removesuffix(_END)]
    bar = re.escape(_bar(shown.sections))
    begun, *rest = re.split(rf"^({bar} .* {bar})[ \t]*\n", left, flags=re.MULTILINE)
    heads = [f"{_bar(shown.sections)} {section.where} {_bar(shown.sections)}" for section in shown.sections]
    if begun.strip() or rest[::2] != heads:
        raise ForkError(
            f"the lines between the texts were changed; leave them as they are: {', '.join(heads)}"
        )
    return [text.removesuffix(_END) for text in rest[1::2]]


def _candidates(shown: Shown, left: str) -> Iterator[Steps]:
    """Yield steps that may lead to what was left, the smallest first."""
    if shown.is_json:
        old, new = jsontext.load(shown.body), reading.load(left.encode(), "what the editor left").value
        if jsonform.spell(old) == jsonform.spell(new):
            raise ForkError("nothing was changed but spaces and spelling, so there is no patch")
        yield from valuediff.steps(old, new)
        yield [{"set": "", "value": new}]
    elif shown.sections:
        wanted = _left(shown, left)
        yield from _of_stream(shown, wanted)
    else:
        text = left.removesuffix(_END)
        old = shown.text.removesuffix(_END)
        for spread in Spread:
            yield [{"replace": one.old, "with": one.new} for one in hunks(old, text, spread)]
        yield [{"body": text}]


def _of_stream(shown: Shown, wanted: Sequence[str]) -> Iterator[Steps]:
    pairs = [
        (section, new) for section, new in zip(shown.sections, wanted, strict=True) if section.text != new
    ]
    for spread in Spread:
        yield [
            {"replace": one.old, "with": one.new}
            for section, new in pairs
            for one in hunks(section.text, new, spread)
        ]
    body = texts.Body(shown.body, fields.kind(shown.headers))
    pieces = {text.where: text.pieces for text in body.texts}
    yield [step for section, new in pairs for step in _by_event(pieces[section.where], new)]


def _by_event(pieces: Sequence[texts.Piece], new: str) -> Iterator[dict[str, Any]]:
    """Yield steps that put all of a text into its first piece, and nothing into the others."""
    for piece in pieces:
        event = piece.document.event
        if event is not None and piece.literal.text != new.encode():
            yield {"set": texts.pointer_of(piece), "value": new, "event": event.number}
        new = ""


def _file(steps: Steps, side: Side, note: str) -> bytes:
    noted = {"note": note} if note else {}
    return jsontext.indented(jsonform.spell({"on": str(side), **noted, "steps": steps})) + b"\n"


def _made(shown: Shown, patch: Patch) -> bytes | None:
    changing = Changing(shown.headers, [shown.body], status=200)
    try:
        changing.run(patch)
    except PatchError:
        return None
    return changing.body


def _is(made: bytes, shown: Shown, left: str) -> bool:
    """Tell whether a body is what was left, as it would be shown."""
    if shown.is_json:
        value = jsontext.load(made)
        return value is not None and jsonform.spell(value) == jsonform.spell(jsontext.load(left.encode()))
    if not shown.sections:
        return made == left.removesuffix(_END).encode(fields.charset(shown.headers), "replace")
    body = texts.Body(made, fields.kind(shown.headers))
    found = {text.where: text.text for text in body.texts if text.joined}
    before = texts.Body(shown.body, fields.kind(shown.headers))
    want = {text.where: text.text for text in before.texts if text.joined}
    want |= {
        section.where: new.encode() for section, new in zip(shown.sections, _left(shown, left), strict=True)
    }
    return found == want
