"""HTTP exchanges put together from their events, one by one, in the order in which they ended.

Always: any events give values. What is held at a time is bounded by `Limits`; what is beyond that is counted
and said (`Body.cut`, `Gathered.left_out`), never dropped in silence. An exchange whose end is not on record
comes when its number is used again, when too many are open, or last.

The record has no scheme and no port of a request: they are those of the connection that the agent opened to
that host last, or of the request's own Host header. Not done here: undoing a content coding (`plain` does),
and what a body means (`hark.conversation.model`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from hark.bundle import events as ev
from hark.bundle.fields import Pairs
from hark.bundle.frame import Frame
from hark.replay import packed

MAX_BODY: Final = 64 << 20  # as one payload of format 1; more would not fit beside others in memory
MAX_ORIGINS: Final = 10_000  # hosts whose last connection is remembered: the agent chooses how many there are
_TLS: Final = "tls"
_PORTS: Final = {"https": 443, "http": 80}
KINDS: Final = frozenset((5, 6, 7, 10, 11, 33, 35, 36, 44, 45, 46))
"""Of events that an exchange is put together from."""
EVENTS: Final = frozenset(kind.event for kind in ev.KINDS if kind.number in KINDS)


class Limits(NamedTuple):
    """How much is held. None: as much as there is."""

    body: int = MAX_BODY
    """Bytes of one body, and of the messages of one WebSocket."""
    together: int | None = None
    """Bytes of the bodies of all exchanges that are open at a time."""
    open: int | None = None
    """Exchanges at a time."""
    pieces: int | None = None
    """Pieces of one body whose events and times are kept."""


ALL: Final = Limits()


class Piece(NamedTuple):
    """A piece of a body: the event that holds it, when it passed, and its length."""

    seq: int
    time_ns: int
    size: int


@dataclass(slots=True)
class Body:
    """One body as it passed, packed as it was."""

    data: bytearray = field(default_factory=bytearray)
    pieces: list[Piece] = field(default_factory=list)
    size: int = 0
    """Bytes that passed, of which `data` has the first ones; none where they were not stored."""
    stored: bool = True

    @property
    def cut(self) -> bool:
        """Tell whether there was more than is held."""
        return self.size > len(self.data)

    def add(self, piece: Piece, data: bytes, room: int, pieces: int | None = None) -> int:
        """Take the next piece, and of its bytes as many as there is room for; return how many that were."""
        if pieces is None or len(self.pieces) < pieces:
            self.pieces.append(piece)
        kept = data[: max(0, room)]
        self.size += len(data)
        self.data += kept
        return len(kept)


class Said(NamedTuple):
    """A message of a WebSocket, or a piece of a long one, or a control frame."""

    seq: int
    time_ns: int
    event: ev.WebSocketMessage


@dataclass(slots=True)
class Gathered:
    """One exchange. Times are those of its events; `ended_ns` is None where its end is not on record."""

    seq: int
    time_ns: int
    request: ev.LlmRequest
    origin: str
    """`https://host`, with the port where it is not the scheme's own."""
    asked: Body = field(default_factory=Body)
    answered: Body = field(default_factory=Body)
    head: ev.ResponseHead | ev.LlmResponseEnd | None = None
    first_ns: int | None = None
    """When the first of the answer came."""
    end: ev.LlmResponseEnd | None = None
    first_headers: Pairs = ()
    """Those that came before the answer's body; an end may repeat them, or have none."""
    ended_seq: int | None = None
    ended_ns: int | None = None
    said: list[Said] = field(default_factory=list)
    said_bytes: int = 0
    left_out: int = 0
    """Messages of a WebSocket that were too many to hold."""

    @property
    def number(self) -> int:
        """The run's number of the exchange."""
        return self.request.exchange

    @property
    def url(self) -> str:
        """Where the request went."""
        path = self.request.path
        if path.lower().startswith(("http://", "https://")):
            return path
        return self.origin + (path if path.startswith("/") else f"/{path}")

    @property
    def refused(self) -> str:
        """Why hark refused the request; empty where it did not."""
        error = self.error
        return error.removeprefix(ev.REFUSED) if error.startswith(ev.REFUSED) else ""

    @property
    def error(self) -> str:
        """How the answer broke off; empty where it was whole."""
        return "its end is not on record" if self.end is None else self.end.error

    @property
    def status(self) -> int:
        """The answer's status; 0 where there was none."""
        return 0 if self.head is None else self.head.status

    @property
    def answer_headers(self) -> Pairs:
        """The answer's headers as they came."""
        return () if self.head is None else raw(self.head) or self.first_headers

    @property
    def version(self) -> str:
        """HTTP/1.1 where the request has a Host header, which HTTP/2 has not."""
        return "HTTP/1.1" if value(raw(self.request), b"host") is not None else "HTTP/2"


def gather(frames: Iterable[Frame], limits: Limits = ALL) -> Iterator[Gathered]:
    """Yield the exchanges that a bundle's frames hold. One whose event was taken out is without that."""
    gathering = Gathering(limits)
    for frame in frames:
        if frame.kind in KINDS and frame.payload:
            yield from gathering.take(frame.seq, frame.time, ev.decode_frame(frame))
    yield from gathering.rest()


