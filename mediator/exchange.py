"""One HTTP exchange: judged, recorded, forwarded and answered, as a mitmproxy layer without hooks.

Always: what a hook would decide is decided here, so an exception ends the connection instead of letting the
flow pass. The agent's half is `mediator.asking`, the server's `mediator.answering`, what goes wrong
`mediator.ending`; the way of a body, with what looks at it and changes it, is `mediator.bodies`. One that
becomes a WebSocket goes on in `mediator.talking`.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from mitmproxy.proxy import events
from mitmproxy.proxy.layers.http._events import (
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    RequestTrailers,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
    ResponseTrailers,
)

from mediator.answering import Answering
from mediator.answers import passed_trailers
from mediator.asking import Asking
from mediator.playback.answer import AnswerFailed, AskedAnew, said
from mediator.stream import Commands, Server
from mediator.wire import InterimHeaders


class Exchange(Asking, Answering):
    """One stream of the agent's connection."""

    def _handle_event(self, event: events.Event) -> Commands:
        if self._talks:
            return self._talk(event)
        on = self._ON.get(type(event))
        if on is None:
            raise RuntimeError(f"{type(event).__name__} has no place in an exchange")
        return on(self, event)

    def _had_come(self) -> bool:
        playback = self.link.playback
        if playback is None or not self._played or self._talks or self._server is Server.NONE:
            return False
        from mediator.playback.leaving import rest

        pieces = rest(playback, self.transcript.exchange)
        if pieces is None:
            return False
        self.said_all = None
        for event in [one for piece in pieces for one in said(piece, self.stream_id)]:
            for _ in self._ON[type(event)](self, event):
                pass  # nobody is there to be told
        if self.transcript.open:
            self.transcript.end()
        return True

    def _told_start(self, _: events.Start) -> Commands:
        yield from ()

    def _told_head(self, event: RequestHeaders) -> Commands:
        return self._on_head(event)

    def _told_data(self, event: RequestData) -> Commands:
        return self._on_data(event.data)

    def _told_trailers(self, event: RequestTrailers) -> Commands:
        self._request_trailers = tuple(event.trailers.fields)
        yield from ()

    def _told_end(self, _: RequestEndOfMessage) -> Commands:
        return self._on_end()

    def _told_gone(self, event: RequestProtocolError) -> Commands:
        return self._on_agent_gone(event)

    def _told_interim(self, event: InterimHeaders) -> Commands:
        return self._on_interim(event)

    def _told_answer(self, event: ResponseHeaders) -> Commands:
        return self._on_answer(event)

    def _told_answer_data(self, event: ResponseData) -> Commands:
        return self._on_answer_data(event.data)

    def _told_rest(self, event: ResponseTrailers) -> Commands:
        self._answer_trailers = passed_trailers(tuple(event.trailers.fields))
        yield from ()

    def _told_answer_end(self, _: ResponseEndOfMessage) -> Commands:
        return self._on_answer_end()

    def _told_failed(self, event: ResponseProtocolError) -> Commands:
        return self._on_server_failed(event.message)

    def _told_played_failure(self, event: AnswerFailed) -> Commands:
        return self._on_played_failure(event.reason)

    def _told_anew(self, _: AskedAnew) -> Commands:
        return self._on_asked_anew()

    def _on_woken(self, event: events.Wakeup) -> Commands:
        if event.command is not self._moment:
            yield from self._on_wakeup()
            return
        yield from self._release_request()
        yield from self._release()

    _ON: ClassVar[Mapping[type[events.Event], Callable[["Exchange", Any], Commands]]] = {
        events.Start: _told_start,
        RequestHeaders: _told_head,
        RequestData: _told_data,
        RequestTrailers: _told_trailers,
        RequestEndOfMessage: _told_end,
        RequestProtocolError: _told_gone,
        InterimHeaders: _told_interim,
        ResponseHeaders: _told_answer,
        ResponseData: _told_answer_data,
        ResponseTrailers: _told_rest,
        ResponseEndOfMessage: _told_answer_end,
        ResponseProtocolError: _told_failed,
        AnswerFailed: _told_played_failure,
        AskedAnew: _told_anew,
        events.Wakeup: _on_woken,
    }
    """By exact type: asked one after another, the kinds of some fifteen events a request add up."""

    def _talk(self, event: events.Event) -> Commands:
        match event:
            case RequestData():
                yield from self._on_talk(event.data, from_agent=True)
            case ResponseData():
                yield from self._on_talk(event.data, from_agent=False)
            case RequestEndOfMessage():
                yield from self._on_hush(from_agent=True)
            case ResponseEndOfMessage():
                yield from self._on_head_over()
            case AnswerFailed():
                yield from self._on_played_end(event.reason)
            case events.Wakeup():
                # Or of a body that was under way and has ended since: nothing of that is held.
                yield from self._on_later(event)
            case RequestProtocolError() | ResponseProtocolError():
                yield from self._on_hush(from_agent=isinstance(event, RequestProtocolError))
            case _:
                raise RuntimeError(f"{type(event).__name__} has no place in a WebSocket")
