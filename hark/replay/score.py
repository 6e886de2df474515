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

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Final

from hark.bundle.events import (
    REFUSED,
    RUN_ENDED,
    DnsDecision,
    DnsQuery,
    EgressAttempt,
    EgressDecision,
    Event,
    LlmRequest,
    LlmResponseEnd,
    McpMessage,
    RequestChunk,
    TunnelData,
    WebSocketMessage,
)
from hark.replay.canonical import NO_RULES, Canonical, Gathering, Rules
from hark.replay.heard import Heard
from hark.replay.live import Live, Miss, left_over, to_come
from hark.replay.pieces import Action, End, Failed, Part, Refused, Typed, Withheld
from hark.replay.recorded import (
    AGENT_ENDED,
    Decision,
    Frame,
    Recorded,
    asked_of,
    question_of,
    read,
    words_of,
)
from hark.replay.renames import Renames
from hark.replay.talks import Differs, LiveTalk, Talks
from hark.replay.unasked import Unasked

MAX_COMPARED: Final = 4096
"""Recorded requests that a missed one is compared with, the first that are left: a moment's work."""

type Nearest = Callable[[Canonical, Sequence[tuple[int, Canonical]]], str]
"""MUST say in words which of some recorded requests, each with its event, is nearest to one, and what
differs; nothing where none is near."""


def named_alike(request: Canonical, recorded: Sequence[tuple[int, Canonical]]) -> str:
    """Name the first recorded request to the same place, and what of it differs."""
    for seq, other in recorded:
        if other.name == request.name:
            parts = zip(Canonical._fields, request, other, strict=True)
            differing = [part for part, mine, theirs in parts if mine != theirs]
            return f"nearest is event {seq}, of which {', '.join(differing) or 'nothing'} differs"
    return ""


