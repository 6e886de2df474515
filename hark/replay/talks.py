"""Recorded conversations that are no HTTP: what the agent said in each, as one stream of bytes. No IO.

The stream of a raw connection, or of one that was upgraded to be such, is its bytes; of a WebSocket and of a
tool server it is the messages, each spelled by value where it is JSON. Always: what a conversation of the
replay's says is a beginning of what the recorded one said that it stands for, or it is a difference; how it
was cut into pieces does not count. Those to one place are matched in the order in which they began; where
what one says shows it to be another, and it has got nothing yet that the other did not get, it becomes that.

Not done here: the turns in which the other side's parts come, which is `hark.replay.score`.
"""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hark.bundle.events import McpMessage, WebSocketMessage
from hark.policy.jsonpath import Steps
from hark.replay import jsonform
from hark.replay.marks import Marks
from hark.replay.pieces import Action, End, Failed, Part, Withheld

type Lane = tuple[str, ...]
"""A kind of conversation and with whom: those of one lane can be taken for each other."""

TUNNEL: Final = "tunnel"
MCP: Final = "mcp"
WEBSOCKET: Final = "websocket"
UPGRADED: Final = "upgraded"
PUBLISHED: Final = "published"
_IN_EXCHANGES: Final = frozenset((WEBSOCKET, UPGRADED))
_OF_BYTES: Final = frozenset((TUNNEL, UPGRADED))


class Differs(NamedTuple):
    """The agent said something else than it did when it was recorded."""

    words: str
    event: int


@dataclass(slots=True)
class Talk:
    """One recorded conversation."""

    lane: Lane
    seq: int
    """Its first event."""
    said: bytearray = field(default_factory=bytearray)
    """All that the agent said."""
    acts: list[tuple[int, Action]] = field(default_factory=list)
    """What the agent did, each with how much it had said by then."""
    hushed: Action | None = None
    """The end of what the agent said, where it was the agent that ended it."""
    parts: list[Part] = field(default_factory=list)
    """What the other side said; of a WebSocket its exchange has that."""
    port: int = 0
    """Of the agent's, where the other side is the operator's."""

    def __str__(self) -> str:
        match self.lane:
            case (kind, place) if kind == TUNNEL:
                return f"the raw TCP connection to {place}"
            case (kind, server) if kind == MCP:
                return f"the connection to mcp.{server}"
            case (kind, place, *_) if kind == WEBSOCKET:
                return f"the WebSocket {place}"
            case (kind, place, *_) if kind == UPGRADED:
                return f"the upgraded connection {place}"
            case _:
                return f"the connection from {self.lane[1]}"

    @property
    def is_cut(self) -> bool:
        """Tell whether it was ended from outside, so that how much the agent said last was chance."""
        return any(isinstance(part.piece, Failed) for part in reversed(self.parts))

    def event_at(self, place: int) -> int:
        """Return the event in which what stands at a place of the stream was said, or the last one."""
        for upto, action in self.acts:
            if place < upto:
                return action.seq
        return self.acts[-1][1].seq if self.acts else self.seq


@dataclass(slots=True)
class LiveTalk:
    """A conversation of the replay's."""

    talk: Talk
    said: bytearray = field(default_factory=bytearray)
    at: int = 0
    """The part that comes next."""
    hushed: bool = False
    over: bool = False
    told: int = 0
    """How many of the acts are known to be done."""

    @property
    def part(self) -> Part | None:
        """Return what the other side says next; None: nothing any more."""
        part = self.talk.parts[self.at] if self.at < len(self.talk.parts) else None
        return None if part is None or isinstance(part.piece, Withheld) else part

    def could_be(self, talk: Talk) -> bool:
        """Tell whether it could as well be another one, by all that has been said in it."""
        mine, theirs = self.talk.parts[: self.at], talk.parts[: self.at]
        if [part.piece for part in mine] != [part.piece for part in theirs]:
            return False
        return _begins(talk, self.said) and not (self.hushed and len(self.said) < len(talk.said))


