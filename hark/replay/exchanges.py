"""One HTTP exchange as the digest sees it, gathered from its events: no body is held but a request's.

What always holds: parts have names, and stand in one order; what is left out is left out by a rule of
`hark.replay.treatment`. Bodies are hashed as they come.
"""

from collections.abc import Callable
from typing import Final

from blake3 import blake3

from hark.bundle import cbor
from hark.bundle.events import (
    AGENT_LEFT,
    REFUSED,
    RUN_ENDED,
    STREAM,
    BodyHash,
    Interim,
    LlmResponseChunk,
    LlmResponseEnd,
    Trailers,
    WebSocketMessage,
)
from hark.replay.canonical import MAX_HELD
from hark.replay.headers import Fields
from hark.replay.marks import Marks
from hark.replay.treatment import KEEP_ALIVE, RECOMPUTED

NO_MARKS: Final = Marks({})

type Parts = tuple[tuple[str, bytes], ...]

WHOLE: Final = "whole"
REFUSED_BY_HARK: Final = "refused"
LEFT: Final = "the agent left"
BROKE_OFF: Final = "broke off"
OPEN: Final = "never ended"
_NO_ANSWER: Final = 502


def ending(error: str) -> str:
    """Return the class of an error, whose words are not compared (rule `reasons`)."""
    if not error:
        return WHOLE
    if error.startswith(REFUSED):
        return REFUSED_BY_HARK
    return LEFT if error.startswith((AGENT_LEFT, RUN_ENDED)) else BROKE_OFF


def own_page(status: int, how: str) -> bool:
    """Tell whether hark made an answer itself (rule `own pages`)."""
    return how == REFUSED_BY_HARK or (how == BROKE_OFF and status == _NO_ANSWER)


def answered_headers(fields: Fields) -> Fields:
    """Return the headers of an answer that are compared: all, as they came (rule `recomputed`)."""
    named = ((name.lower(), value) for name, value in fields)
    return tuple((name, value) for name, value in named if name.decode("latin-1") not in RECOMPUTED.covers)


class Answer:
    """What came back in one exchange. With a renaming to be undone, as much of a body as may be is held."""

    def __init__(self, marks: Marks = NO_MARKS) -> None:
        self._marks = marks
        self._body = blake3()
        self._held = bytearray()
        self._holds = marks.undo is not None
        self._interim: list[object] = []
        self._trailers: Fields = ()
        self._hashes: dict[bool, bytes] = {}

    def add(self, event: LlmResponseChunk | Interim | Trailers | BodyHash) -> None:
        """Take the next event."""
        match event:
            case LlmResponseChunk():
                self._take(event.data)
            case Interim():
                self._interim.append([event.status, answered_headers(event.raw_headers)])
            case Trailers():
                self._trailers = answered_headers(event.raw_headers)
            case BodyHash():
                self._hashes[event.from_agent] = event.hash + event.length.to_bytes(8)

    def parts(self, end: LlmResponseEnd | None, asked_trailers: Fields) -> Parts:
        """Return what is compared; without an end the exchange was cut off by the run's."""
        how = OPEN if end is None else ending(end.error)
        found = [("outcome", how.encode())]
        if asked_trailers:
            found.append(("request trailers", cbor.encode(answered_headers(asked_trailers))))
        if end is None or how == LEFT:
            return tuple(found)
        found.append(("status", str(end.status).encode()))
        if own_page(end.status, how):
            return tuple(found)
        headers = self._marks.on_fields(answered_headers(end.raw_headers))
        found.append(("headers", blake3(cbor.encode(headers)).digest()))
        found.append(("body", self._hash()))
        for name, value in (("interim answers", self._interim), ("trailers", self._trailers)):
            if value:
                found.append((name, blake3(cbor.encode(value)).digest()))
        found += [("body that was not stored", self._hashes[side]) for side in sorted(self._hashes)]
        return tuple(found)

    def _take(self, data: bytes) -> None:
        if self._holds:
            self._held += data
            if len(self._held) <= MAX_HELD:
                return
            data, self._held, self._holds = bytes(self._held), bytearray(), False
        self._body.update(data)

    def _hash(self) -> bytes:
        return blake3(self._marks.on(bytes(self._held))).digest() if self._holds else self._body.digest()


class Messages:
    """The messages of one side of a WebSocket, put together from their pieces; a raw stream is one."""

    def __init__(self, value: Callable[[bytes], bytes]) -> None:
        """`value` returns what a message is compared by; one too long to be held is compared by its hash."""
        self._value = value
        self._held = bytearray()
        self._long: blake3 | None = None
        self._first: int | None = None
        self._raw: tuple[int, blake3] | None = None

    def add(self, seq: int, event: WebSocketMessage) -> tuple[int, str, bytes] | None:
        """Return the number of a message's first event, its type and value, when its last piece has come."""
        if event.type in KEEP_ALIVE.covers:
            return None
        if event.type == STREAM:
            return self._stream(seq, event)
        if event.type not in ("text", "binary"):
            return seq, event.type, self._value(event.data)
        self._first = seq if self._first is None else self._first
        self._take(event.data)
        if event.more:
            return None
        first, value = self._first, self._long.digest() if self._long else self._value(bytes(self._held))
        self._first, self._long, self._held = None, None, bytearray()
        return first, event.type, value

    def _stream(self, seq: int, event: WebSocketMessage) -> tuple[int, str, bytes] | None:
        self._raw = (seq, blake3()) if self._raw is None else self._raw
        self._raw[1].update(event.data)
        return None if event.more else self.rest()

    def rest(self) -> tuple[int, str, bytes] | None:
        """Return what a raw stream said that has ended, or breaks off, as `add` does; None: there is none."""
        if self._raw is None:
            return None
        (first, hasher), self._raw = self._raw, None
        return first, STREAM, hasher.digest()

    def _take(self, data: bytes) -> None:
        if self._long is None:
            self._held += data
            if len(self._held) <= MAX_HELD:
                return
            data, self._held, self._long = bytes(self._held), bytearray(), blake3()
        self._long.update(data)
