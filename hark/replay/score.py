"""The score that a replay plays from: which recorded exchange a request is, and what may come in when. No IO.

Always: a request gets the answer of the first recorded request with the same key that no other has got, and
of no other; nothing is guessed. What came in is released in the recorded order, and no part of it before each
blocking action of the agent's that came before it there: a request's head and end, its going away, a name or
connection that was denied. Names and connections that are allowed are matched where they can be, and nothing
waits for them: which of them a program needs depends on how long its connections live.

A request that is streamed is matched at its end, or by its head where the recorded answer began sooner. Its
head stands for the first such head of the recording until then.

Not done here: waiting, clocks, bytes on a wire (`mediator.playback`), and what a key is made of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

from hark.bundle.events import (
    AGENT_LEFT,
    REFUSED,
    DnsDecision,
    DnsQuery,
    EgressAttempt,
    EgressDecision,
    Event,
    LlmRequest,
    LlmResponseEnd,
    RequestChunk,
)
from hark.replay.recorded import (
    Action,
    Decision,
    Frame,
    Part,
    Recorded,
    Refused,
    Withheld,
    asked_of,
    question_of,
    read,
    words_of,
)


class Keys(Protocol):
    """What makes two requests the same."""

    def key(self, request: LlmRequest, body: bytes | None) -> Hashable:
        """Return the key of a request, or of its head alone where `body` is None. MUST take any bytes."""
        ...

    def nearest(self, request: LlmRequest, body: bytes | None, recorded: list[Recorded]) -> str:
        """Return in words which of `recorded` is nearest and what differs; nothing where none is near."""
        ...


class Miss(NamedTuple):
    """A request for which there is no recording."""

    request: LlmRequest
    words: str
    nearest: str
    """Which recorded request is nearest and what differs, in words."""


@dataclass(slots=True)
class Live:
    """An exchange of the replay's."""

    request: LlmRequest
    body: bytearray = field(default_factory=bytearray)
    claim: Recorded | None = None
    """Whose head this one's stands for, until it is matched."""
    recorded: Recorded | None = None
    """What it was matched with."""
    at: int = 0
    """The part that comes next."""
    ended: bool = False
    """Whether the request is known to its end."""
    asked: bool = False
    """Whether its answer is wanted of the recording: nothing waits for one that is not."""

    @property
    def part(self) -> Part | None:
        """Return what comes next of its answer."""
        if self.recorded is None or self.at >= len(self.recorded.parts):
            return None
        return self.recorded.parts[self.at]