class Talks:
    """The conversations of a recording, and those of the replay that stand for them."""

    def __init__(
        self,
        recorded: Sequence[Talk],
        do: Callable[[Action], None],
        undo: Callable[[Action], None],
        give_up: Callable[[Part], None],
    ) -> None:
        """`do` is told of each action that has been done, `undo` that it was another that was done.

        `give_up` is told of a part that comes next no longer where it did.
        """
        self._recorded = recorded
        self._do = do
        self._undo = undo
        self._give_up = give_up
        self._live: dict[int, LiveTalk] = {}
        self._held: dict[int, LiveTalk] = {}
        """Who stands for a recorded one, by its first event."""
        self._lanes: dict[Lane, list[Talk]] = defaultdict(list)
        self._next: dict[Lane, int] = defaultdict(int)
        """Of a lane, before which place each one has somebody who stands for it."""
        self._place: dict[int, int] = {}
        self._part_of: dict[int, Talk] = {}
        for talk in recorded:
            self._place[talk.seq] = len(self._lanes[talk.lane])
            self._lanes[talk.lane].append(talk)
            self.renew(talk)

    def renew(self, talk: Talk) -> None:
        """Take that a recorded one has other parts: a fork puts its own in before it begins."""
        self._part_of |= dict.fromkeys((part.seq for part in talk.parts), talk)

    def of(self, number: int) -> LiveTalk | None:
        """Return a conversation of the replay's."""
        return self._live.get(number)

    def whose(self, part: Part) -> LiveTalk | None:
        """Return the conversation in which a part comes next."""
        talk = self._part_of.get(part.seq)
        live = None if talk is None else self._held.get(talk.seq)
        return live if live is not None and live.part is part else None

    def begun(self, number: int, lane: Lane) -> Differs | None:
        """Take the beginning of one."""
        talk = self._free(lane)
        if talk is None:
            times = len(self._lanes.get(lane, ()))
            often = f"it is made once more than the {times} times" if times else "none was recorded"
            return Differs(f"no recording for {Talk(lane, -1)}: {often}", -1)
        self._live[number] = self._held[talk.seq] = live = LiveTalk(talk)
        self._tell(live)
        return None

    def _free(self, lane: Lane) -> Talk | None:
        """Return the first recorded one of a lane that nobody stands for."""
        talks = self._lanes.get(lane, [])
        while self._next[lane] < len(talks) and talks[self._next[lane]].seq in self._held:
            self._next[lane] += 1
        return talks[self._next[lane]] if self._next[lane] < len(talks) else None

    def said(self, number: int, data: bytes) -> Differs | None:
        """Take what the agent said."""
        live = self._live.get(number)
        if live is None:
            return None
        at = len(live.said)
        live.said += data
        if not _goes_on(live.talk, at, data) and not self._become(live):
            return _difference(live)
        self._tell(live)
        return None

    def hushed(self, number: int) -> Differs | None:
        """Take that the agent says nothing more."""
        live = self._live.get(number)
        if live is None:
            return None
        live.hushed = True
        short = len(live.said) < len(live.talk.said)
        if short and not live.talk.is_cut and not self._become(live):
            at = len(live.said)
            words = f"the agent ended {live.talk} after {at} of {len(live.talk.said)} recorded bytes"
            return Differs(f"{words} (event {live.talk.event_at(at)})", live.talk.event_at(at))
        self._tell(live)
        return None

    def ended(self, number: int, error: str = "") -> None:
        """Take that nothing more is said in it by anybody, and why."""
        live = self._live.get(number)
        if live is None:
            return
        live.over = True
        match None if live.part is None else live.part.piece:
            case End():
                live.at += 1  # it did not matter any more
            case Failed(reason) if reason == error:
                live.at += 1  # it came about by itself
            case _:
                pass

    def unconsumed(self) -> Iterator[str]:
        """Name what was not said again, or not used."""
        for talk in self._recorded:
            live = self._held.get(talk.seq)
            if live is None:
                if talk.lane[0] not in _IN_EXCHANGES:  # whose exchange is named
                    yield f"{talk} (event {talk.seq}) was not made"
            elif live.part is not None:
                yield f"{talk} (event {talk.seq}) was used up to part {live.at} of {len(talk.parts)}"
            elif len(live.said) < len(talk.said) and not talk.is_cut and talk.lane[0] != PUBLISHED:
                at = talk.event_at(len(live.said))
                yield f"the agent said {len(live.said)} of {len(talk.said)} bytes in {talk} (event {at})"

    def _tell(self, live: LiveTalk) -> None:
        acts = live.talk.acts
        while live.told < len(acts) and acts[live.told][0] <= len(live.said):
            action = acts[live.told][1]
            live.told += 1
            if not action.done:
                self._do(action)
        if live.hushed and live.talk.hushed is not None and not live.talk.hushed.done:
            self._do(live.talk.hushed)

    def _become(self, live: LiveTalk) -> bool:
        """Stand for another one, if what was said fits it; whoever stood for that takes this one's place."""
        for talk in self._lanes[live.talk.lane]:
            if talk is live.talk or not live.could_be(talk):
                continue
            other = self._held.get(talk.seq)
            if other is None or (not other.over and other.could_be(live.talk)):
                self._swap(live, talk, other)
                return True
        return False

    def _swap(self, live: LiveTalk, talk: Talk, other: LiveTalk | None) -> None:
        was = live.talk
        for part in (live.part, other.part if other is not None else None):
            if part is not None:
                self._give_up(part)
        for one in (was, talk):
            for action in (*(action for _, action in one.acts), one.hushed):
                if action is not None and action.done:
                    self._undo(action)
        live.talk, live.told, self._held[talk.seq] = talk, 0, live
        del self._held[was.seq]
        self._next[was.lane] = min(self._next[was.lane], self._place[was.seq])
        if other is not None:
            other.talk, other.told, self._held[was.seq] = was, 0, other
            self._tell(other)


