"""The exchanges of a recorded run, put together from their events, in the order in which they ended.

Always: memory holds the exchanges that are open, each body of them up to `MAX_BODY` and each WebSocket up to
as much; what is beyond that is counted and said (`Body.cut`, `Gathered.left_out`), never dropped in silence.
An exchange whose end is not on record comes last. An event whose payload was taken out is missing from its
exchange.

The record has no scheme and no port of a request: they are those of the connection that the agent opened to
that host last, or of the request's own Host header. Not done here: undoing a content coding (`plain`), and
what a body means (`hark.conversation`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hark.bundle import events as ev
from hark.bundle.bounds import kind_name
from hark.bundle.fields import Pairs
from hark.bundle.frame import Frame
from hark.errors import BundleError
from hark.replay import packed

MAX_BODY: Final = 64 << 20  # as one payload of format 1; more would not fit beside others in memory
MAX_ORIGINS: Final = 10_000  # hosts whose last connection is remembered: the agent chooses how many there are
_TLS: Final = "tls"
_PORTS: Final = {"https": 443, "http": 80}
_KINDS: Final = frozenset((5, 6, 7, 10, 11, 33, 35, 36, 44, 45, 46))


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
    """Bytes that passed, of which `data` has the first `MAX_BODY`; none where they were not stored."""
    stored: bool = True

    @property
    def cut(self) -> bool:
        """Tell whether there was more than is held."""
        return self.size > len(self.data)

    def add(self, seq: int, time_ns: int, data: bytes) -> None:
        """Take the next piece."""
        self.pieces.append(Piece(seq, time_ns, len(data)))
        self.size += len(data)
        self.data += data[: MAX_BODY - len(self.data)]


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
        return () if self.head is None else raw(self.head)

    @property
    def version(self) -> str:
        """HTTP/1.1 where the request has a Host header, which HTTP/2 has not."""
        return "HTTP/1.1" if value(raw(self.request), b"host") is not None else "HTTP/2"


def gather(frames: Iterable[Frame]) -> Iterator[Gathered]:
    """Yield the exchanges that the frames hold."""
    gathering = _Gathering()
    for frame in frames:
        if frame.kind in _KINDS and frame.payload:
            yield from gathering.take(frame)
    yield from gathering.open.values()


def decoded(frame: Frame) -> ev.Event | ev.Unknown:
    """Return a verified frame's event. Raises BundleError: whoever signed it may have written anything."""
    try:
        return ev.decode(frame.kind, frame.payload)
    except BundleError as error:
        raise BundleError(f"event {frame.seq} ({kind_name(frame.kind)}) cannot be read: {error}") from None


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
    codings = [
        coding.strip().decode("latin-1").lower()
        for name, content in headers
        if name.lower() == b"content-encoding"
        for coding in content.split(b",")
    ]
    data = bytes(body.data)
    undone = packed.unpacked(codings, data) if codings and not body.cut else None
    return data if undone is None else undone


class _Gathering:
    """The exchanges that are open, and how each host was reached last."""

    def __init__(self) -> None:
        self.open: dict[int, Gathered] = {}
        self._ports: dict[str, tuple[str, int]] = {}
        self._attempt = ev.EgressAttempt()

    def take(self, frame: Frame) -> Iterator[Gathered]:
        event = decoded(frame)
        match event:
            case ev.EgressAttempt():
                self._attempt = event
            case ev.EgressDecision(allowed=True) if event.host == self._attempt.host:
                self._reached(self._attempt)
            case ev.LlmRequest():
                yield from self._begin(frame, event)
            case _:
                exchange = self.open.get(getattr(event, "exchange", 0))
                if exchange is not None and _add(exchange, frame, event):
                    yield self.open.pop(exchange.number)

    def _reached(self, event: ev.EgressAttempt) -> None:
        if event.host in self._ports or len(self._ports) < MAX_ORIGINS:
            scheme = "https" if event.protocol == _TLS else "http"
            self._ports[event.host] = (scheme, event.port)

    def _begin(self, frame: Frame, event: ev.LlmRequest) -> Iterator[Gathered]:
        if event.exchange in self.open:  # another writer's numbers, used twice
            yield self.open.pop(event.exchange)
        begun = Gathered(frame.seq, frame.time, event, self._origin(event))
        if event.body:
            begun.asked.add(frame.seq, frame.time, event.body)
        self.open[event.exchange] = begun

    def _origin(self, event: ev.LlmRequest) -> str:
        scheme, port = self._ports.get(event.host, ("https", 443))
        named = (value(raw(event), b"host") or b"").rpartition(b":")[2]
        if named.isdigit() and len(named) <= 5 and not event.host.endswith(named.decode()):
            port = int(named)
        host = f"[{event.host}]" if ":" in event.host else event.host
        return f"{scheme}://{host}" + ("" if port in {_PORTS[scheme], 0} else f":{port}")


def _add(exchange: Gathered, frame: Frame, event: ev.Event | ev.Unknown) -> bool:
    """Add an event to its exchange; tell whether it was the last."""
    match event:
        case ev.RequestChunk():
            exchange.asked.add(frame.seq, frame.time, event.data)
        case ev.BodyHash():
            body = exchange.asked if event.from_agent else exchange.answered
            body.size, body.stored = event.length, False
        case ev.WebSocketMessage():
            _hear(exchange, Said(frame.seq, frame.time, event))
        case ev.ResponseHead():
            exchange.head, exchange.first_ns = event, exchange.first_ns or frame.time
        case ev.LlmResponseChunk():
            exchange.first_ns = exchange.first_ns or frame.time
            exchange.answered.add(frame.seq, frame.time, event.data)
        case ev.LlmResponseEnd():
            exchange.head = exchange.end = event
            exchange.first_ns = exchange.first_ns or frame.time
            exchange.ended_seq, exchange.ended_ns = frame.seq, frame.time
            return True
        case _:
            pass
    return False


def _hear(exchange: Gathered, said: Said) -> None:
    if exchange.said_bytes + len(said.event.data) > MAX_BODY:
        exchange.left_out += 1
    else:
        exchange.said_bytes += len(said.event.data)
        exchange.said.append(said)
