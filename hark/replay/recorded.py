"""A recorded run as playback needs it: what the agent did, what came in, and both in their order. No IO.

Always: each action and each part keeps the sequence number and the time of the event that it was recorded in,
so that the order of the two kinds is the recording's. The head of an answer stands where it was recorded
first: in kind 45, else in front of the answer's first piece, else at its end. Any events give a value; what
belongs to no exchange, or comes twice, is not played, and `stray` names the first such event.

Not done here: matching what a replay does with it, which is `hark.replay.score`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from hark.bundle.events import (
    AGENT_LEFT,
    REFUSED,
    RUN_ENDED,
    STREAM,
    BodyHash,
    Branch,
    DnsDecision,
    DnsQuery,
    EgressAttempt,
    EgressDecision,
    Input,
    Interim,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    McpMessage,
    PolicyLoaded,
    RequestChunk,
    ResponseHead,
    RunEnd,
    RunStart,
    Trailers,
    TunnelData,
    Unknown,
    WebSocketMessage,
)
from hark.replay.canonical import NO_RULES, Gathering, Rules
from hark.replay.conversing import Conversing, is_compared, is_kept
from hark.replay.pieces import (
    Action,
    Branched,
    Changed,
    Data,
    Early,
    End,
    Failed,
    Head,
    Message,
    Part,
    Piece,
    Refused,
    Tail,
    Typed,
    Withheld,
)
from hark.replay.talks import Talk

REQUEST: Final = "request"
"""The side of a branch at which the request itself was asked of a real server."""
NO_ANSWER: Final = 502
"""The status of the page that hark answers with where there is no answer."""
SWITCHED: Final = 101
AGENT_ENDED: Final = (AGENT_LEFT, "the agent sent what is no WebSocket frame")
"""How the reason begins where a WebSocket was ended by what the agent did."""
BY_HARK: Final = (b"server", b"hark")
"""The header of that page."""


PACKETS: Final = frozenset(("icmp", "igmp", "udp", "icmpv6", "sctp", "udplite"))
"""What is rejected packet by packet: looked at beside everything else, and sent again as time goes by.
Nothing waits for such."""


class Frame(NamedTuple):
    """One event of a recording, with its place in it. Times are nanoseconds since the run began."""

    seq: int
    time_ns: int
    event: Any
    """An `Event`, or one of a kind that this hark does not know."""


@dataclass(slots=True)
class Recorded:
    """One recorded exchange."""

    request: LlmRequest
    head: Action
    end: Action | None = None
    """The end of the request, `head` itself where it was recorded whole; None: it never ended."""
    left: Action | None = None
    """The agent's going away in the middle."""
    sent: int = 0
    """Bytes of the request's body, as far as it went."""
    gathered: Gathering = field(init=False)
    parts: list[Part] = field(default_factory=list)
    unplayable: str = ""
    """Why the answer is not there."""
    closed: bool = False
    head_part: Part | None = None
    talk: Talk | None = None
    """What the agent said, where it became a WebSocket or a raw stream."""
    pongs: int = 0
    """How many of the agent's pings were answered there."""

    _key: bytes = b""

    def __post_init__(self) -> None:
        self.gathered = Gathering(self.request)
        self.sent = len(self.request.body)

    def key(self, rules: Rules) -> bytes:
        """Return what the request is found by; it is made once."""
        if not self._key:
            self._key = self.gathered.canonical(rules).key
        return self._key

    @property
    def seq(self) -> int:
        """Return the event of the request."""
        return self.head.seq

    @property
    def has_length(self) -> bool:
        """Tell whether the answer's head says how long its body is."""
        heads = (part.piece for part in self.parts if isinstance(part.piece, Head))
        names = {name.lower() for head in heads for name, _ in head.headers}
        return b"content-length" in names and b"transfer-encoding" not in names

    def is_websocket(self, status: int) -> bool:
        """Tell whether the server switched protocols, by the status of its answer."""
        return self.talk is not None or status == SWITCHED

    @property
    def began_early(self) -> bool:
        """Tell whether something came in before the request had ended."""
        if self.end is None:
            return True
        return bool(self.parts) and self.parts[0].seq < self.end.seq

    def __str__(self) -> str:
        return words_of(self.request)


@dataclass(slots=True)
class Decision:
    """What was decided about a name or a connection: the action, and the part that let the agent go on."""

    asked: tuple[str, ...]
    """What it was about, as the replay finds it again."""
    action: Action
    part: Part
    answer: str = ""
    """The address that a name was given."""


