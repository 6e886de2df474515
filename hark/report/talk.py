"""The conversation: calls of models one after the other, each with what is new in it.

What always holds: the turns that a prompt repeats from an earlier call are shown once, and named after that; no
more than the last `MAX_OPEN` conversations are remembered, so memory does not grow with the run.
"""

import json
from typing import Final, NamedTuple

from hark.conversation import loose
from hark.conversation.model import ModelCall, ToolCall, Turn
from hark.describe import seconds
from hark.report.markup import MAX_SHOWN, block, brief, event_link, number, plural, text

MAX_OPEN: Final = 16
MAX_TURNS: Final = 400  # new turns that one call may show
MAX_NAMES: Final = 60  # tools that are listed by name

type Keys = tuple[int, ...]


class _Past(NamedTuple):
    exchange: int
    keys: Keys


class Conversation:
    """Gives the markup of one call after the other."""

    def __init__(self) -> None:
        self._past: list[_Past] = []

    def add(self, call: ModelCall) -> str:
        """Return the markup of the next call."""
        keys = tuple(map(_key, call.turns))
        past, same = self._before(keys)
        replied = (*keys, _key(call.reply)) if call.reply is not None else keys
        self._past = [one for one in self._past if one is not past or not same][-MAX_OPEN + 1 :]
        self._past.append(_Past(call.heard.exchange, replied))
        return "".join((_head(call), _repeated(past, same), _turns(call, same), _reply(call), "</article>\n"))

    def _before(self, keys: Keys) -> tuple[_Past | None, int]:
        """Return the call that this one goes on from, and how many turns it repeats."""
        best, most = None, 0
        for past in reversed(self._past):
            if past.keys[:1] != keys[:1]:
                continue
            same = 0
            for one, other in zip(past.keys, keys, strict=False):
                if one != other:
                    break
                same += 1
            if same > most:
                best, most = past, same
        return best, most


def _key(turn: Turn) -> int:
    """Return what two turns are the same by; a model's arguments may be spelled anew on their way back."""
    role = "assistant" if turn.role == "model" else turn.role
    return hash((role, turn.text.strip(), tuple((one.id, one.name) for one in turn.calls), turn.results))


def _head(call: ModelCall) -> str:
    heard, usage = call.heard, call.usage
    name = brief(call.answered_by or call.model or "a model without a name")
    tokens = [
        f"{number(value)} {what}"
        for value, what in ((usage.input, "in"), (usage.cached, "of them cached"), (usage.output, "out"))
        if value is not None
    ]
    took = "" if heard.ended_ns is None else f", {(heard.ended_ns - heard.time_ns) / 1e9:,.3f} s"
    how = "streamed" if call.streamed else "whole"
    facts = [
        f"{event_link(heard.seq)} at {seconds(heard.time_ns)} s{took}",
        brief(f"{call.provider}, {heard.host}, {how}"),
        f"tokens: {', '.join(tokens)}" if tokens else "no count of tokens",
        f"ended: {brief(call.stop)}" if call.stop else "",
        "a part of it was too long to be held" if heard.cut else "",
    ]
    shown = " · ".join(fact for fact in facts if fact)
    return (
        f'<article class="call" id="x{heard.exchange}"><h3>{name}'
        f' <span class="where">exchange {heard.exchange}</span></h3><p class="facts">{shown}</p>{_offered(call)}'
    )


def _offered(call: ModelCall) -> str:
    rows = []
    if call.tools:
        more = f" and {len(call.tools) - MAX_NAMES} more" if len(call.tools) > MAX_NAMES else ""
        rows.append(f"tools: {', '.join(map(brief, call.tools[:MAX_NAMES]))}{more}")
    if call.parameters:
        rows.append(text(loose.dump(dict(call.parameters))[:2000]))
    if not rows:
        return ""
    what = plural(len(call.tools), "tool") + " offered, parameters"
    return f'<details class="fold"><summary>{what}</summary><p class="said">{"<br>".join(rows)}</p></details>'


def _repeated(past: _Past | None, same: int) -> str:
    if past is None or not same:
        return ""
    turns = plural(same, "turn")
    return f'<p class="before">{turns} before, as in <a href="#x{past.exchange}">exchange {past.exchange}</a></p>'


def _turns(call: ModelCall, same: int) -> str:
    new = call.turns[same:]
    more = len(new) - MAX_TURNS
    rest = f'<p class="more">{plural(more, "more turn")} not shown here.</p>' if more > 0 else ""
    return "".join(map(_turn, new[:MAX_TURNS])) + rest


def _reply(call: ModelCall) -> str:
    heard = call.heard
    if heard.refused:
        return f'<p class="bad">hark refused this request: {brief(heard.refused, 2000)}</p>'
    broke = f'<p class="bad">The answer broke off: {brief(heard.error, 2000)}</p>' if heard.error else ""
    if heard.ended_ns is None:
        broke = '<p class="bad">The record has no end of this answer.</p>'
    if call.reply is None:
        said = block(heard.answer[:MAX_SHOWN].decode("utf-8", "replace")) if heard.answer else ""
        return f'<div class="turn reply"><h4>status {heard.status}</h4>{said}</div>{broke}'
    return _turn(call.reply, " reply") + broke


def _turn(turn: Turn, more: str = "") -> str:
    role = turn.role if turn.role in ("system", "developer", "user", "assistant", "model", "tool") else ""
    name = role or brief(turn.role or "without a role")
    said = block(turn.text) if turn.text else ""
    calls = "".join(map(_call, turn.calls))
    results = "".join(
        f'<div class="result"><p class="what">result <code>{brief(one.id)}</code></p>{block(one.text)}</div>'
        for one in turn.results
    )
    nothing = "" if said or calls or results else '<p class="said none">nothing</p>'
    return f'<div class="turn {role or "other"}{more}"><h4>{name}</h4>{said}{calls}{results}{nothing}</div>'


def _call(call: ToolCall) -> str:
    identity = f" <code>{brief(call.id)}</code>" if call.id else ""
    what = f'<p class="what">calls <b>{brief(call.name)}</b>{identity}</p>'
    return f'<div class="calls">{what}{block(_spread(call.arguments))}</div>'


def _spread(arguments: str) -> str:
    """Return arguments as JSON over several lines where they are an object; else as they were written."""
    value = loose.load(arguments) if len(arguments) < MAX_SHOWN else None
    if not isinstance(value, dict):
        return arguments
    members = (f"{json.dumps(name, ensure_ascii=False)}: {loose.dump(one)}" for name, one in value.items())
    return "\n".join(members) or "{}"
