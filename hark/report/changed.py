"""What differs in two steps of one kind, and what a patch says that it changes, as a page shows both.

What always holds: bodies are compared as `hark diff` compares them, as far as the steps have them; the costs of a
page are bounded by one `Effort`, beyond which it is said that two differ and no more.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, assert_never

from hark.diff.order import Effort, matched
from hark.diff.texts import Change, of_bodies
from hark.errors import ForkError
from hark.patch.model import parse_patch
from hark.patch.steps import (
    DropChunk,
    RemoveHeader,
    RemoveValue,
    Replace,
    SetBody,
    SetHeader,
    SetStatus,
    SetValue,
    Step,
)
from hark.report.facts import MAX_BODY
from hark.report.facts import Step as Done
from hark.report.markup import inside, plural, text

MAX_CHANGES: Final = 6  # of two steps; `hark diff` has all
MAX_LINES: Final = 24  # of one change
MAX_STEPS: Final = 20  # of a patch
MAX_TEXT: Final = 400  # characters of a text in a patch


class Pair(NamedTuple):
    """Steps that stand beside one another: one of each side of the same kind, or those of one side alone."""

    left: Sequence[Done]
    right: Sequence[Done]

    @property
    def alike(self) -> bool:
        """Tell whether they are two of one kind."""
        return len(self.left) == len(self.right) == 1 and _kind(self.left[0]) == _kind(self.right[0])


def pairs(left: Sequence[Done], right: Sequence[Done]) -> Iterator[Pair]:
    """Yield steps that differ, those of one kind in pairs."""
    x = y = 0
    paired = matched([*map(_kind, left)], [*map(_kind, right)])
    for one, other in (*paired, (len(left), len(right))):
        if x < one or y < other:
            yield Pair(left[x:one], right[y:other])
        if one < len(left):
            yield Pair((left[one],), (right[other],))
        x, y = one + 1, other + 1


def _kind(step: Done) -> str:
    """Return what a step is, without what it says: its key ends with that."""
    return step.key.rpartition(" ")[0] if step.body is not None else step.key


def differing(was: Done, now: Done, effort: Effort) -> str:
    """Return what differs in two steps, the second being the later one; nothing where none of it was kept."""
    if was.body is None or now.body is None or was.body == now.body:
        cut = max(len(was.body or b""), len(now.body or b"")) >= MAX_BODY
        return '<p class="note">Differs beyond what a page compares.</p>' if cut else ""
    found = list(of_bodies("", was.body, now.body, effort))
    shown = "".join(map(_change, found[:MAX_CHANGES]))
    more = len(found) - MAX_CHANGES
    return shown + (f'<p class="note">{plural(more, "more difference")}.</p>' if more > 0 else "")


def _change(change: Change) -> str:
    where = change.where.strip()
    head = f'<p class="note">{text(f"{where} {change.words}".strip())}</p>' if where else ""
    lines = [line for line in change.lines if not line.startswith(("@@", " "))]
    listed = "".join(
        f"<{_TAGS[line[0]]}>{inside(line[1:]) or '(nothing)'}</{_TAGS[line[0]]}>"
        for line in lines[:MAX_LINES]
    )
    more = len(lines) - MAX_LINES
    rest = f'<p class="note">{plural(more, "more line")}.</p>' if more > 0 else ""
    return f'{head}<pre class="was">{listed}</pre>{rest}' if listed else head


_TAGS: Final = {"-": "del", "+": "ins"}


def patched(raw: bytes) -> str:
    """Return what a patch says that it changes, as a list; nothing where it is none that hark reads."""
    try:
        steps = parse_patch(raw).steps
    except ForkError:
        return ""
    more = len(steps) - MAX_STEPS
    rest = f"<li>{plural(more, 'more step')}</li>" if more > 0 else ""
    return f'<ul class="patch">{"".join(f"<li>{_step(step)}</li>" for step in steps[:MAX_STEPS])}{rest}</ul>'


def _step(step: Step) -> str:
    match step:
        case Replace(old, new, most):
            first = "" if most is None else f", the first {most}"
            return f"{_old(old)} → {_new(new)}{first}"
        case SetBody(body):
            return f"the whole body → {_new(body)}"
        case SetValue(pointer, value, event):
            return f"{_at(pointer, event)} → {_new(value.decode('utf-8', 'replace'))}"
        case RemoveValue(pointer, event):
            return f"{_at(pointer, event)} taken out"
        case SetHeader(name, header):
            return f"header {text(name.decode('latin-1'))} → {_new(header.decode('latin-1'))}"
        case RemoveHeader(name):
            return f"header {text(name.decode('latin-1'))} taken out"
        case SetStatus(status):
            return f"status → {status}"
        case DropChunk(chunk):
            return f"chunk {chunk} left out"
        case _:
            assert_never(step)


def _at(pointer: Sequence[str], event: int | None) -> str:
    path = text(
        _cut("".join(f"/{one.replace('~', '~0').replace('/', '~1')}" for one in pointer) or "all of it")
    )
    return path if event is None else f"{path} of event {event}"


def _old(words: str) -> str:
    return f"<del>{text(_cut(words))}</del>"


def _new(words: str) -> str:
    return f"<ins>{text(_cut(words)) or '(nothing)'}</ins>"


def _cut(words: str) -> str:
    return words if len(words) <= MAX_TEXT else f"{words[:MAX_TEXT]}…"
