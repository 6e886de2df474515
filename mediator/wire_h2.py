"""HTTP/2 on the wire, where mitmproxy's own reading of it is not enough for us.

Beyond its classes: interim answers (103) pass, what the protocol itself forbids an agent is recorded before
its connection ends, what is on its way is bounded (`mediator.flow`), and so is taking requests back.
"""

from collections.abc import Callable
from typing import Final

import h2.events
from mitmproxy import http
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestHeaders,
    RequestProtocolError,
    RequestTrailers,
    ResponseEndOfMessage,
    ResponseProtocolError,
    ResponseTrailers,
)
from mitmproxy.proxy.layers.http._http2 import (
    Http2Client,
    Http2Connection,
    Http2Server,
    parse_h2_response_headers,
)

from mediator.flow import FlowControlled, GoingAway
from mediator.settled import SettledHook
from mediator.wire import MAX_INTERIM, InterimHeaders

MAX_RESETS: Final = 200  # more than requests that end: twice the streams that may be open (CVE-2023-44487)
_PROTOCOL_ERROR: Final = 1  # RFC 9113, 7
_ENHANCE_YOUR_CALM: Final = 11
_NOT_TAKEN: Final = "the server went away before it took the request"


class _Closing(Http2Connection):
    """Closes with streams under way: exchanges may answer by ending them. Before either side's class."""

    def close_connection(self, msg: str) -> CommandGenerator[None]:
        """Close, and tell each exchange. What they say to that comes too late for this connection."""
        under_way = list(self.streams)
        self.streams.clear()
        self._handle_event = self.done  # type: ignore[method-assign]
        yield commands.CloseConnection(self.conn)
        for stream_id in under_way:
            yield ReceiveHttp(self.ReceiveProtocolError(stream_id, msg, self.ReceiveProtocolError.code))


class AgentHttp2(_Closing, Http2Server):
    """The agent's side. `malformed` is told why the connection is ended, before it is."""

    def __init__(self, context: Context, malformed: Callable[[str], None]) -> None:
        super().__init__(context)
        self._malformed = malformed
        self.flow = self.h2_conn = FlowControlled(self.h2_conf)
        self._resets = 0
        self._leaving = False

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        if isinstance(event, InterimHeaders):
            if self.is_open_for_us(event.stream_id):
                status = (b":status", b"%d" % event.response.status_code)
                fields = [(name.lower(), value) for name, value in event.response.headers.fields]
                self.h2_conn.send_headers(event.stream_id, [status, *fields])
                yield commands.SendData(self.conn, self.h2_conn.data_to_send())
            return
        if isinstance(event, ResponseTrailers):
            event.trailers = _lower(event.trailers)
        yield from super()._handle_event(event)
        if isinstance(event, ResponseEndOfMessage):
            self._resets = max(0, self._resets - 1)
        if isinstance(event, (ResponseEndOfMessage, ResponseProtocolError)):
            yield from self._left()

    def handle_h2_event(self, event: h2.events.Event) -> CommandGenerator[bool]:
        """Count the requests that were taken back: nobody who wants answers takes back this many."""
        if isinstance(event, GoingAway):
            self._leaving = True
            return (yield from self._left())
        if isinstance(event, h2.events.StreamReset):
            self._resets += 1
            if self._resets > MAX_RESETS:
                yield from self.protocol_error(
                    "it took back its requests faster than it made them", _ENHANCE_YOUR_CALM
                )
                return True
        return (yield from super().handle_h2_event(event))

    def _left(self) -> CommandGenerator[bool]:
        """Close once nothing is under way for an agent that begins nothing more."""
        if not self._leaving or self.flow.open_inbound_streams:
            return False
        yield from self.close_connection("the agent went away")
        return True

    def protocol_error(self, message: str, error_code: int = _PROTOCOL_ERROR) -> CommandGenerator[None]:
        """End the connection."""
        self._malformed(message.partition(":")[0].lower())
        yield SettledHook()
        yield from super().protocol_error(message, error_code)


class UpstreamHttp2(_Closing, Http2Client):
    """The real server's side."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.flow = self.h2_conn = FlowControlled(self.h2_conf, push=False)
        self._interim = 0
        self.leaving = False
        """Whether the server takes no new streams."""
        self._under_way: set[int] = set()

    def _handle_event2(self, event: events.Event) -> CommandGenerator[None]:
        if isinstance(event, RequestHeaders):
            self._under_way.add(event.stream_id)
        if isinstance(event, RequestTrailers):
            event.trailers = _lower(event.trailers)
        yield from super()._handle_event2(event)
        if isinstance(event, RequestProtocolError):
            self._under_way.discard(event.stream_id)

    def waiting(self, stream_id: int) -> int:
        """Return how many bytes of an exchange, by its own number, wait for the server's window."""
        ours = self.our_stream_id.get(stream_id)
        if ours is None:
            queued = self.stream_queue.get(stream_id, ())
            return sum(len(event.data) for event in queued if isinstance(event, RequestData))
        return self.flow.waiting(ours)

    def handle_h2_event(self, event: h2.events.Event) -> CommandGenerator[bool]:
        """Pass interim answers on; the rest as mitmproxy does."""
        if isinstance(event, GoingAway):
            return (yield from self._leave(event.last))
        if not isinstance(event, h2.events.InformationalResponseReceived):
            done = yield from super().handle_h2_event(event)
            if isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
                self._under_way.discard(event.stream_id or 0)
            return done or (yield from self._left())
        self._interim += 1
        try:
            status, headers = parse_h2_response_headers(event.headers or [])
        except ValueError:
            status, headers = 0, http.Headers()
        if self._interim > MAX_INTERIM * 100 or not 100 <= status < 200:
            yield from self.protocol_error("its interim answers are none or too many")
            return True
        response = http.Response(b"HTTP/1.1", status, b"", headers, None, None, 0, None)
        if event.stream_id in self.streams:
            yield ReceiveHttp(InterimHeaders(event.stream_id, response))
        return False

    def _leave(self, last: int) -> CommandGenerator[bool]:
        """Give up what the server will not answer, and wait for the rest."""
        self.leaving = True
        refused = [*(ours for ours in self.streams if ours > last), *self._unqueued()]
        for ours in refused:
            self.streams.pop(ours, None)
            self._under_way.discard(ours)
            yield ReceiveHttp(ResponseProtocolError(ours, _NOT_TAKEN, ErrorCode.GENERIC_SERVER_ERROR))
        return (yield from self._left())

    def close_connection(self, msg: str) -> CommandGenerator[None]:
        """Close, and tell those too that wait until the server takes more: they would wait for good."""
        waiting = self._unqueued()
        yield from super().close_connection(msg)
        for ours in waiting:
            yield ReceiveHttp(ResponseProtocolError(ours, _NOT_TAKEN, ErrorCode.GENERIC_SERVER_ERROR))

    def _unqueued(self) -> list[int]:
        """Take out all that wait. They have no number of ours yet, and get one that none has."""
        waiting = list(self.stream_queue)
        self.stream_queue.clear()
        self.their_stream_id.update({-theirs: theirs for theirs in waiting})
        return [-theirs for theirs in waiting]

    def _left(self) -> CommandGenerator[bool]:
        if not self.leaving or self._under_way:
            return False
        yield from self.close_connection("the server went away")
        return True


def _lower(fields: http.Headers) -> http.Headers:
    """Return trailers as HTTP/2 writes them; in HTTP/1 they may have capitals."""
    return http.Headers([(name.lower(), value) for name, value in fields.fields])
