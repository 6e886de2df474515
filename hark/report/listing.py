"""Every event of a run, folded to its line; opened, it has every field, its leaf and the command that proves it.

What always holds: no event is left out; a field that is longer than `MAX_FIELD` is cut, and it is said how all
of it is had.
"""

import re
import shlex
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any, BinaryIO, Final, NamedTuple

from hark import describe
from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, kind_name
from hark.bundle.frame import Frame
from hark.bundle.outcome import succeeded
from hark.report.markup import shown, shown_lines

MAX_FIELD: Final = 8_192  # bytes of one field; a chunk of a stream is shorter
MAX_MANY: Final = 256  # items of one field
MAX_LINE: Final = 240  # characters of what happened
GROUP: Final = 250  # events folded together
MAX_OPEN: Final = 500  # events with which all groups are open
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]+")
MAX_REPEATED: Final = 1_024  # bytes of an event whose markup is kept
KEPT: Final = 512
_REPEATED: Final = frozenset((10, 11, 12, 17, 18))  # attempts, names, decisions, secrets
TAKEN_OUT: Final = "payload taken out; its leaf is kept"


class Listing:
    """Gives the markup of one event after the other."""

    def __init__(self, bundle: str, events: int) -> None:
        self._name = bundle if _PLAIN.fullmatch(bundle) else shlex.quote(bundle)
        self._proof = shown(self._name)
        self._open = " open" if events <= MAX_OPEN else ""
        self._events = events
        self._count = 0

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
        return begin + self._event(frame, event)

    def end(self) -> str:
        """Return what closes the last group."""
        return "</details>" if self._count else '<p class="note">There are none.</p>'

    def _event(self, frame: Frame, event: ev.Event | ev.Unknown | None) -> str:
        seq, kind, time = frame.seq, frame.kind, frame.time
        kept = _cut(event, len(frame.payload))
        told = (_again if kind in _REPEATED and len(frame.payload) <= MAX_REPEATED else _told)(kept)
        cut = "" if kept is event else f"\n  cut here; all of it: hark inspect -seq {seq} {self._proof}"
        return (
            f'<details class="ev{told.tone}" id="e{seq}"><summary><b>{seq}</b><i>{describe.seconds(time)}</i>'
            f"<em>{kind_name(kind)}</em><u>{told.exchange}</u><span>{told.words}</span></summary><pre>{told.fields}{cut}</pre>"
            f"<p>leaf <code>{frame.leaf.hex()}</code>, kind {kind}, {time} ns</p>"
            f"<p><code>hark prove -seq {seq} {self._proof}</code></p></details>\n"
        )


def write(out: BinaryIO, frames: Iterable[Frame], bundle: str, events: int) -> None:
    """Write the markup of all of a run's events."""
    listing, pieces = Listing(bundle, events), list[str]()
    for frame in frames:
        pieces.append(listing.add(frame, ev.decode_frame(frame) if frame.payload else None))
        if len(pieces) == GROUP:
            out.write("".join(pieces).encode())
            pieces.clear()
    out.write("".join((*pieces, listing.end())).encode())


class _Told(NamedTuple):
    """What is said of an event but for its place, as markup."""

    tone: str
    exchange: str
    words: str
    fields: str


def _told(event: ev.Event | ev.Unknown | None) -> _Told:
    if event is None:
        return _Told(_tone(event), "", TAKEN_OUT, "")
    words, exchange = describe.line(event), describe.exchange_of(event)
    more = "…" if len(words) > MAX_LINE else ""
    words = f"{shown(words[: MAX_LINE - 1] if more else words)}{more}"
    fields = shown_lines("\n".join(describe.detail(event)))
    return _Told(_tone(event), "" if exchange is None else f"#{exchange}", words, fields)


_again: Final = lru_cache(KEPT, typed=True)(_told)
"""The same of what an agent does over and over: the same name, the same host, the same secret."""


def _cut(event: Any, size: int) -> Any:
    """Return an event, whose payload has that size, with its long fields cut; the same one where there are none."""
    if size <= MAX_MANY or event is None:
        return event  # nearly all
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