class Score:
    """One recording, and how far a replay of it is."""

    def __init__(self, frames: Iterable[Frame], keys: Keys) -> None:
        self.recording = read(frames)
        self._keys = keys
        self._actions = self.recording.actions
        self._blocking = [action for action in self._actions if action.blocking]
        self._first = 0
        """Of the blocking actions, all before this one are done."""
        self._by_key: dict[Hashable, list[Recorded]] | None = None
        self._taken: set[int] = set()
        """The events of the recorded requests that have been asked."""
        self._live: dict[int, Live] = {}
        self._over: list[Live] = []
        self._decisions: dict[tuple[str, ...], deque[Decision]] = defaultdict(deque)
        for decision in self.recording.decisions:
            self._decisions[decision.asked].append(decision)
        self._waiting: dict[int, Part] = {}
        """Parts outside of exchanges that somebody waits for."""
        self._attempt: EgressAttempt | None = None
        self._query: DnsQuery | None = None
        self._latest: Part | None = None
        self._last = (-1, 0)
        self.changes = 0
        """Grows with each action of the agent's that was matched."""

    def observe(self, event: Event) -> Miss | None:
        """Take what the replay has just recorded. A request that no recording has is a Miss."""
        observer = self._OBSERVERS.get(type(event))
        return None if observer is None else observer(self, event)

    def take(self) -> Part | None:
        """Return the part that lets go on what was decided last, and wait for it; None: it may at once."""
        part, self._latest = self._latest, None
        if part is not None:
            self._waiting[part.seq] = part
        return part

    def of(self, exchange: int) -> Live | None:
        """Return an exchange of the replay's that is under way."""
        return self._live.get(exchange)

    def next(self) -> Part | None:
        """Return what comes next of all that is wanted: it may be held still."""
        parts = [part for live in self._live.values() if live.asked and (part := _to_come(live)) is not None]
        return min((*parts, *self._waiting.values()), key=lambda part: part.seq, default=None)

    def may_release(self, part: Part) -> bool:
        """Tell whether all that the agent had done before this part it has done here too."""
        awaited = self._awaited()
        if awaited is not None and awaited.seq < part.seq:
            return False
        live = self._whose(part)
        return live is None or live.ended or len(live.body) >= part.sent

    def released(self, part: Part) -> None:
        """Note that a part went to the agent."""
        if self._waiting.pop(part.seq, None) is None:
            live = self._whose(part)
            if live is not None:
                live.at += 1
        self._passed(part.seq, part.time_ns)

    def forgo(self, part: Part) -> None:
        """Let a decision go on out of its order: whoever waits for it is not what the recording had there."""
        self._waiting.pop(part.seq, None)

    def is_decision(self, part: Part) -> bool:
        """Tell whether a part is the way on of a name or a connection, and not of an answer."""
        return part.seq in self._waiting

    def waiting_for(self, part: Part) -> Action | None:
        """Return the action that `part` waits for; None: it may be released, or nothing will let it."""
        awaited = self._awaited()
        if awaited is not None and awaited.seq < part.seq:
            return awaited
        live = self._whose(part)
        if live is not None and live.recorded is not None and isinstance(part.piece, Withheld):
            return live.recorded.left or self.recording.ended
        if live is not None and live.recorded is not None and not self.may_release(part):
            return live.recorded.end
        return None

    def held(self) -> list[tuple[Part, str]]:
        """Return all that is wanted and not released, in order, each with whose answer it is in words."""
        found = [(part, "the way on of a name or a connection") for part in self._waiting.values()]
        found.extend(
            (part, f"the answer to {words_of(live.request)}")
            for live in self._live.values()
            if live.asked and (part := live.part) is not None
        )
        return sorted(found, key=lambda pair: pair[0].seq)

    def unconsumed(self) -> list[str]:
        """Name each recorded answer that was not used to its end."""
        used = {live.recorded.seq: live for live in (*self._live.values(), *self._over) if live.recorded}
        return [
            words
            for recorded in self.recording.exchanges.values()
            if (words := _left_over(recorded, used.get(recorded.seq)))
        ]

    def now_ns(self) -> int:
        """Return when the recording was where the replay is: the time of what the agent does next."""
        seq, time_ns = self._last
        at = bisect_right(self._actions, seq, key=lambda action: action.seq)
        upcoming = next((action for action in self._actions[at:] if not action.done), None)
        return time_ns if upcoming is None else max(time_ns, upcoming.time_ns)

    @property
    def last_ns(self) -> int:
        """Return the recorded time of the last thing that was matched or released."""
        return self._last[1]

    # What the agent does.

    def _request(self, event: LlmRequest) -> Miss | None:
        live = self._live[event.exchange] = Live(event)
        live.body += event.body
        live.ended = not event.streaming
        if live.ended:
            return self._match(live)
        key = self._keys.key(event, None)
        for recorded in self.recording.exchanges.values():
            if recorded.head.done or not recorded.request.streaming:
                continue
            if self._keys.key(recorded.request, None) == key:
                live.claim = recorded
                self._done(recorded.head)
                if recorded.began_early:
                    self._bind(live, recorded)
                break
        return None

    def _request_chunk(self, event: RequestChunk) -> Miss | None:
        live = self._live.get(event.exchange)
        if live is None:
            return None
        live.body += event.data
        self.changes += 1
        live.ended = event.last
        if not event.last:
            return None
        if live.recorded is None:
            return self._match(live)
        return self._ended(live, live.recorded)

    def _ended(self, live: Live, recorded: Recorded) -> Miss | None:
        """See at the end of a request that was matched by its head that it was the same to the end."""
        if recorded.end is None:
            return None
        mine, theirs = (self._keys.key(one.request, bytes(one.body)) for one in (live, recorded))
        if mine != theirs:
            return self._miss(live, [recorded])
        self._done(recorded.end)
        return None

    def _match(self, live: Live) -> Miss | None:
        """Find the recording of a request that is known to its end."""
        same = self._keyed().get(self._keys.key(live.request, bytes(live.body)), [])
        recorded = next((one for one in same if one.seq not in self._taken), None)
        if recorded is None:
            if same:
                times = f"{len(same)} times" if len(same) > 1 else "once"
                words = f"it was asked {times} when it was recorded, and is asked again"
                return Miss(live.request, words, "")
            return self._miss(live, list(self.recording.exchanges.values()))
        self._settle_claims(live, recorded)
        self._done(recorded.head)
        if recorded.end is not None:
            self._done(recorded.end)
        self._bind(live, recorded)
        return None

    def _settle_claims(self, live: Live, recorded: Recorded) -> None:
        """Whoever stood for the recording that this one turned out to be stands for this one's."""
        mine, live.claim = live.claim, None
        if mine is recorded:
            return
        for other in self._live.values():
            if other.claim is recorded and other.recorded is None:
                other.claim = mine
                return
        if mine is not None:
            mine.head.done = False
            self._first = 0

    def _bind(self, live: Live, recorded: Recorded) -> None:
        live.recorded = recorded
        self._taken.add(recorded.seq)

    def _miss(self, live: Live, candidates: list[Recorded]) -> Miss:
        body = bytes(live.body)
        return Miss(live.request, "", self._keys.nearest(live.request, body, candidates))

    def _response_end(self, event: LlmResponseEnd) -> Miss | None:
        live = self._live.pop(event.exchange, None)
        if live is None:
            return None
        self._over.append(live)
        recorded = live.recorded or live.claim
        if recorded is None:
            return None
        if live.recorded is None and not live.request.streaming:
            return None
        if event.error == AGENT_LEFT and recorded.left is not None:
            self._bind(live, recorded)
            self._done(recorded.left)
        elif event.error.startswith(REFUSED) and isinstance(recorded.parts[-1].piece, Refused):
            self._bind(live, recorded)
            live.at = len(recorded.parts)
            self._passed(recorded.parts[-1].seq, recorded.parts[-1].time_ns)
        return None

    def _tried(self, event: EgressAttempt) -> None:
        self._attempt = event

    def _tried_so(self, event: EgressDecision) -> None:
        tried, self._attempt = self._attempt, None
        if tried is not None:
            self._decided(asked_of(tried, allowed=event.allowed))

    def _queried(self, event: DnsQuery) -> None:
        self._query = event

    def _named(self, event: DnsDecision) -> None:
        query, self._query = self._query, None
        if query is not None:
            self._decided(question_of(query, allowed=event.allowed))

    def _decided(self, asked: tuple[str, ...]) -> None:
        waiting = self._decisions.get(asked)
        self._latest = None
        if waiting:
            decision = waiting.popleft()
            self._latest = decision.part
            self._done(decision.action)

    # Order.

    def _done(self, action: Action) -> None:
        action.done = True
        self.changes += 1
        self._passed(action.seq, action.time_ns)

    def _passed(self, seq: int, time_ns: int) -> None:
        if seq > self._last[0]:
            self._last = (seq, max(time_ns, self._last[1]))

    def _awaited(self) -> Action | None:
        """Return the first blocking action that was not done yet."""
        while self._first < len(self._blocking) and self._blocking[self._first].done:
            self._first += 1
        return self._blocking[self._first] if self._first < len(self._blocking) else None

    def _whose(self, part: Part) -> Live | None:
        return next((live for live in self._live.values() if live.part is part), None)

    def _keyed(self) -> dict[Hashable, list[Recorded]]:
        """Return the recorded requests by key; made when the first is asked for."""
        if self._by_key is None:
            keyed: dict[Hashable, list[Recorded]] = defaultdict(list)
            for recorded in self.recording.exchanges.values():
                keyed[self._keys.key(recorded.request, bytes(recorded.body))].append(recorded)
            self._by_key = keyed
        return self._by_key

    _OBSERVERS: ClassVar[Mapping[type[Any], Callable[[Score, Any], Miss | None]]] = {
        LlmRequest: _request,
        RequestChunk: _request_chunk,
        LlmResponseEnd: _response_end,
        EgressAttempt: _tried,
        EgressDecision: _tried_so,
        DnsQuery: _queried,
        DnsDecision: _named,
    }
    """Who takes an event of which type."""


def _to_come(live: Live) -> Part | None:
    """Return what comes next of an answer, unless that is nothing at all."""
    part = live.part
    return None if part is None or isinstance(part.piece, (Withheld, Refused)) else part


def _left_over(recorded: Recorded, live: Live | None) -> str:
    """Say what of a recorded answer was not used, or nothing."""
    if live is None:
        return f"the answer to {recorded} (event {recorded.seq}) was not asked for"
    rest = recorded.parts[live.at :]
    if not rest:
        return ""
    if isinstance(rest[0].piece, Refused):
        return f"{recorded} (event {recorded.seq}) was not refused as it was when recorded"
    if isinstance(rest[0].piece, Withheld):
        if recorded.left is None or recorded.left.done:
            return ""
        return f"the agent did not go away from {recorded} (event {recorded.seq}) as it did when recorded"
    if not live.at:
        return f"the answer to {recorded} (event {recorded.seq}) was not used"
    used = f"part {live.at} of {len(recorded.parts)}"
    return f"the answer to {recorded} (event {recorded.seq}) was used up to {used}"
