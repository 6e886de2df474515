"""HTTP/2 on the wire, where mitmproxy's own reading of it is not enough for us.

Beyond its classes: interim answers (103) pass, and what the protocol itself forbids an agent is recorded
before its connection ends.
"""

from collections.abc import Callable
from typing import Final

import h2.events
from mitmproxy import http
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._http2 import Http2Client, Http2Server, parse_h2_response_headers

from mediator.settled import SettledHook
from mediator.wire import MAX_INTERIM, InterimHeaders

_PROTOCOL_ERROR: Final = 1  # RFC 9113, 7


class AgentHttp2(Http2Server):
    """The agent's side. `malformed` is told why the connection is ended, before it is."""

    def __init__(self, context: Context, malformed: Callable[[str], None]) -> None:
        super().__init__(context)
        self._malformed = malformed

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        if isinstance(event, InterimHeaders):
            if self.is_open_for_us(event.stream_id):
                status = (b":status", b"%d" % event.response.status_code)
                fields = [(name.lower(), value) for name, value in event.response.headers.fields]
                self.h2_conn.send_headers(event.stream_id, [status, *fields])
                yield commands.SendData(self.conn, self.h2_conn.data_to_send())
            return
        yield from super()._handle_event(event)

    def protocol_error(self, message: str, error_code: int = _PROTOCOL_ERROR) -> CommandGenerator[None]:
        """End the connection."""
        self._malformed(message.partition(":")[0].lower())
        yield SettledHook()  # type: ignore[no-untyped-call]
        yield from super().protocol_error(message, error_code)


class UpstreamHttp2(Http2Client):
    """The real server's side."""

    _interim = 0

    def handle_h2_event(self, event: h2.events.Event) -> CommandGenerator[bool]:
        """Pass interim answers on; the rest as mitmproxy does."""
        if not isinstance(event, h2.events.InformationalResponseReceived):
            return (yield from super().handle_h2_event(event))
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
