"""A run as actions by stream: what the agent did and what came back, without what cannot repeat.

What always holds: two runs of which all streams have the same actions did the same, as far as
`hark.replay.treatment` says; the order within a stream counts, between streams it does not. An action holds
hashes and not bodies, so memory grows with the number of actions and not with what they carried; what is
needed in full is read again (`hark.replay.content`).
"""

from collections import deque
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from blake3 import blake3

from hark.bundle import cbor
from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.bundle.outcome import EXIT as EXITED
from hark.bundle.outcome import INTERRUPTED, split
from hark.replay import treatment
from hark.replay.canonical import NO_RULES, Gathering, Rules
from hark.replay.exchanges import LEFT, OPEN, Answer, Messages, Parts, ending
from hark.replay.talks import by_value, counting
from hark.replay.treatment import DATES, PUBLISHED

PROGRAMS: Final = "programs"
"""The root of the manifest (kind 4) of what was executed."""

type Frames = Iterable[tuple[int, int, "ev.Event | ev.Unknown"]]
"""Sequence number, time in nanoseconds, event: a bundle's, in order."""


class Action(NamedTuple):
    """One action, of the agent's or of what answered it."""

    stream: str
    seq: int
    """Of its first event."""
    exchange: int
    """0 where it is in none."""
    parts: Parts
    """What is compared, by name: words, or hashes of what was longer."""

    @property
    def title(self) -> str:
        """Return what a person calls the stream: without a key."""
        return self.stream.partition("\0")[0]

    @property
    def digest(self) -> bytes:
        """Return 32 bytes that stand for what is compared."""
        return blake3(cbor.encode(self.parts)).digest()


class Streams(NamedTuple):
    """All of a run."""

    actions: dict[str, list[Action]]
    end: RunEnd | None
    """How the run ended; None where that is not recorded."""

    def __len__(self) -> int:
        return sum(map(len, self.actions.values()))


class _Exchange:
    """One exchange that has not ended."""

    def __init__(
        self, seq: int, request: ev.LlmRequest, rules: Rules, value: Callable[[bytes], bytes]
    ) -> None:
        self.seq = seq
        self.asked: Gathering | None = Gathering(request)
        self.trailers: ev.Trailers | None = None
        self.answer = Answer(rules.marks)
        self.stream = ""
        self.place = -1
        self._value = value
        self._sides: dict[bool, Messages] = {}

    def side(self, from_agent: bool) -> Messages:  # noqa: FBT001 (a field of the format)
        """Return the messages of one side of a WebSocket, which few exchanges are."""
        found = self._sides.get(from_agent)
        if found is None:
            found = self._sides[from_agent] = Messages(self._value)
        return found

    def sides_of(self, end: ev.LlmResponseEnd | None) -> tuple[bool, ...]:
        """Return whose raw streams are compared although they break off (rule `left`)."""
        left = end is None or ending(end.error) == LEFT
        return tuple(side for side in self._sides if side or not left)