@dataclass(slots=True)
class Recording:
    """All of one run."""

    started_at: int = 0
    exchanges: dict[int, Recorded] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    """In the order of the recording."""
    inputs: dict[int, Part] = field(default_factory=dict)
    """By their events."""
    talks: list[Talk] = field(default_factory=list)
    """What is no HTTP, in the order in which it began."""
    calls: list[tuple[Part, Talk]] = field(default_factory=list)
    """When the operator's side connected to a published port."""
    changes: list[Part] = field(default_factory=list)
    """When the policy became another one."""
    branches: list[Part] = field(default_factory=list)
    """Where the run went live with an answer that was played; a request that was asked then has it itself."""
    at_branches: dict[int, Changed] = field(default_factory=dict)
    """The policies that came into force there, by the event of the branch."""
    live_from: int | None = None
    """The event from which on the run was live, at first."""
    unknown: tuple[int, int] | None = None
    """The first event of a kind that nobody here knows, and the kind."""
    ended: Action | None = None
    """The run's end."""
    stray: str = ""
    """The first event that no recorder writes in its place, in words: nothing could ask for what it has."""

    def addresses(self) -> Mapping[str, str]:
        """Return the names that were given an address, with it; the first one counts."""
        given: dict[str, str] = {}
        for decision in self.decisions:
            if decision.answer:
                given.setdefault(decision.asked[1], decision.answer)
        return given


def words_of(request: LlmRequest) -> str:
    """Name a request for a person."""
    return f"{request.method} {request.host}{request.path}"


def read(frames: Iterable[Frame], rules: Rules = NO_RULES) -> Recording:
    """Read a recording, whose messages are compared by these rules."""
    reading = _Reading(rules)
    for frame in frames:
        reader = _READERS.get(type(frame.event))
        if reader is not None:
            reader(reading, frame, frame.event)
    reading.finish()
    return reading.recording