def message(event: WebSocketMessage | McpMessage, kind: str, value: bytes) -> bytes:
    """Return how a message stands in the stream: none is a beginning of another."""
    refused = b" refused" if isinstance(event, McpMessage) and event.note else b""
    return b"%s%s %d:%s\n" % (kind.encode(), refused, len(value), value)


def by_value(data: bytes, marks: Marks) -> bytes:
    """Return what a message is compared by (rules `spelling` and `placeholders`)."""
    return marks.on(counting(data, marks.ignored))


def counting(data: bytes, ignored: Sequence[Steps]) -> bytes:
    """Return JSON by value without what stands at these paths; other bytes as they are."""
    if () in ignored:
        return b""
    with contextlib.suppress(jsonform.NotJsonError):
        data = jsonform.spell(jsonform.without(jsonform.load(data), ignored))
    return data


def _begins(talk: Talk, said: bytearray) -> bool:
    if talk.lane[0] == PUBLISHED:
        return True  # not compared: rule `published`
    return talk.said.startswith(said) or (talk.is_cut and said.startswith(talk.said))


def _goes_on(talk: Talk, at: int, data: bytes) -> bool:
    """Tell whether what is said behind a place that was as recorded is as recorded as well."""
    if talk.lane[0] == PUBLISHED:
        return True  # not compared: rule `published`
    recorded = talk.said[at : at + len(data)]
    return recorded == data or (data.startswith(recorded) and talk.is_cut)


def _difference(live: LiveTalk) -> Differs:
    was, now, talk = live.talk.said, live.said, live.talk
    at = next((at for at, (one, other) in enumerate(zip(was, now, strict=False)) if one != other), None)
    if at is None:
        at = len(was)
        what = f"{len(now) - at} bytes more than the {at} that were recorded"
        if talk.lane[0] not in _OF_BYTES:
            what = f"another message, {_shown(now, at)}, after the last that was recorded"
    elif talk.lane[0] in _OF_BYTES:
        what = f"byte {at} is 0x{now[at]:02x}, and was 0x{was[at]:02x} when recorded"
    else:
        number, start = _message_at(talk, at)
        what = f"message {number} is {_shown(now, start, at)}, and was {_shown(was, start, at)} when recorded"
    event = talk.event_at(at)
    return Differs(f"what the agent says in {talk} differs: {what} (event {event})", event)


def _message_at(talk: Talk, at: int) -> tuple[int, int]:
    """Return which message a place is in, counted from 1, and where it begins."""
    ends = [0, *dict.fromkeys(upto for upto, _ in talk.acts if upto)]
    number = sum(upto <= at for upto in ends)
    return number, ends[number - 1] if number <= len(ends) else 0


_BEFORE: Final = 24
_AFTER: Final = 40


def _shown(stream: bytearray, start: int, at: int | None = None) -> str:
    """Show what stands about a place, of one message."""
    at = start if at is None else at
    first = max(start, at - _BEFORE)
    text = bytes(stream[first : at + _AFTER]).partition(b"\n")[0].decode("utf-8", "backslashreplace")
    return repr(f"{'...' if first > start else ''}{text}")