class _Tunnel:
    """One raw connection."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.sides: dict[bool, tuple[int, blake3]] = {}


class Collector:
    """Takes a run's events in order, and returns its streams."""

    def __init__(self, rules: Rules = NO_RULES) -> None:
        self._rules = rules
        self._actions: dict[str, list[Action]] = {}
        self._open: dict[int, _Exchange] = {}
        self._tunnels: dict[int, _Tunnel | None] = {}
        self._connections: dict[tuple[str, int], str] = {}
        self._counts: dict[str, int] = {}
        self._attempts: dict[str, deque[tuple[int, ev.EgressAttempt]]] = {}
        self._once: set[tuple[str, Parts]] = set()
        self._end: RunEnd | None = None

    def add(self, seq: int, event: "ev.Event | ev.Unknown") -> None:  # noqa: PLR0912  # one line for each kind
        """Take the next event."""
        if type(event) in _IGNORED:
            return
        match event:
            case ev.LlmRequest() | ev.RequestChunk() | ev.BodyHash() | ev.Trailers():
                self._of_request(seq, event)
            case ev.LlmResponseChunk() | ev.Interim():
                self._of_answer(event)
            case ev.LlmResponseEnd():
                self._close(event.exchange, event)
            case ev.WebSocketMessage():
                self._message(seq, event)
            case ev.TunnelData():
                self._tunnel(seq, event)
            case ev.McpMessage():
                self._mcp(seq, event)
            case ev.ToolCallRequest():
                stream = f"{treatment.TOOL} {event.server} {event.tool} calls"
                marks = self._rules.marks
                arguments = blake3(marks.on(counting(event.arguments, marks.ignored_arguments))).digest()
                self._put(stream, seq, event.exchange, (("arguments", arguments),))
            case ev.ToolCallResult():
                outcome = b"error" if event.is_error else b"result"
                stream = f"{treatment.TOOL} {event.server} {event.tool} results"
                result = ("result", self._value(event.result))
                self._put(stream, seq, event.exchange, (("outcome", outcome), result))
            case ev.EgressAttempt():
                self._attempts.setdefault(event.host, deque()).append((seq, event))
            case ev.EgressDecision():
                self._decided(seq, event)
            case ev.DnsDecision() if event.allowed:
                self._put(f"{treatment.NAME} {event.name}", seq, 0, (), once=True)
            case ev.DnsDecision():
                self._put(f"{treatment.DENIED_NAME} {event.name}", seq, 0, ())
            case ev.FsManifest() if event.root == PROGRAMS:
                for path, digest in event.entries.items():
                    self._put(f"{treatment.PROGRAM} {path}", seq, 0, (("hash", digest),), once=True)
            case ev.FileResult():
                self._put(f"{treatment.FILE} {event.path}", seq, 0, _file(event))
            case ev.Checkpoint():
                self._put(
                    treatment.CHECKPOINT,
                    seq,
                    0,
                    (("label", event.label.encode()), ("hash", event.state_hash)),
                )
            case RunEnd():
                self._end = event
                self._put(treatment.EXIT, seq, 0, _exit(event))
            case ev.Unknown():
                self._put(
                    f"{treatment.UNKNOWN} kind {event.kind}",
                    seq,
                    0,
                    (("bytes", blake3(event.payload).digest()),),
                )
            case _:
                pass  # a manifest of what the run began with

    def streams(self) -> Streams:
        """Return what came; exchanges and tunnels that never ended are actions that did not end."""
        for number in list(self._open):
            self._close(number, None)
        for number, tunnel in self._tunnels.items():
            for side in list(tunnel.sides if tunnel is not None else ()):
                self._tunnel_ended(number, side, OPEN)
        return Streams(self._actions, self._end)

    def _put(self, stream: str, seq: int, exchange: int, parts: Parts, *, once: bool = False) -> int:
        """Add an action to its stream, `once` only the first of its kind; return its place."""
        found = self._actions.setdefault(stream, [])
        if once and (stream, parts) in self._once:
            return len(found) - 1
        if once:
            self._once.add((stream, parts))
        found.append(Action(stream, seq, exchange, parts))
        return len(found) - 1

    def _of_request(
        self, seq: int, event: ev.LlmRequest | ev.RequestChunk | ev.BodyHash | ev.Trailers
    ) -> None:
        if isinstance(event, ev.LlmRequest):
            self._close(event.exchange, None)  # a number that stands for two exchanges
            self._open[event.exchange] = exchange = _Exchange(seq, event, self._rules, self._value)
            if not event.streaming:
                self._settle(event.exchange, exchange)
            return
        found = self._open.get(event.exchange)
        if found is None:
            return
        if not isinstance(event, ev.RequestChunk) and not event.from_agent:
            found.answer.add(event)
        elif isinstance(event, ev.Trailers):
            found.trailers = event
        elif isinstance(event, ev.BodyHash):
            found.answer.add(event)
            if found.asked is not None:
                found.asked.add(event)
                self._settle(event.exchange, found)
        elif found.asked is not None:
            found.asked.add(event)
            if found.asked.whole:
                self._settle(event.exchange, found)

    def _settle(self, number: int, exchange: _Exchange) -> None:
        """Find the key of a request that is whole, or never will be, and its place among those with it."""
        if exchange.asked is None:
            return
        request = exchange.asked.canonical(self._rules)
        exchange.asked = None
        exchange.stream = f"{treatment.REQUEST} {request.name}\0{request.key.hex()}"
        exchange.place = self._put(exchange.stream, exchange.seq, number, ())

    def _of_answer(self, event: ev.LlmResponseChunk | ev.Interim) -> None:
        exchange = self._open.get(event.exchange)
        if exchange is not None:
            exchange.answer.add(event)

    def _close(self, number: int, end: ev.LlmResponseEnd | None) -> None:
        exchange = self._open.pop(number, None)
        if exchange is None:
            return
        self._settle(number, exchange)
        trailers = exchange.trailers.raw_headers if exchange.trailers is not None else ()
        for side in exchange.sides_of(end):
            self._said(number, exchange, exchange.side(side).rest(), side)
        actions = self._actions[exchange.stream]
        parts = exchange.answer.parts(end, trailers)
        actions[exchange.place] = Action(exchange.stream, exchange.seq, number, parts)

    def _message(self, seq: int, event: ev.WebSocketMessage) -> None:
        exchange = self._open.get(event.exchange)
        if exchange is None:
            return
        self._settle(event.exchange, exchange)
        found = exchange.side(event.from_agent).add(seq, event)
        self._said(event.exchange, exchange, found, event.from_agent)

    def _said(
        self,
        number: int,
        exchange: _Exchange,
        found: tuple[int, str, bytes] | None,
        from_agent: bool,  # noqa: FBT001 (a field of the format)
    ) -> None:
        if found is not None:
            first, kind, value = found
            title, _, key = exchange.stream.partition("\0")
            title = title.removeprefix(f"{treatment.REQUEST} ")
            stream = f"{treatment.WEBSOCKET} {title}, {_side(from_agent)}\0{key} {exchange.place}"
            self._put(stream, first, number, (("type", kind.encode()), ("data", value)))

    def _tunnel(self, seq: int, event: ev.TunnelData) -> None:
        if event.exchange not in self._tunnels:
            published = event.host.startswith(tuple(PUBLISHED.covers))
            self._tunnels[event.exchange] = (
                None if published else _Tunnel(self._numbered(treatment.TUNNEL, event.host))
            )
        tunnel = self._tunnels[event.exchange]
        if tunnel is None:
            return
        _, hasher = tunnel.sides.setdefault(event.from_agent, (seq, blake3()))
        how = ending(event.error)
        if not event.error.startswith(ev.REFUSED):  # what was refused was not passed on
            hasher.update(event.data)
        if event.end:
            self._tunnel_ended(event.exchange, event.from_agent, how)

    def _tunnel_ended(self, number: int, from_agent: bool, how: str) -> None:  # noqa: FBT001 (a field of the format)
        tunnel = self._tunnels[number]
        if tunnel is not None and from_agent in tunnel.sides:
            first, hasher = tunnel.sides.pop(from_agent)
            parts = (("outcome", how.encode()), ("bytes", hasher.digest()))
            self._put(f"{tunnel.stream}, {_side(from_agent)}", first, number, parts)

    def _mcp(self, seq: int, event: ev.McpMessage) -> None:
        if event.note.startswith(ev.TO_HARK):  # rule `introductions`
            return
        place = (event.server, event.connection)
        if place not in self._connections:
            self._connections[place] = self._numbered(treatment.MCP, event.server)
        stream = f"{self._connections[place]}, {_side(event.from_agent)}"
        parts: Parts = (("end", b""),)
        if event.data:
            note = (
                b"refused" if event.note.startswith(ev.REFUSED) else b"by hark" if event.note else b"passed"
            )
            parts = (("outcome", note),)
            if event.from_agent or not event.note:
                parts = (*parts, ("data", self._value(event.data)))
        self._put(stream, seq, event.connection, parts)

    def _decided(self, seq: int, event: ev.EgressDecision) -> None:
        waiting = self._attempts.get(event.host)
        first, attempt = waiting.popleft() if waiting else (seq, ev.EgressAttempt(event.host))
        sni = f", SNI {attempt.sni}" if attempt.sni else ""
        target = f"{attempt.protocol} to {attempt.host} port {attempt.port}{sni}"
        if event.allowed:
            self._put(f"{treatment.CONNECTION} {target}", first, 0, (), once=True)
        else:
            self._put(f"{treatment.DENIED} {target}", first, 0, ())

    def _numbered(self, kind: str, name: str) -> str:
        title = f"{kind} {name}"
        self._counts[title] = number = self._counts.get(title, 0) + 1
        return f"{title} #{number}"

    def _value(self, data: bytes) -> bytes:
        """Return the hash of a message: by value where it is JSON (rule `spelling`)."""
        return blake3(by_value(data, self._rules.marks)).digest()


