"""`-at`: one recorded exchange and a side of it, or a message of another kind, found in a recording's events.

What always holds: a point is one that the recording can lead up to: an exchange over HTTP, on the side of the
answer one whose answer it has; what the other side says in a conversation; a tool call over stdio. What is
not found is an error that names the nearest there is. Any events give a point or a `ForkError`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from hark.bundle.events import (
    REFUSED,
    BodyHash,
    Interim,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    RequestChunk,
    ResponseHead,
    ToolCallRequest,
    ToolCallResult,
    Trailers,
    WebSocketMessage,
)
from hark.errors import ForkError
from hark.patch.nearest import names
from hark.patch.spoken import Remark, Spoken
from hark.replay.recorded import SWITCHED, Frame, words_of
from hark.replay.talks import WEBSOCKET
from hark.visible import visible

LAST: Final = "last-request"
NAMED: Final = 5  # candidates in one sentence
_NUMBER: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
_OCCURRENCE: Final = re.compile(r"(.+)#([0-9]{1,9})", re.ASCII | re.DOTALL)
_SCHEME: Final = re.compile(r"https?://", re.IGNORECASE)


class Side(StrEnum):
    """Which half of an exchange."""

    REQUEST = "request"
    RESPONSE = "response"


@dataclass(frozen=True)
class Point:
    """Where a fork goes live."""

    at: int
    """Event of the parent: the exchange's request, or the first event of its answer; a message itself."""
    request: int
    """Event of the exchange's request; of the message that asked for this one, else of itself."""
    side: Side
    words: str
    """`POST api.model.example/v1/messages (event 24)`."""
    talk: str = ""
    """The kind of conversation (`hark.replay.talks`) that it is a message of; nothing for an exchange."""

    @property
    def place(self) -> str:
        """Name it with its side: a message is one already."""
        return self.words if self.talk else f"the {self.side.value} of {self.words}"


@dataclass(slots=True)
class _Exchange:
    seq: int
    request: LlmRequest
    answer: int | None = None
    unplayable: str = ""

    @property
    def words(self) -> str:
        return f"{visible(words_of(self.request))} (event {self.seq})"


@dataclass(slots=True)
class _Survey:
    """The exchanges of a run, and whose the event is that was asked for."""

    wanted: int | None = None
    exchanges: dict[int, _Exchange] = field(default_factory=dict)
    last: int = -1
    owner: _Exchange | None = None
    side: Side = Side.REQUEST
    before: "tuple[int, _Exchange] | None" = None
    after: "tuple[int, _Exchange] | None" = None

    def add(self, frame: Frame) -> None:
        self.last = max(self.last, frame.seq)
        side = _side(frame.event)
        if side is None:
            return
        exchange = self._exchange(frame)
        if exchange is None:
            return
        if side is Side.RESPONSE:
            _answered(exchange, frame)
        self._note(frame.seq, exchange, side)

    def named(self, number: int) -> str:
        """Name the request of an exchange."""
        found = self.exchanges.get(number)
        return "" if found is None else visible(words_of(found.request))

    def _exchange(self, frame: Frame) -> _Exchange | None:
        number, event = frame.event.exchange, frame.event
        if isinstance(event, LlmRequest) and number not in self.exchanges:
            self.exchanges[number] = _Exchange(frame.seq, event._replace(body=b""))
        return self.exchanges.get(number)

    def _note(self, seq: int, exchange: _Exchange, side: Side) -> None:
        if self.wanted is None:
            return
        if seq == self.wanted:
            self.owner, self.side = exchange, side
        elif seq < self.wanted:
            self.before = seq, exchange
        elif self.after is None:
            self.after = seq, exchange


