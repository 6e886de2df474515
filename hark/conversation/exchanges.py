"""HTTP exchanges put together from events: what was asked, what was answered, and when each piece came.

What always holds: any events give values; what is held at a time is bounded by `MAX_OPEN` and `MAX_ALL`, and
an exchange of which something was let go says so (`cut`). Bodies are given with their content codings undone
where `hark.replay.packed` can do so, and as they were sent where it cannot. An exchange that never ended
comes last, without an end.

Not done here: what a body means (`hark.conversation.model`), WebSockets, raw connections and tool servers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from hark.bundle import events as ev
from hark.bundle.fields import Pairs
from hark.replay.packed import unpacked
from hark.replay.recorded import Frame

MAX_HELD: Final = 8 << 20  # bytes of one body: a prompt with a picture in it is smaller
MAX_ALL: Final = 64 << 20  # bytes of all bodies of the exchanges that are open at a time
MAX_OPEN: Final = 4096  # exchanges at a time; an agent has some ten
MAX_TIMES: Final = 100_000  # pieces of one answer whose times are kept


@dataclass(frozen=True, slots=True)
class Heard:
    """One exchange. Times are nanoseconds since the run began."""

    exchange: int
    seq: int
    """The event of its LlmRequest."""
    time_ns: int
    ended_ns: int | None
    host: str
    method: str
    path: str
    headers: Pairs
    body: bytes
    status: int
    """0: there was no answer."""
    answer_headers: Pairs
    answer: bytes
    answer_times: tuple[tuple[int, int, int], ...]
    """The event, time and length (as sent) of each piece of the answer's body."""
    error: str
    refused: str
    """Why hark refused it; empty where it did not."""
    cut: bool
    """Whether `body` or `answer` is not all."""
    ended_seq: int | None = None
    """The event of its end."""


@dataclass(slots=True)
class _Open:
    frame: Frame
    request: ev.LlmRequest
    body: bytearray = field(default_factory=bytearray)
    answer: bytearray = field(default_factory=bytearray)
    times: list[tuple[int, int, int]] = field(default_factory=list)
    status: int = 0
    headers: Pairs = ()
    cut: bool = False


class Exchanges:
    """Takes events one by one, and gives the exchanges that end with them."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self._held = 0

    def add(self, frame: Frame) -> tuple[Heard, ...]:
        """Take the next event."""
        event = frame.event
        match event:
            case ev.LlmRequest():
                return self._begin(frame, event)
            case ev.RequestChunk() if (one := self._open.get(event.exchange)) is not None:
                self._hold(one, one.body, event.data)
            case ev.ResponseHead() if (one := self._open.get(event.exchange)) is not None:
                one.status, one.headers = event.status, _pairs(event)
            case ev.LlmResponseChunk() if (one := self._open.get(event.exchange)) is not None:
                self._hold(one, one.answer, event.data)
                if len(one.times) < MAX_TIMES:
                    one.times.append((frame.seq, frame.time_ns, len(event.data)))
            case ev.LlmResponseEnd() if event.exchange in self._open:
                return (self._end(event.exchange, frame, event),)
            case _:
                pass
        return ()

    def rest(self) -> Iterator[Heard]:
        """Yield what never ended, in the order of its beginning."""
        for number in list(self._open):
            yield self._end(number)

    def _begin(self, frame: Frame, event: ev.LlmRequest) -> tuple[Heard, ...]:
        """Open an exchange; another of its number, or the oldest of too many, ends with that."""
        over: tuple[Heard, ...] = ()
        if event.exchange in self._open:
            over = (self._end(event.exchange),)
        elif len(self._open) >= MAX_OPEN:
            over = (self._end(next(iter(self._open))),)
        one = self._open[event.exchange] = _Open(frame, event)
        self._hold(one, one.body, event.body)
        return over

    def _hold(self, one: _Open, held: bytearray, data: bytes) -> None:
        room = max(0, min(MAX_HELD - len(held), MAX_ALL - self._held))
        kept = data[:room]
        held += kept
        self._held += len(kept)
        one.cut = one.cut or len(kept) < len(data)

    def _end(self, number: int, frame: Frame | None = None, end: ev.LlmResponseEnd | None = None) -> Heard:
        one = self._open.pop(number)
        self._held -= len(one.body) + len(one.answer)
        request, error = one.request, "" if end is None else end.error
        headers, answered = _pairs(request), one.headers if end is None else _pairs(end) or one.headers
        return Heard(
            exchange=number,
            seq=one.frame.seq,
            time_ns=one.frame.time_ns,
            ended_ns=None if frame is None else frame.time_ns,
            host=request.host,
            method=request.method,
            path=request.path,
            headers=headers,
            body=_text(headers, bytes(one.body)),
            status=one.status if end is None else end.status,
            answer_headers=answered,
            answer=_text(answered, bytes(one.answer)),
            answer_times=tuple(one.times),
            error="" if error.startswith(ev.REFUSED) else error,
            refused=error.removeprefix(ev.REFUSED) if error.startswith(ev.REFUSED) else "",
            cut=one.cut,
            ended_seq=None if frame is None else frame.seq,
        )


def exchanges(frames: Iterable[Frame]) -> Iterator[Heard]:
    """Yield a run's exchanges in the order of their ends."""
    gathering = Exchanges()
    for frame in frames:
        yield from gathering.add(frame)
    yield from gathering.rest()


def codings(headers: Pairs) -> list[str]:
    """Return the content codings that headers name, in the order in which they were applied."""
    values = (value for name, value in headers if name.lower() == b"content-encoding")
    return [coding.strip().lower() for value in values for coding in value.decode("latin-1").split(",")]


def _text(headers: Pairs, data: bytes) -> bytes:
    named = codings(headers)
    text = unpacked(named, data) if named and data else data
    return data if text is None else text


def _pairs(event: Any) -> Pairs:
    """Return headers as they came; a writer that has none of these has the map beside them."""
    if event.raw_headers:
        pairs: Pairs = event.raw_headers
        return pairs
    named = event.headers.items()
    return tuple((name.encode("utf-8", "replace"), value.encode("utf-8", "replace")) for name, value in named)
