"""One exchange's events, in the order in which things crossed the boundary. No network, no mitmproxy.

Always: the request is recorded before anything of it is sent, each piece of a body before it is passed on,
and `LlmResponseEnd` exactly once for each request that was recorded. Where the policy wants bodies by hash,
the hash stands behind the body, and before the end. Request keys are left to replay.
"""

from collections.abc import Callable
from typing import Final, Protocol

from blake3 import blake3

from hark.bundle.events import (
    REFUSED,
    STREAM,
    BodyHash,
    Interim,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    RequestChunk,
    ResponseHead,
    Trailers,
    WebSocketMessage,
)
from hark.policy.model import Body
from mediator.authority import Destination
from mediator.ledger import Ledger, text_map
from mediator.text import as_text

MAX_WHOLE_BODY: Final = 1 << 20  # format 1: a larger body follows in RequestChunk
_MESSAGES: Final = frozenset(("text", "binary", STREAM))
HEAD_ALONE_NS: Final = 2_000_000
"""A head that came so long before the first piece: the agent may have looked at the clock in between."""
_DEFAULT_PORTS: Final = {True: 443, False: 80}

type Headers = tuple[tuple[bytes, bytes], ...]


def recorded_host(target: Destination, *, tls: bool) -> str:
    """Return the host as kind 5 names it: with the port where the scheme does not say it."""
    return target.host if target.port == _DEFAULT_PORTS[tls] else str(target)


class Timer(Protocol):
    """Something that is to happen later."""

    def cancel(self) -> None:
        """Let it not happen."""
        ...


type Later = Callable[[Callable[[], None]], Timer]
"""Calls its argument once, a moment from now, in the event loop: what has not ended by then goes on."""


class _Hashed:
    """One body that is not stored."""

    def __init__(self) -> None:
        self._hash = blake3()
        self._length = 0

    def add(self, data: bytes) -> None:
        self._hash.update(data)
        self._length += len(data)

    def out(self, exchange: int, *, from_agent: bool) -> BodyHash | None:
        """Return the event, once, for a body that had bytes."""
        if not self._length:
            return None
        event = BodyHash(exchange, from_agent, self._length, self._hash.digest())
        self._hash, self._length = blake3(), 0
        return event


class Transcript:
    """Writes one exchange down. The clock counts nanoseconds and never goes back."""

    def __init__(
        self, ledger: Ledger, clock: Callable[[], int], later: Later | None = None, process: int = 0
    ) -> None:
        self._ledger = ledger
        self._process = process
        self._clock = clock
        self._later = later
        self._timer: Timer | None = None
        self._asked: _Hashed | None = None
        self._answered: _Hashed | None = None
        self._last = 0
        self._head_at = 0
        self._sent = 0
        self._received = 0
        self._messages = 0
        self._status = 0
        self._head_told = False
        self._headers: Headers = ()
        self.exchange = 0
        """The exchange's number, 0 until the request is recorded."""
        self.ended = False

    @property
    def open(self) -> bool:
        """Tell whether a request was recorded whose end was not."""
        return bool(self.exchange) and not self.ended

    def keep(self, body: Body) -> None:
        """Say how bodies are recorded, before the request is."""
        if body is Body.HASH:
            self._asked, self._answered = _Hashed(), _Hashed()

    def request(
        self, host: str, method: bytes, path: bytes, headers: Headers, body: bytes = b"", *, streamed: bool
    ) -> None:
        """Record the request; of a streamed one the body follows."""
        self.exchange = self._ledger.next_exchange()
        self._ledger.append(
            LlmRequest(
                host=host,
                method=as_text(method),
                path=as_text(path),
                headers=text_map(headers),
                body=b"" if self._asked is not None else body,
                streaming=streamed,
                exchange=self.exchange,
                raw_headers=headers,
                process=self._process,
            )
        )
        if self._asked is not None:
            self._asked.add(body)
            if not streamed:
                self._hashed(self._asked, from_agent=True)
        self._last = self._clock()

    def request_chunk(self, data: bytes, *, last: bool) -> None:
        """Record a piece of a streamed request body."""
        if self._asked is not None:
            self._asked.add(data)
            if last:
                self._hashed(self._asked, from_agent=True)
            return
        self._ledger.append(RequestChunk(exchange=self.exchange, seq=self._sent, data=data, last=last))
        self._sent += 1

    def trailers(self, headers: Headers, *, from_agent: bool) -> None:
        """Record trailers."""
        self._ledger.append(
            Trailers(
                exchange=self.exchange,
                from_agent=from_agent,
                headers=text_map(headers),
                raw_headers=headers,
            )
        )

    def message(self, kind: str, data: bytes, *, more: bool, from_agent: bool) -> None:
        """Record a WebSocket message or a piece; control frames alone where bodies are not stored."""
        hashed = self._asked if from_agent else self._answered
        if hashed is not None and kind in _MESSAGES:
            hashed.add(data)
            return
        self._ledger.append(
            WebSocketMessage(
                exchange=self.exchange,
                seq=self._messages,
                from_agent=from_agent,
                type=kind,
                data=data,
                more=more,
            )
        )
        self._messages += 1

    def interim(self, status: int, headers: Headers) -> None:
        """Record an answer before the answer."""
        self._ledger.append(
            Interim(exchange=self.exchange, status=status, headers=text_map(headers), raw_headers=headers)
        )

    def response(self, status: int, headers: Headers) -> None:
        """Keep the response's head, which the end records; of one that goes on it is recorded before."""
        self._status, self._headers = status, headers
        if self._later is not None:
            later, self._later = self._later, None
            self._head_at = self._clock()
            self._timer = later(self._goes_on)
            self._ledger.head_passed(self.exchange, self._goes_on)

    def chunk(self, data: bytes) -> None:
        """Record a piece of the response body as it arrived. Where it stands, its head stood too."""
        if not self._received:
            self._ledger.head_known(self.exchange)
        if self._answered is not None:
            self._answered.add(data)
            return
        now = self._clock()
        if not self._received and self._timer is not None and now - self._head_at > HEAD_ALONE_NS:
            self._goes_on()
        self._ledger.append(
            LlmResponseChunk(
                seq=self._received, data=data, since_prev=now - self._last, exchange=self.exchange
            )
        )
        self._received += 1
        self._last = now

    def refused(self, status: int, headers: Headers, page: bytes, reason: str) -> None:
        """Record that the request was not sent, and the page that the agent got instead."""
        self.response(status, headers)
        if page:
            self.chunk(page)
        self.end(f"{REFUSED}{reason}")

    def end(self, error: str = "") -> None:
        """Record the end. `error` says why there is no, or no whole, answer."""
        self.ended = True
        if self._timer is not None:
            self._timer.cancel()
        self._ledger.head_known(self.exchange)
        for body, from_agent in ((self._asked, True), (self._answered, False)):
            if body is not None:
                self._hashed(body, from_agent=from_agent)
        self._ledger.append(
            LlmResponseEnd(
                status=self._status,
                headers=text_map(self._headers),
                chunk_count=self._received,
                error=error,
                exchange=self.exchange,
                raw_headers=self._headers,
            )
        )

    def _hashed(self, body: _Hashed, *, from_agent: bool) -> None:
        event = body.out(self.exchange, from_agent=from_agent)
        if event is not None:
            self._ledger.append(event)

    def _goes_on(self) -> None:
        if self.open and not self._head_told:
            self._head_told = True
            self._ledger.head_known(self.exchange)
            self._ledger.append(
                ResponseHead(
                    exchange=self.exchange,
                    status=self._status,
                    headers=text_map(self._headers),
                    raw_headers=self._headers,
                )
            )