class _Reading:
    """A recording that is being read."""

    def __init__(self, rules: Rules) -> None:
        self.recording = Recording()
        self._asked: dict[tuple[str, ...], Frame] = {}
        self._conversing = conversing = Conversing(rules.marks, self.act)
        self.recording.talks = conversing.talks
        self.recording.calls = conversing.calls
        self._policies = 0
        self._branch = -1

    def act(self, frame: Frame, words: str, *, blocking: bool = True) -> Action:
        action = Action(frame.seq, frame.time_ns, words, blocking)
        self.recording.actions.append(action)
        return action

    def start(self, _frame: Frame, event: RunStart) -> None:
        self.recording.started_at = event.started_at

    def end(self, frame: Frame, _event: RunEnd) -> None:
        if self.recording.ended is not None:
            self._stray(frame, "is a second end of the run")
        self.recording.ended = Action(frame.seq, frame.time_ns, "the end of the run", blocking=False)

    def request(self, frame: Frame, event: LlmRequest) -> None:
        action = self.act(frame, words_of(event))
        recorded = Recorded(event, action, None if event.streaming else action)
        if event.exchange in self.recording.exchanges:
            self._stray(frame, f"is a second request of exchange {event.exchange}")
        self.recording.exchanges.setdefault(event.exchange, recorded)

    def request_chunk(self, frame: Frame, event: RequestChunk) -> None:
        recorded = self._open(event.exchange)
        if recorded is None or recorded.end is not None:
            return
        recorded.gathered.add(event)
        recorded.sent += len(event.data)
        if event.last:
            recorded.end = self.act(frame, f"the end of {recorded}")

    def interim(self, frame: Frame, event: Interim) -> None:
        self._part(frame, event.exchange, Early(event.status, event.raw_headers))

    def response_head(self, frame: Frame, event: ResponseHead) -> None:
        recorded = self._open(event.exchange)
        if recorded is not None and recorded.head_part is None:
            self._part(frame, event.exchange, Head(event.status, event.raw_headers, ends=False))
            recorded.head_part = recorded.parts[-1]

    def chunk(self, frame: Frame, event: LlmResponseChunk) -> None:
        self._head_here(frame, event.exchange)
        self._part(frame, event.exchange, Data(event.data))

    def trailers(self, frame: Frame, event: Trailers) -> None:
        if not event.from_agent:
            self._head_here(frame, event.exchange)
            self._part(frame, event.exchange, Tail(event.raw_headers))

    def response_end(self, frame: Frame, event: LlmResponseEnd) -> None:
        recorded = self._open(event.exchange)
        if recorded is None:
            self._stray(frame, f"ends exchange {event.exchange}, which has none to be ended")
            return
        recorded.closed = True
        if event.error.startswith(REFUSED):
            kept = [part for part in recorded.parts if isinstance(part.piece, Branched)]
            refused = Refused(event.error.removeprefix(REFUSED))
            recorded.parts = [*kept, Part(frame.seq, frame.time_ns, refused)]
            return
        if event.error and _by_hark(event):
            first = next((part for part in recorded.parts if not isinstance(part.piece, Branched)), frame)
            kept = [part for part in recorded.parts if isinstance(part.piece, (Early, Branched))]
            recorded.parts = [*kept, Part(first.seq, first.time_ns, Failed(event.error))]
            return
        if recorded.is_websocket(event.status):
            self._talk_ended(frame, recorded, event)
            return
        if event.error in (AGENT_LEFT, RUN_ENDED) or (event.error and not event.status):
            self._fill_head(recorded, frame, event, ends=False)
            if event.error == AGENT_LEFT:
                recorded.left = self.act(frame, f"the agent's going away from {recorded}")
            self._part(frame, event.exchange, Withheld(event.error), closed=True)
            return
        alone = all(isinstance(part.piece, (Early, Branched)) for part in recorded.parts)
        self._fill_head(recorded, frame, event, ends=alone and not event.error)
        last = Failed(event.error) if event.error else End()
        self._part(frame, event.exchange, last, closed=True)

    def _talk_ended(self, frame: Frame, recorded: Recorded, event: LlmResponseEnd) -> None:
        """Of a WebSocket the end is an act of the agent's, or comes in."""
        self._fill_head(recorded, frame, event, ends=False)
        last: Piece = Failed(event.error) if event.error else End()
        if event.error.startswith(AGENT_ENDED):
            recorded.left = self.act(frame, f"the agent's going away from {recorded}")
        if event.error.startswith((*AGENT_ENDED, RUN_ENDED)):
            last = Withheld(event.error)
        self._part(frame, event.exchange, last, closed=True)

    def body_hash(self, _frame: Frame, event: BodyHash) -> None:
        self.unplayable(event.exchange, "a body of it was recorded as a hash alone")

    def message(self, frame: Frame, event: WebSocketMessage) -> None:
        recorded = self._open(event.exchange)
        if recorded is None:
            return
        words, raw = words_of(recorded.request), event.type == STREAM
        recorded.talk = talk = self._conversing.websocket(event.exchange, frame, words, raw=raw)
        self._head_here(frame, event.exchange)
        if event.from_agent:
            if is_compared(event):
                self._conversing.said(frame, event, talk)
        elif is_kept(event):
            self._part(frame, event.exchange, Message(event.type, event.data, event.more))
        else:
            recorded.pongs += 1

    def tunnel(self, frame: Frame, event: TunnelData) -> None:
        self._conversing.tunnel(frame, event)

    def mcp(self, frame: Frame, event: McpMessage) -> None:
        self._conversing.mcp(frame, event)

    def policy(self, frame: Frame, event: PolicyLoaded) -> None:
        self._policies += 1
        if self._policies > 1:
            changed = Changed(event.source, event.raw)
            if frame.seq == self._branch + 1:
                self.recording.at_branches[self._branch] = changed
            else:
                self.recording.changes.append(Part(frame.seq, frame.time_ns, changed))

    def branch(self, frame: Frame, event: Branch) -> None:
        self._branch = frame.seq
        if self.recording.live_from is None:
            self.recording.live_from = frame.seq
        recorded = self._open(event.exchange) if event.side == REQUEST else None
        part = Part(frame.seq, frame.time_ns, Branched(event), 0 if recorded is None else recorded.sent)
        (self.recording.branches if recorded is None else recorded.parts).append(part)

    def unknown(self, frame: Frame, event: Unknown) -> None:
        if self.recording.unknown is None:
            self.recording.unknown = (frame.seq, event.kind)

    def unplayable(self, exchange: int, why: str) -> None:
        recorded = self.recording.exchanges.get(exchange)
        if recorded is not None:
            recorded.unplayable = why

    def input(self, frame: Frame, _event: Input) -> None:
        self.recording.inputs[frame.seq] = Part(frame.seq, frame.time_ns, Typed())

    def attempt(self, frame: Frame, event: EgressAttempt) -> None:
        self._asked["egress", event.host] = frame

    def decision(self, frame: Frame, event: EgressDecision) -> None:
        asked = self._asked.pop(("egress", event.host), None)
        if asked is not None:
            tried: EgressAttempt = asked.event
            about = asked_of(tried, allowed=event.allowed)
            words = f"the connection to {tried.host}:{tried.port}"
            waited = not event.allowed and tried.protocol not in PACKETS
            self._decided(asked, frame, about, words, waited=waited)

    def query(self, frame: Frame, event: DnsQuery) -> None:
        self._asked["dns", event.name] = frame

    def name(self, frame: Frame, event: DnsDecision) -> None:
        asked = self._asked.pop(("dns", event.name), None)
        if asked is not None:
            about = question_of(asked.event, allowed=event.allowed)
            words = f"the question for the name {event.name}"
            self._decided(asked, frame, about, words, waited=not event.allowed, answer=event.answer)

    def finish(self) -> None:
        """Of a recording that breaks off, what was under way stays so."""
        for exchange, recorded in self.recording.exchanges.items():
            if not recorded.closed:
                recorded.closed = True
                last = recorded.parts[-1] if recorded.parts else recorded.head
                if any(isinstance(part.piece, Head) and not part.piece.status for part in recorded.parts):
                    # What came of it has no head: that would have been in its end.
                    recorded.parts = [part for part in recorded.parts if isinstance(part.piece, Branched)]
                frame = Frame(last.seq, last.time_ns, None)
                self._part(frame, exchange, Withheld("the recording ends"), closed=True)
        self.recording.actions.sort(key=lambda action: action.seq)

    def _decided(
        self,
        asked: Frame,
        frame: Frame,
        about: tuple[str, ...],
        words: str,
        *,
        waited: bool,
        answer: str = "",
    ) -> None:
        action = self.act(asked, words, blocking=waited)
        part = Part(frame.seq, frame.time_ns, End())
        self.recording.decisions.append(Decision(about, action, part, answer))

    def _stray(self, frame: Frame, what: str) -> None:
        if not self.recording.stray:
            self.recording.stray = f"event {frame.seq} {what}"

    def _open(self, exchange: int) -> Recorded | None:
        recorded = self.recording.exchanges.get(exchange)
        return None if recorded is None or recorded.closed else recorded

    def _part(self, frame: Frame, exchange: int, piece: Piece, *, closed: bool = False) -> None:
        recorded = self.recording.exchanges.get(exchange)
        if recorded is not None and recorded.closed is closed:
            recorded.parts.append(Part(frame.seq, frame.time_ns, piece, recorded.sent))
        else:
            self._stray(frame, f"is part of an answer in exchange {exchange}, which has none under way")

    def _head_here(self, frame: Frame, exchange: int) -> None:
        """The head came no later than this; what it says stands in the exchange's end."""
        recorded = self._open(exchange)
        if recorded is not None and recorded.head_part is None:
            self._part(frame, exchange, Head(0, (), ends=False))
            recorded.head_part = recorded.parts[-1]

    def _fill_head(self, recorded: Recorded, frame: Frame, event: LlmResponseEnd, *, ends: bool) -> None:
        if not event.status:
            return
        head = Head(event.status, event.raw_headers, ends)
        for at, part in enumerate(recorded.parts):
            if isinstance(part.piece, Head):
                recorded.parts[at] = part._replace(piece=head)
                return
        recorded.parts.append(Part(frame.seq, frame.time_ns, head, recorded.sent))


