"""Where a server's connection would be: takes one request and gives the recorded answer, part by part.

Always: no socket is behind it, one serves one exchange, and each part waits for its turn. What a server said
becomes the same events as if it had been read from a connection, so that everything behind is the recording's
own way: judged, recorded, framed and written alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from mitmproxy import http
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseTrailers,
)

from hark.bundle.events import STREAM
from hark.bundle.fields import Pairs
from hark.replay.pieces import (
    Branched,
    Called,
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
from mediator import handshake, upgrade
from mediator.playback.playback import Playback
from mediator.playback.words import NO_MORE, NOT_THE_RECORDED
from mediator.talking import SWITCHED
from mediator.wire import InterimHeaders

if TYPE_CHECKING:
    from hark.bundle.fields import Pairs
    from mediator.playback.frames import Frames


@dataclass
class TurnHook(commands.StartHook):  # type: ignore[no-untyped-call]
    """Wait until a part may be let in; `granted` says whether it may."""

    part: Part
    stream_id: int
    blocking = True
    granted: bool = False


@dataclass
class AnswerFailed(HttpEvent):
    """There is no, or no whole, answer, for the recorded reason."""

    reason: str


@dataclass
class AskedAnew(HttpEvent):
    """The run went live at this request: it is judged again, and in a fork asked of its real server."""


class Plain:
    """As `Frames`, for a stream of bytes: nothing of it is framed or answered."""

    def accepting(self, headers: Pairs) -> Pairs:
        """Return the recorded headers of the server's agreement."""
        return headers

    def began(self, _pongs: int) -> None:
        """Take that the server has agreed."""

    def framed(self, message: Message) -> bytes:
        """Return recorded bytes."""
        return message.data

    def heard(self, _data: bytes) -> Iterator[bytes]:
        """Answer nothing."""
        return iter(())


class PlayedServer(layer.Layer):
    """Answers one exchange."""

    def __init__(self, context: Context, exchange: int, playback: Playback) -> None:
        super().__init__(context)
        self._exchange = exchange
        self._playback = playback
        self._stream_id = 0
        self._playing = False
        self._frames: Frames | Plain | None = None
        self.over = False
        """Whether nothing more is to come of it."""

    def handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As of a layer. Bodies are on the record already, and an end counts at once."""
        if isinstance(event, RequestData):
            if self._frames is not None and not self.over:
                for answer in self._frames.heard(event.data):
                    yield ReceiveHttp(ResponseData(self._stream_id, answer))
            return
        if isinstance(event, RequestProtocolError):
            self.over = True
            self._playback.drop(self._playback.upcoming(self._exchange))
        yield from super().handle_event(event)

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, RequestHeaders):
            self._stream_id = event.stream_id
            self._frames = _frames(tuple(event.request.headers.fields))
        if isinstance(event, (RequestHeaders, RequestEndOfMessage)) and not self._playing:
            self._playing = self._playback.wanted(self._exchange) is not None
            if self._playing:
                yield from self._play()
            elif isinstance(event, RequestEndOfMessage) and self._playback.live:
                yield ReceiveHttp(AnswerFailed(self._stream_id, NOT_THE_RECORDED))

    def _play(self) -> layer.CommandGenerator[None]:
        while not self.over and (part := self._playback.upcoming(self._exchange)) is not None:
            turn = TurnHook(part, self._stream_id)
            yield turn
            if self._playback.live and not turn.granted and not self.over and self._has_more():
                yield ReceiveHttp(AnswerFailed(self._stream_id, NO_MORE))
            if self.over or not turn.granted:
                break
            yield from self._let_in(part)
        self.over = True

    def _has_more(self) -> bool:
        """Tell whether anything is to come yet; a WebSocket that was left ends with the agent's next word."""
        return self._playback.upcoming(self._exchange) is not None

    def _let_in(self, part: Part | None) -> layer.CommandGenerator[None]:
        """Say a part that has its turn, and what comes with it. One that cannot be read has diverged."""
        while part is not None and (piece := self._playback.loaded(part)) is not None:
            self._playback.told(self._exchange)
            for event in self._said(piece):
                yield ReceiveHttp(event)
            part = self._playback.along_with(self._exchange, part)

    def _said(self, piece: Piece) -> Iterator[HttpEvent]:
        """Yield what the agent's side reads of a piece; a WebSocket answers this agent's own key."""
        frames = self._frames
        if frames is not None and isinstance(piece, Head) and piece.status == SWITCHED:
            live = self._playback.score.of(self._exchange)
            frames.began(live.recorded.pongs if live is not None and live.recorded is not None else 0)
            yield from said(piece._replace(headers=frames.accepting(piece.headers)), self._stream_id)
            yield ResponseEndOfMessage(self._stream_id)
        elif frames is not None and isinstance(piece, Message):
            yield from _framed(frames, piece, self._stream_id)
        else:
            yield from said(piece, self._stream_id)


def _framed(frames: "Frames | Plain", message: Message, stream_id: int) -> Iterator[HttpEvent]:
    """Yield what is read of a message; the last piece of a raw stream ends it."""
    data = frames.framed(message)
    if data:
        yield ResponseData(stream_id, data)
    if message.type == STREAM and not message.more:
        yield ResponseEndOfMessage(stream_id)


def said(piece: Piece, stream_id: int) -> Iterator[HttpEvent]:
    """Yield what a server's connection would have read."""
    match piece:
        case Early():
            yield InterimHeaders(stream_id, _response(piece.status, piece.headers))
        case Head():
            yield ResponseHeaders(stream_id, _response(piece.status, piece.headers), piece.ends)
        case Data():
            yield ResponseData(stream_id, piece.data)
        case Tail():
            yield ResponseTrailers(stream_id, http.Headers(piece.headers))
        case End():
            yield ResponseEndOfMessage(stream_id)
        case Failed():
            yield AnswerFailed(stream_id, piece.reason)
        case Branched():
            yield AskedAnew(stream_id)
        case Withheld() | Refused() | Typed() | Message() | Changed() | Called():
            return
        case _:
            assert_never(piece)


def _response(status: int, headers: Pairs) -> http.Response:
    """Return a head. HTTP/1.1 is what is told apart from HTTP/2 where the agent is written to."""
    return http.Response(b"HTTP/1.1", status, b"", headers, None, None, 0, None)


def _frames(headers: "Pairs") -> "Frames | Plain | None":
    """Return the frames of a WebSocket or what is said in a raw stream, where a request asks for such."""
    if upgrade.wanted(headers):
        return Plain()
    if not handshake.wanted(headers):
        return None
    from mediator.playback.frames import Frames

    return Frames.asked(headers)
