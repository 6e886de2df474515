"""Every event of a run, folded to its line; opened, it has every field, its leaf and the command that proves it.

What always holds: no event is left out; a field that is longer than `MAX_FIELD` is cut, and it is said how all
of it is had.
"""

import re
import shlex
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any, BinaryIO, Final

from hark import describe
from hark.bundle import events as ev
from hark.bundle.alike import ALIKE, Alike
from hark.bundle.bounds import RunEnd, kind_name
from hark.bundle.frame import Frame
from hark.bundle.outcome import succeeded
from hark.report.markup import inside, shown

MAX_FIELD: Final = 8_192  # bytes of one field; a chunk of a stream is shorter
MAX_MANY: Final = 256  # items of one field
MAX_LINE: Final = 240  # characters of what happened
GROUP: Final = 250  # events folded together
MAX_OPEN: Final = 500  # events with which all groups are open
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]+")
MAX_REPEATED: Final = 1_024  # bytes of an event whose markup is kept
KEPT: Final = 512
TAKEN_OUT: Final = "payload taken out; its leaf is kept"


class Listing:
    """Gives the markup of one event after the other, of so many, from the `first` on, with which a group begins."""

    def __init__(self, bundle: str, events: int, first: int = 0) -> None:
        name = shown(bundle if _PLAIN.fullmatch(bundle) else shlex.quote(bundle))
        self._name = name
        self._end = f" {name}</code></p></details>\n"
        self._open = " open" if events <= MAX_OPEN else ""
        self._events = events
        self._count = first

    def add(self, frame: Frame, event: ev.Event | ev.Unknown | None) -> str:
        """Return the markup of the next event, with the group that begins with it."""
        begin = ""
        if self._count % GROUP == 0:
            last = min(self._count + GROUP, self._events) - 1
            begin = (
                f'{"</details>" if self._count else ""}<details class="group"{self._open}>'
                f"<summary><h3>Events {self._count:,} to {last:,}</h3></summary>\n"
            )
        self._count += 1
        kind, seq, time, _, payload, leaf = frame
        size, cut, milliseconds = len(payload), "", time // 1_000_000
        if size > MAX_MANY and (kept := _cut(event, size)) is not event:
            event, cut = kept, f"\n  cut here; all of it: hark inspect -seq {seq} {self._name}"
        head, middle = (_again if kind in ALIKE and size <= MAX_REPEATED else _told)(event, kind)
        return (
            f'{begin}{head}{seq}"><summary><b>{seq}</b><i>{milliseconds // 1000}.{milliseconds % 1000:03d}{middle}{cut}'
            f"</pre><p>leaf <code>{leaf.hex()}</code>, kind {kind}, {time} ns</p>"
            f"<p><code>hark prove -seq {seq}{self._end}"
        )

    def end(self) -> str:
        """Return what closes the last group, if that was all."""
        if self._count < self._events:
            return ""
        return "</details>" if self._count else '<p class="note">There are none.</p>'


def write(out: BinaryIO, frames: Iterable[Frame], bundle: str, events: int, first: int = 0) -> None:
    """Write the markup of a run's events, all from the `first` on or whole groups of them."""
    listing, pieces, alike = Listing(bundle, events, first), list[str](), Alike()
    for frame in frames:
        pieces.append(listing.add(frame, alike.decode(frame) if frame.payload else None))
        if len(pieces) == GROUP:
            out.write("".join(pieces).encode())
            pieces.clear()
    out.write("".join((*pieces, listing.end())).encode())


def _told(event: ev.Event | ev.Unknown | None, kind: int) -> tuple[str, str]:
    """Return what stands before an event's number, and between its time and its leaf."""
    number, words, fields = None, TAKEN_OUT, ""
    if event is not None:
        words, number = describe.line(event), describe.exchange_of(event)
        words = inside(words if len(words) <= MAX_LINE else f"{words[: MAX_LINE - 1]}…")
        fields = inside("\n".join(describe.detail(event)))
    exchange = "" if number is None else f"#{number}"
    middle = f"</i><em>{kind_name(kind)}</em><u>{exchange}</u><span>{words}</span></summary><pre>{fields}"
    return f'<details class="ev{_tone(event) if type(event) in _TONED else ""}" id="e', middle


_again: Final = lru_cache(KEPT, typed=True)(_told)
"""The same of what an agent does over and over: the same name, the same host, the same secret."""


def _cut(event: Any, size: int) -> Any:
    """Return an event, whose payload has that size, with its long fields cut; the same one where there are none."""
    if event is None:
        return None
    if isinstance(event, ev.Unknown):
        return event if size <= MAX_FIELD else event._replace(payload=event.payload[:MAX_FIELD])
    changed: dict[str, Any] = {}
    for name, value in zip(event._fields, event, strict=True):
        if isinstance(value, bytes | str):
            if len(value) > MAX_FIELD:
                changed[name] = value[:MAX_FIELD]
        elif isinstance(value, dict):
            if len(value) > MAX_MANY:
                changed[name] = dict(islice(value.items(), MAX_MANY))
        elif isinstance(value, tuple) and len(value) > MAX_MANY:
            changed[name] = value[:MAX_MANY]
    return event._replace(**changed) if changed else event


def _tone(event: ev.Event | ev.Unknown | None) -> str:
    """Return the class of what is to be seen at a glance, one of the kinds in `_TONED`."""
    match event:
        case (
            ev.EgressDecision(allowed=False)
            | ev.DnsDecision(allowed=False)
            | ev.ToolCallResult(is_error=True)
        ):
            return " denied"
        case RunEnd() as end if not succeeded(end):
            return " denied"
        case ev.SecretInjected() | ev.ShimReport() | None:
            return " secret"
        case ev.Branch() | ev.Rewritten():
            return " branch"
        case _:
            return ""


_TONED: Final = frozenset(
    (ev.EgressDecision, ev.DnsDecision, ev.ToolCallResult, RunEnd, ev.SecretInjected, ev.ShimReport,
     ev.Branch, ev.Rewritten, type(None))
)  # fmt: skip