def raw(event: ev.LlmRequest | ev.LlmResponseEnd | ev.ResponseHead) -> Pairs:
    """Return the headers as they were on the wire, or the map of a writer that has no such list."""
    if event.raw_headers:
        return event.raw_headers
    return tuple((name.encode(), content.encode()) for name, content in event.headers.items())


def value(headers: Pairs, name: bytes) -> bytes | None:
    """Return the first header of that name, in lower case."""
    return next((content for found, content in headers if found.lower() == name), None)


def plain(headers: Pairs, body: Body) -> bytes:
    """Return a body with its content codings undone, or as it passed where they cannot be."""
    data = bytes(body.data)
    return data if body.cut else packed.plain(headers, data)


class Gathering:
    """The exchanges that are open, and how each host was reached last."""

    def __init__(self, limits: Limits = ALL) -> None:
        self._limits = limits
        self._open: dict[int, Gathered] = {}
        self._held = 0
        self._ports: dict[str, tuple[str, int]] = {}
        self._attempt = ev.EgressAttempt()

    def take(self, seq: int, time_ns: int, event: Any) -> tuple[Gathered, ...]:
        """Take the next event, and return what is over with it."""
        match event:
            case ev.LlmRequest():
                return tuple(self._begin(seq, time_ns, event))
            case ev.EgressAttempt():
                self._attempt = event
            case ev.EgressDecision(allowed=True) if event.host == self._attempt.host:
                self._reached(self._attempt)
            case _:
                exchange = self._open.get(getattr(event, "exchange", 0))
                if exchange is not None and self._add(exchange, seq, time_ns, event):
                    return (self._close(exchange.number),)
        return ()

    def rest(self) -> Iterator[Gathered]:
        """Yield what never ended, in the order of its beginning."""
        for number in list(self._open):
            yield self._close(number)

    def _reached(self, event: ev.EgressAttempt) -> None:
        if event.host in self._ports or len(self._ports) < MAX_ORIGINS:
            scheme = "https" if event.protocol == _TLS else "http"
            self._ports[event.host] = (scheme, event.port)

    def _begin(self, seq: int, time_ns: int, event: ev.LlmRequest) -> Iterator[Gathered]:
        """Open an exchange; another of its number (another writer's), or the oldest of too many, is over."""
        if event.exchange in self._open:
            yield self._close(event.exchange)
        elif self._limits.open is not None and len(self._open) >= self._limits.open:
            yield self._close(next(iter(self._open)))
        begun = self._open[event.exchange] = Gathered(seq, time_ns, event, self._origin(event))
        if event.body:
            self._take(begun.asked, Piece(seq, time_ns, len(event.body)), event.body)

    def _close(self, number: int) -> Gathered:
        over = self._open.pop(number)
        self._held -= len(over.asked.data) + len(over.answered.data)
        return over

    def _take(self, body: Body, piece: Piece, data: bytes) -> None:
        room = self._limits.body - len(body.data)
        if self._limits.together is not None:
            room = min(room, self._limits.together - self._held)
        self._held += body.add(piece, data, room, self._limits.pieces)

    def _origin(self, event: ev.LlmRequest) -> str:
        scheme, port = self._ports.get(event.host, ("https", 443))
        named = (value(raw(event), b"host") or b"").rpartition(b":")[2]
        if named.isdigit() and len(named) <= 5 and not event.host.endswith(named.decode()):
            port = int(named)
        host = f"[{event.host}]" if ":" in event.host else event.host
        return f"{scheme}://{host}" + ("" if port in {_PORTS[scheme], 0} else f":{port}")

    def _add(self, exchange: Gathered, seq: int, time_ns: int, event: Any) -> bool:
        """Add an event to its exchange; tell whether it was the last."""
        match event:
            case ev.LlmResponseChunk():
                exchange.first_ns = exchange.first_ns or time_ns
                self._take(exchange.answered, Piece(seq, time_ns, len(event.data)), event.data)
            case ev.LlmResponseEnd():
                exchange.head = exchange.end = event
                exchange.first_ns = exchange.first_ns or time_ns
                exchange.ended_seq, exchange.ended_ns = seq, time_ns
                return True
            case ev.RequestChunk():
                self._take(exchange.asked, Piece(seq, time_ns, len(event.data)), event.data)
            case ev.BodyHash():
                body = exchange.asked if event.from_agent else exchange.answered
                body.size, body.stored = event.length, False
            case ev.WebSocketMessage():
                self._hear(exchange, Said(seq, time_ns, event))
            case ev.ResponseHead():
                exchange.head, exchange.first_ns = event, exchange.first_ns or time_ns
                exchange.first_headers = raw(event)
            case _:
                pass
        return False

    def _hear(self, exchange: Gathered, said: Said) -> None:
        if exchange.said_bytes + len(said.event.data) > self._limits.body:
            exchange.left_out += 1
        else:
            exchange.said_bytes += len(said.event.data)
            exchange.said.append(said)