def asked_of(tried: EgressAttempt, *, allowed: bool) -> tuple[str, ...]:
    """Return what an attempt is found again by."""
    return ("egress", tried.host, str(tried.port), tried.protocol, tried.sni, str(allowed))


def question_of(query: DnsQuery, *, allowed: bool) -> tuple[str, ...]:
    """Return what a question for a name is found again by."""
    return ("dns", query.name, query.type, str(allowed))


def _by_hark(event: LlmResponseEnd) -> bool:
    """Tell whether hark answered for a server that did not."""
    return event.status == NO_ANSWER and BY_HARK in event.raw_headers


type _Reader = Callable[[_Reading, Frame, Any], None]

_READERS: Final[Mapping[type[Any], _Reader]] = {
    RunStart: _Reading.start,
    RunEnd: _Reading.end,
    LlmRequest: _Reading.request,
    RequestChunk: _Reading.request_chunk,
    Interim: _Reading.interim,
    ResponseHead: _Reading.response_head,
    LlmResponseChunk: _Reading.chunk,
    Trailers: _Reading.trailers,
    LlmResponseEnd: _Reading.response_end,
    BodyHash: _Reading.body_hash,
    Input: _Reading.input,
    WebSocketMessage: _Reading.message,
    TunnelData: _Reading.tunnel,
    McpMessage: _Reading.mcp,
    PolicyLoaded: _Reading.policy,
    Branch: _Reading.branch,
    Unknown: _Reading.unknown,
    EgressAttempt: _Reading.attempt,
    EgressDecision: _Reading.decision,
    DnsQuery: _Reading.query,
    DnsDecision: _Reading.name,
}
"""Who reads an event of which type. What is not here is no part of what the agent saw of the network."""