def find(spec: str, frames: Iterable[Frame], on: Side | None, *, otherwise: Side = Side.REQUEST) -> Point:
    """Return the point that `spec` names. Raises ForkError.

    The side is `on`, else that of the event whose number `spec` is, else `otherwise`.
    """
    number = int(spec) if _NUMBER.fullmatch(spec) else None
    survey = _Survey(number)
    spoken = Spoken(number, survey.named)
    for frame in frames:
        survey.add(frame)
        spoken.add(frame)
    remark = spoken.found
    if remark is not None and (survey.owner is None or remark.kind == WEBSOCKET):
        return _at(remark, on or (Side.REQUEST if remark.from_agent else Side.RESPONSE))
    calls = _calls(spec, spoken)
    if calls is not None:
        return _at(calls, on or otherwise)
    if number is None and not _named(survey, spec.partition("#")[0]):
        _refuse_unmade(spec, spoken)
    if not survey.exchanges:
        raise ForkError(f"the bundle has no request in it: there is nothing to fork at{_or_a_call(spoken)}")
    if number is not None:
        return _point(_by_number(number, survey), on or survey.side)
    exchange = _last(survey) if spec == LAST else _by_name(spec, survey)
    return _point(exchange, on or otherwise)


def answers(frames: Iterable[Frame]) -> list[Point]:
    """Return the answers that are branch points, in the order of their requests."""
    survey = _Survey()
    for frame in frames:
        survey.add(frame)
    played = (one for one in survey.exchanges.values() if one.answer is not None and not one.unplayable)
    return [_point(one, Side.RESPONSE) for one in sorted(played, key=lambda one: one.seq)]


def _side(event: Any) -> Side | None:
    match event:
        case LlmRequest() | RequestChunk() | ToolCallRequest():
            return Side.REQUEST
        case Interim() | ResponseHead() | LlmResponseChunk() | LlmResponseEnd() | ToolCallResult():
            return Side.RESPONSE
        case Trailers() | BodyHash() | WebSocketMessage():
            return Side.REQUEST if event.from_agent else Side.RESPONSE
        case _:
            return None


def _answered(exchange: _Exchange, frame: Frame) -> None:
    """Take an event of an answer: the first one, and what keeps it from being played."""
    event = frame.event
    if isinstance(event, ToolCallResult):
        return  # what is read from an answer, and no part of it
    if exchange.answer is None:
        exchange.answer = frame.seq
    match event:
        case LlmResponseEnd() if event.error.startswith(REFUSED):
            exchange.unplayable = "hark's policy refused it, so there is no recorded answer"
        case LlmResponseEnd() | ResponseHead() if event.status == SWITCHED:
            exchange.unplayable = "it became a WebSocket: name the event of a message of its server's"
        case BodyHash():
            exchange.unplayable = "its answer was recorded as a hash alone"


def _point(exchange: _Exchange, side: Side) -> Point:
    if side is Side.REQUEST:
        return Point(exchange.seq, exchange.seq, side, exchange.words)
    if exchange.answer is None:
        exchange.unplayable = "nothing of its answer was recorded"
    if exchange.answer is None or exchange.unplayable:
        raise ForkError(
            f"the answer of {exchange.words} is no branch point: {exchange.unplayable}; "
            f'fork at its request instead, with -at {exchange.seq} or "on": "request" in the patch'
        )
    return Point(exchange.answer, exchange.seq, side, exchange.words)


def _at(remark: Remark, side: Side) -> Point:
    """Return the point of a message: itself, or what it answers, or what answers it."""
    if remark.from_agent is not (side is Side.REQUEST):
        if remark.about is None:
            other = "no recorded call that it answers" if side is Side.REQUEST else "no recorded result"
            raise ForkError(f"{remark.named} has {other}; leave the side to -at, or fork elsewhere")
        remark = remark.about
    if remark.why_not:
        instead = "fork at what a server says after it" if remark.from_agent else "fork at another event"
        raise ForkError(f"{remark.named} is no branch point: {remark.why_not}; {instead}")
    at = remark.seq if remark.call is None or not remark.from_agent else remark.call
    asked = remark.about.seq if remark.about is not None and not remark.from_agent else remark.seq
    return Point(at, asked, side, remark.named, remark.kind)


