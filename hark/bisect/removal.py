"""The patch that takes units out of a message: what `hark fork -patch` is given.

What always holds: a patch from here is made on the message before it is returned, and leaves what was wanted.
It says the removed text, where that stands once and there are few; else it sets each value that changes, or
the body whole.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from hark.bisect.message import Message, Unit
from hark.errors import ForkError, PatchError
from hark.patch import jsontext, pointer, texts
from hark.patch.changing import Changing
from hark.patch.model import MAX_STEPS, parse_patch
from hark.patch.steps import Patch
from hark.replay import jsonform

MAX_SAID: Final = 20  # removed texts that one patch says; each is looked for in the whole body

type Steps = list[dict[str, Any]]


def removal(message: Message, units: Iterable[Unit], note: str = "") -> bytes:
    """Return the patch file. Raises PatchError where none says it."""
    runs = message.runs(units)
    wanted = message.without(runs)
    for steps in _candidates(message, runs, wanted):
        if not 0 < len(steps) <= MAX_STEPS:
            continue
        patch = _file(message, steps, note)
        if patch is not None and _leaves(message, patch, wanted):
            return as_file(patch.raw)
    raise PatchError("what is to be removed cannot be said in a patch")


def as_file(raw: bytes) -> bytes:
    """Return a patch, as a fork has it on its record, as the file that it was given in; empty for none."""
    return jsontext.indented(raw) + b"\n" if raw else b""


def _candidates(message: Message, runs: Sequence[Unit], wanted: bytes) -> Iterator[Steps]:
    if len(runs) <= MAX_SAID:
        yield [{"replace": message.text(run), "with": ""} for run in runs]
    now = texts.Body(wanted, message.kind)
    if now.documents:
        yield list(_values(texts.Body(message.body, message.kind), now))
    try:
        yield [{"body": wanted.decode(message.leaves[0].codec)}]
    except UnicodeDecodeError:
        return


def _values(was: texts.Body, now: texts.Body) -> Iterator[dict[str, Any]]:
    """Yield the strings that differ, one step each."""
    for before, after in zip(was.documents, now.documents, strict=False):
        pairs = zip(jsontext.strings(before.text), jsontext.strings(after.text), strict=False)
        for old, new in pairs:
            value = after.text[new.start : new.end]
            if before.text[old.start : old.end] == value:
                continue
            at = {} if before.event is None else {"event": before.event.number}
            said = jsontext.decoded(value).decode("utf-8", "surrogatepass")
            yield {"set": pointer.written(old.path), "value": said, **at}


def _file(message: Message, steps: Steps, note: str) -> Patch | None:
    noted = {"note": note} if note else {}
    try:
        return parse_patch(jsonform.spell({"on": str(message.side), **noted, "steps": steps}))
    except ForkError:  # half of a surrogate pair, which a patch cannot say
        return None


def _leaves(message: Message, patch: Patch, wanted: bytes) -> bool:
    """Tell whether a patch leaves the body that is wanted, in whatever spelling of its JSON."""
    changing = Changing(message.headers, [message.body], status=200)
    try:
        changing.run(patch)
    except PatchError:
        return False
    if changing.body == wanted:
        return True
    made, meant = texts.Body(changing.body, message.kind), texts.Body(wanted, message.kind)
    return _said(made) == _said(meant)


def _said(body: texts.Body) -> list[object]:
    documents: list[object] = [jsonform.spell(document.value) for document in body.documents]
    return documents + [written for _, written, _, is_json in body.as_written() if not is_json]
