"""One HTTP exchange: judged, recorded, forwarded and answered, as a mitmproxy layer without hooks.

Always: what a hook would decide is decided here, so an exception ends the connection instead of letting the
flow pass. The agent's half is `mediator.asking`, the server's `mediator.answering`, what goes wrong
`mediator.ending`; the way of a body, with what looks at it and changes it, is `mediator.bodies`. One that
becomes a WebSocket goes on in `mediator.talking`.
"""

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
from mediator.stream import Commands
from mediator.wire import InterimHeaders


class Exchange(Asking, Answering):
    """One stream of the agent's connection."""

    def _handle_event(self, event: events.Event) -> Commands:  # noqa: PLR0912  # one line for each event
        if self._talks:
            yield from self._talk(event)
            return
        match event:
            case events.Start():
                pass
            case RequestHeaders():
                yield from self._on_head(event)
            case RequestData():
                yield from self._on_data(event.data)
            case RequestTrailers():
                self._request_trailers = tuple(event.trailers.fields)
            case RequestEndOfMessage():
                yield from self._on_end()
            case RequestProtocolError():
                yield from self._on_agent_gone(event)
            case InterimHeaders():
                yield from self._on_interim(event)
            case ResponseHeaders():
                yield from self._on_answer(event)
            case ResponseData():
                yield from self._on_answer_data(event.data)
            case ResponseTrailers():
                self._answer_trailers = passed_trailers(tuple(event.trailers.fields))
            case ResponseEndOfMessage():
                yield from self._on_answer_end()
            case ResponseProtocolError():
                yield from self._on_server_failed(event.message)
            case events.Wakeup():
                yield from self._on_woken(event)
            case _:
                raise RuntimeError(f"{type(event).__name__} has no place in an exchange")

    def _on_woken(self, event: events.Wakeup) -> Commands:
        if event.command is not self._moment:
            yield from self._on_wakeup()
            return
        yield from self._release_request()
        yield from self._release()

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
            case RequestProtocolError() | ResponseProtocolError():
                yield from self._on_hush(from_agent=isinstance(event, RequestProtocolError))
            case _:
                raise RuntimeError(f"{type(event).__name__} has no place in a WebSocket")