_IGNORED: Final = frozenset(kind.event for kind in ev.KINDS if treatment.ignored(kind.number))


def actions(frames: Frames, rules: Rules = NO_RULES) -> Streams:
    """Return the streams of a run."""
    collector = Collector(rules)
    for seq, _, event in frames:
        collector.add(seq, event)
    return collector.streams()


def _side(from_agent: bool) -> str:  # noqa: FBT001 (a field of the format)
    return "of the agent" if from_agent else "of the server"


def _file(event: ev.FileResult) -> Parts:
    if event.was_there:  # rule `elsewhere`
        return (("result", b"written" if event.hash else b"gone"),)
    dated = bool(event.hash) and _is_dated(f"/{event.path}")
    return ("mode", f"{event.mode:o}".encode()), ("hash", b"dated" if dated else event.hash)


def _is_dated(path: str) -> bool:
    """Tell whether the rule `file dates` covers a path. git keeps names of branches, which may be any."""
    return "/refs/" not in path and any(fnmatchcase(path, pattern) for pattern in DATES.covers)


def _exit(event: RunEnd) -> Parts:
    word, detail = split(event.reason)
    how = word if word in (EXITED, INTERRUPTED) else f"{word} {detail}".strip()
    return (("code", str(event.exit_code).encode()), ("reason", how.encode()))