def _calls(spec: str, spoken: Spoken) -> Remark | None:
    """Return the tool call over stdio that is named `mcp.SERVER/TOOL#K`; None: there is none of that name."""
    found = _OCCURRENCE.fullmatch(spec)
    name, occurrence = (found[1], int(found[2])) if found else (spec, 1)
    made = [call for call in spoken.calls.get(name, ()) if not call.why_not]
    if not made:
        return None
    if not 1 <= occurrence <= len(made):
        times = "once" if len(made) == 1 else f"{len(made)} times"
        raise ForkError(f"{visible(name)} was called {times}; there is no #{occurrence}")
    return made[occurrence - 1]


def _refuse_unmade(spec: str, spoken: Spoken) -> None:
    """Say that a tool was not called, where there are calls of tools and one was meant. Raises ForkError."""
    name = spec.partition("#")[0]
    near = names(name, spoken.calls, NAMED, 0.3) if name.startswith("mcp.") else []
    if near:
        listed = ", ".join(f"{visible(one)} (event {spoken.calls[one][0].seq})" for one in near)
        are = "are" if len(near) > 1 else "is"
        raise ForkError(f"no call of {visible(name)} was recorded; nearest {are} {listed}")


def _or_a_call(spoken: Spoken) -> str:
    """Name a tool call that a fork could be at instead."""
    name = next((name for name, calls in spoken.calls.items() if any(not one.why_not for one in calls)), "")
    return f", but for its tool calls, such as -at {visible(name)}" if name else ""


def _last(survey: _Survey) -> _Exchange:
    return max(survey.exchanges.values(), key=lambda one: one.seq)


def _by_number(number: int, survey: _Survey) -> _Exchange:
    if survey.owner is not None:
        return survey.owner
    near = list(_around(survey))
    if number > survey.last:
        what = f"event {number} is not in the bundle, whose last event is {survey.last}"
    else:
        what = f"event {number} belongs to no request"
    raise ForkError(f"{what}; nearest {'are' if len(near) > 1 else 'is'} {' and '.join(near)}")


def _around(survey: _Survey) -> Iterator[str]:
    for where, found in (("before", survey.before), ("after", survey.after)):
        if found is not None:
            seq, exchange = found
            yield f"event {seq} {where} it, of {exchange.words}"


def _by_name(spec: str, survey: _Survey) -> _Exchange:
    text = _SCHEME.sub("", spec, count=1)
    found = _OCCURRENCE.fullmatch(text)
    name, occurrence = (found[1], int(found[2])) if found else (text, 1)
    by_name = _named(survey, name)
    if not by_name and found:
        by_name, occurrence = _named(survey, text), 1
    if not by_name:
        raise ForkError(f"no request to {visible(name) or '""'} was recorded; {_candidates(name, survey)}")
    if not 1 <= occurrence <= len(by_name):
        times = "once" if len(by_name) == 1 else f"{len(by_name)} times"
        last = "" if len(by_name) == 1 else f", last as #{len(by_name)} (event {by_name[-1].seq})"
        raise ForkError(f"{visible(name)} was requested {times}{last}; there is no #{occurrence}")
    return by_name[occurrence - 1]


def _named(survey: _Survey, name: str) -> list[_Exchange]:
    """Return the requests to a place, in order; without a query in `name` whatever theirs is."""
    ordered = sorted(survey.exchanges.values(), key=lambda one: one.seq)
    exact = [one for one in ordered if _place(one) == name]
    return exact or [one for one in ordered if _place(one).partition("?")[0] == name]


def _place(exchange: _Exchange) -> str:
    return f"{exchange.request.host}{exchange.request.path}"


def _candidates(name: str, survey: _Survey) -> str:
    """Name the nearest places that were requested."""
    first: dict[str, _Exchange] = {}
    for one in sorted(survey.exchanges.values(), key=lambda one: one.seq):
        first.setdefault(_place(one).partition("?")[0], one)
    near = names(name, first, NAMED, 0.3) or list(first)[-NAMED:]
    listed = ", ".join(f"{visible(place)} (event {first[place].seq})" for place in near)
    return f"nearest {'are' if len(near) > 1 else 'is'} {listed}"