class Score:
    """One recording, and how far a replay of it is."""

    def __init__(
        self,
        frames: Iterable[Frame],
        rules: Rules = NO_RULES,
        nearest: Nearest = named_alike,
        *,
        renames: Renames | None = None,
    ) -> None:
        """`rules` are the recorded run's; `renames` is there where a renaming was asked for."""
        self._renames = renames
        self.recording = read(frames, rules)
        self._rules = rules
        self._nearest = nearest
        self._actions = self.recording.actions
        self._blocking = [action for action in self._actions if action.blocking]
        self._first = 0
        """Of the blocking actions, all before this one are done."""
        self._left = Unasked(self.recording.exchanges.values(), rules)
        self._has_missed = False
        self._spent: dict[bytes, int] = defaultdict(int)
        """How often a request was made of those that were."""
        self._live: dict[int, Live] = {}
        self._over: list[Live] = []
        self._decisions: dict[tuple[str, ...], deque[Decision]] = defaultdict(deque)
        for decision in self.recording.decisions:
            self._decisions[decision.asked].append(decision)
        self._waiting: dict[int, Part] = {}
        """Parts outside of exchanges that somebody waits for."""
        self._called: dict[int, str] = {}
        """What those of them are that are no way on of a name or a connection, and no input."""
        self.given_up: list[Part] = []
        """Parts of conversations that turned out to be others: nobody waits for them as they did."""
        self.talks = Talks(self.recording.talks, self._done, self._undone, self.given_up.append)
        self._heard = Heard(self.talks, rules.marks)
        self._attempt: EgressAttempt | None = None
        self._query: DnsQuery | None = None
        self._latest: Part | None = None
        self._last = (-1, 0)
        answers = (one.parts for one in self.recording.exchanges.values() if one.parts)
        self._answered = max((parts[-1].seq for parts in answers), default=-1)

    def observe(self, event: Event) -> Miss | Differs | None:
        """Take what the replay has just recorded. A request that no recording has is a Miss."""
        observer = self._OBSERVERS.get(type(event))
        return None if observer is None else observer(self, event)

    def take(self) -> Part | None:
        """Return the part that lets go on what was decided last, and wait for it; None: it may at once."""
        part, self._latest = self._latest, None
        if part is not None:
            self._waiting[part.seq] = part
        return part

    def expect(self, seq: int) -> Part | None:
        """Return the input that was recorded as this event, and let it have its turn."""
        part = self.recording.inputs.get(seq)
        if part is not None:
            self._waiting[seq] = part
        return part

    def want(self, part: Part, words: str) -> None:
        """Let a part outside of exchanges, input and decisions have its turn."""
        self._waiting[part.seq] = part
        self._called[part.seq] = words

    def talk(self, number: int) -> LiveTalk | None:
        """Return a conversation of the replay's that is no exchange."""
        return self.talks.of(number)

    def of(self, exchange: int) -> Live | None:
        """Return an exchange of the replay's that is under way."""
        return self._live.get(exchange)

    def next(self) -> Part | None:
        """Return what comes next of all that is wanted: it may be held still."""
        parts = [part for live in self._live.values() if live.asked and (part := to_come(live)) is not None]
        return min((*parts, *self._waiting.values()), key=lambda part: part.seq, default=None)

    def may_release(self, part: Part) -> bool:
        """Tell whether all that the agent had done before this part it has done here too."""
        awaited = self.awaited()
        if awaited is not None and awaited.seq < part.seq:
            return False
        live = self._whose(part)
        return live is None or live.ended or live.sent >= part.sent

    def released(self, part: Part) -> None:
        """Note that a part went to the agent."""
        if self._waiting.pop(part.seq, None) is not None:
            talk = self.talks.whose(part)
            if talk is not None:
                talk.at += 1
        else:
            live = self._whose(part)
            if live is not None:
                live.at += 1
        self._passed(part.seq, part.time_ns)

    def forgo(self, part: Part) -> None:
        """Let a decision go on out of its order: whoever waits for it is not what the recording had there."""
        self._waiting.pop(part.seq, None)

    def is_decision(self, part: Part) -> bool:
        """Tell whether a part is the way on of a name or a connection."""
        if part.seq not in self._waiting or part.seq in self._called:
            return False
        return not isinstance(part.piece, Typed)

    def to_decide(self, event: DnsDecision | EgressDecision) -> Part | None:
        """Return the part that a decision about what was asked last will be matched with; it is not yet."""
        if isinstance(event, DnsDecision):
            asked = None if self._query is None else question_of(self._query, allowed=event.allowed)
        else:
            asked = None if self._attempt is None else asked_of(self._attempt, allowed=event.allowed)
        waiting = None if asked is None else self._decisions.get(asked)
        return waiting[0].part if waiting else None

    def waiting_for(self, part: Part) -> Action | None:
        """Return the action that `part` waits for; None: it may be released, or nothing will let it."""
        awaited = self.awaited()
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
        found = [
            (part, self._called.get(part.seq) or _words_of_waiting(part)) for part in self._waiting.values()
        ]
        found.extend(
            (part, f"the answer to {words_of(live.request)}")
            for live in self._live.values()
            if live.asked and (part := live.part) is not None
        )
        return sorted(found, key=lambda pair: pair[0].seq)

    def unconsumed(self) -> list[str]:
        """Name each recorded answer that was not used to its end."""
        used = {live.recorded.seq: live for live in (*self._live.values(), *self._over) if live.recorded}
        left = [
            words
            for recorded in self.recording.exchanges.values()
            if (words := left_over(recorded, used.get(recorded.seq)))
        ]
        return [*left, *self.talks.unconsumed()]

    def now_ns(self) -> int:
        """Return when the recording was where the replay is: the time of what the agent does next."""
        seq, time_ns = self._last
        at = bisect_right(self._actions, seq, key=lambda action: action.seq)
        later = (self._actions[place] for place in range(at, len(self._actions)))
        upcoming = next((action for action in later if not action.done), None)
        return time_ns if upcoming is None else max(time_ns, upcoming.time_ns)

    @property
    def last_ns(self) -> int:
        """Return the recorded time of the last thing that was matched or released."""
        return self._last[1]

    @property
    def is_played(self) -> bool:
        """Tell whether the last recorded answer has gone to the agent; false where none was recorded."""
        return 0 <= self._answered <= self._last[0]

    @property
    def verified(self) -> int:
        """Return how many recorded actions the agent has done again."""
        return sum(action.done for action in self._actions)

    @property
    def is_beyond(self) -> bool:
        """Tell whether the recorded run was live where the replay is."""
        live_from = self.recording.live_from
        return live_from is not None and self._last[0] >= live_from

    @property
    def under_way(self) -> Mapping[int, Live]:
        """Return the replay's exchanges that have not ended, by number."""
        return self._live

    def number_of(self, recorded: Recorded | None) -> int:
        """Return the replay's number of a recorded exchange; 0 where it has none."""
        found = (live for live in (*self._live.values(), *self._over) if live.recorded is recorded)
        return next((live.request.exchange for live in found if recorded is not None), 0)

    def is_used(self, exchange: int) -> bool:
        """Tell whether a recorded answer was used to its end; `exchange` is its number there."""
        recorded = self.recording.exchanges.get(exchange)
        found = (live for live in (*self._live.values(), *self._over) if live.recorded is recorded)
        return any(live.at >= len(live.recorded.parts) for live in found if live.recorded is not None)

    # What the agent does.

    def _request(self, event: LlmRequest) -> Miss | None:
        live = Live(event, Gathering(event), len(event.body), ended=not event.streaming)
        self._live[event.exchange] = live
        if live.ended:
            return self._match(live)
        recorded = self._left.claimed(event)
        if recorded is not None:
            live.claim = recorded
            self._done(recorded.head)
            if recorded.began_early:
                self._bind(live, recorded)
        return None

    def _request_chunk(self, event: RequestChunk) -> Miss | None:
        live = self._live.get(event.exchange)
        if live is None:
            return None
        live.gathered.add(event)
        live.sent += len(event.data)
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
        mine = live.gathered.canonical(self._rules)
        same = mine.key == recorded.key(self._rules)
        if not same and self._renames is not None:
            same = self._renames.find(mine, [recorded], self._rules) is not None
        if not same:
            return self._miss(live, [recorded])
        self._done(recorded.end)
        return None

    def _match(self, live: Live) -> Miss | None:
        """Find the recording of a request that is known to its end."""
        key = live.gathered.canonical(self._rules).key
        recorded = self._left.found(live.request, key)
        if recorded is None and self._renames is not None:
            mine = live.gathered.canonical(self._rules)
            recorded = self._renames.find(mine, self._left.values(), self._rules)
        if recorded is None:
            times = self._spent.get(key, 0)
            if not times:
                return self._miss(live, self._left.values())
            often = f"{times} times" if times > 1 else "once"
            return Miss(live.request, f"it was made {often} when it was recorded, and is made again", "")
        if self._renames is not None:
            self._renames.serve(recorded)
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
            self._undone(mine.head)
            self._left.give_back(mine)

    def _bind(self, live: Live, recorded: Recorded) -> None:
        live.recorded = recorded
        if self._left.take(recorded):
            self._spent[recorded.key(self._rules)] += 1
        if recorded.talk is not None and self.talks.of(live.request.exchange) is None:
            self.talks.begun(live.request.exchange, recorded.talk.lane)

    def _miss(self, live: Live, candidates: Iterable[Recorded]) -> Miss:
        if self._has_missed:  # the replay is ending, and who asks meanwhile is not looked into
            return Miss(live.request, "", "")
        self._has_missed = True
        mine = live.gathered.canonical(self._rules)
        theirs = [(one.seq, one.gathered.canonical(self._rules)) for one in islice(candidates, MAX_COMPARED)]
        return Miss(live.request, "", self._nearest(mine, theirs))

    def _response_end(self, event: LlmResponseEnd) -> Miss | None:
        live = self._live.pop(event.exchange, None)
        self._latest = None
        if live is None:
            return None
        self._over.append(live)
        recorded = live.recorded or live.claim
        if recorded is None:
            return None
        if live.recorded is None and not live.request.streaming:
            return None
        if event.error.startswith((*AGENT_ENDED, RUN_ENDED)) and recorded.left is not None:
            self._bind(live, recorded)
            self._done(recorded.left)
        elif event.error.startswith(REFUSED) and isinstance(recorded.parts[-1].piece, Refused):
            self._bind(live, recorded)
            live.at = len(recorded.parts)
            self._latest = recorded.parts[-1]
        elif live.recorded is not None and (event.error or recorded.is_websocket(event.status)):
            self._ended_alike(live, recorded, event)
        return None

    def _ended_alike(self, live: Live, recorded: Recorded, event: LlmResponseEnd) -> None:
        """Take its end for used where it ended by itself as it did then: whoever hung up first."""
        last = recorded.parts[-1].piece
        ended = "" if isinstance(last, End) else last.reason if isinstance(last, Failed) else None
        if live.at == len(recorded.parts) - 1 and event.error == ended:
            live.at += 1

    def _conversed(self, event: TunnelData | McpMessage | WebSocketMessage) -> Differs | None:
        return self._heard.take(event)

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
        self._passed(action.seq, action.time_ns)

    def _undone(self, action: Action) -> None:
        action.done = False
        self._first = min(self._first, bisect_left(self._blocking, action.seq, key=lambda one: one.seq))

    def _passed(self, seq: int, time_ns: int) -> None:
        if seq > self._last[0]:
            self._last = (seq, max(time_ns, self._last[1]))

    def awaited(self) -> Action | None:
        """Return the first blocking action that was not done yet."""
        while self._first < len(self._blocking) and self._blocking[self._first].done:
            self._first += 1
        return self._blocking[self._first] if self._first < len(self._blocking) else None

    def _whose(self, part: Part) -> Live | None:
        return next((live for live in self._live.values() if live.part is part), None)

    _OBSERVERS: ClassVar[Mapping[type[Any], Callable[[Score, Any], Miss | Differs | None]]] = {
        LlmRequest: _request,
        RequestChunk: _request_chunk,
        LlmResponseEnd: _response_end,
        EgressAttempt: _tried,
        EgressDecision: _tried_so,
        DnsQuery: _queried,
        DnsDecision: _named,
        TunnelData: _conversed,
        McpMessage: _conversed,
        WebSocketMessage: _conversed,
    }
    """Who takes an event of which type."""


def _words_of_waiting(part: Part) -> str:
    if isinstance(part.piece, Refused):
        return "a refusal"
    return "input" if isinstance(part.piece, Typed) else "the way on of a name or a connection"
