"""Every event of a run, folded to its line; opened, it has every field, its leaf and the command that proves it.

What always holds: no event is left out; a field that is longer than `MAX_FIELD` is cut, and it is said how all
of it is had.
"""

import re
import shlex
from typing import Any, Final

from hark import describe
from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, kind_name
from hark.bundle.frame import Frame
from hark.bundle.outcome import succeeded
from hark.report.markup import shown, shown_lines

MAX_FIELD: Final = 8_192  # bytes of one field; a chunk of a stream is shorter
MAX_LINE: Final = 240  # characters of what happened
GROUP: Final = 250  # events folded together
MAX_OPEN: Final = 500  # events with which all groups are open
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]+")
TAKEN_OUT: Final = "payload taken out; its leaf is kept"


class Listing:
    """Gives the markup of one event after the other."""

    def __init__(self, bundle: str, events: int) -> None:
        self._name = bundle if _PLAIN.fullmatch(bundle) else shlex.quote(bundle)
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
        seq, name = frame.seq, kind_name(frame.kind)
        words, exchange, fields = TAKEN_OUT, "", ""
        if event is not None:
            cut, event = event, _cut(event)
            words = describe.line(event)
            number = describe.exchange_of(event)
            exchange = "" if number is None else f"#{number}"
            fields = "\n".join(describe.detail(event))
            if event is not cut:
                fields += f"\n  cut here; all of it: hark inspect -seq {seq} {self._name}"
        if len(words) > MAX_LINE:
            words = f"{words[: MAX_LINE - 1]}…"
        lines = shown_lines(fields)
        return (
            f'<details class="ev{_tone(event)}" id="e{seq}"><summary><b>{seq}</b><i>{describe.seconds(frame.time)}</i>'
            f"<em>{name}</em><u>{exchange}</u><span>{shown(words)}</span></summary><pre>{lines}</pre>"
            f"<p>leaf <code>{frame.leaf.hex()}</code>, kind {frame.kind}, {frame.time} ns</p>"
            f"<p><code>hark prove -seq {seq} {shown(self._name)}</code></p></details>\n"
        )


_SIZED: Final = (bytes, str, dict, tuple)


def _cut(event: Any) -> Any:
    """Return an event with its long fields cut; the same one where there are none."""
    if isinstance(event, ev.Unknown):
        return event if len(event.payload) <= MAX_FIELD else event._replace(payload=event.payload[:MAX_FIELD])
    if not any(isinstance(value, _SIZED) and len(value) > MAX_FIELD // 32 for value in event):
        return event  # nearly all
    long = {
        name: value[:MAX_FIELD]
        for name, value in zip(event._fields, event, strict=True)
        if isinstance(value, bytes | str) and len(value) > MAX_FIELD
    }
    many = {
        name: dict(list(value.items())[: MAX_FIELD // 32])
        if isinstance(value, dict)
        else value[: MAX_FIELD // 32]
        for name, value in zip(event._fields, event, strict=True)
        if isinstance(value, dict | tuple) and len(value) > MAX_FIELD // 32
    }
    return event._replace(**long, **many) if long or many else event


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
