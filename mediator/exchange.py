"""One HTTP exchange: judged, recorded, forwarded and answered, as a mitmproxy layer without hooks.

Always: nothing goes to the server before the request is on the record, no piece of a body in either direction
before that piece is; what a hook would decide is decided here, so an exception ends the connection instead of
letting the flow pass. Bodies are never held beyond `MAX_WHOLE_BODY`.

Not done here: WebSocket (refused by `mediator.judgement`), replay keys, substitution in bodies.
"""

from enum import Enum, auto
from typing import Final

from mitmproxy import http
from mitmproxy.connection import Connection
from mitmproxy.net.http.http1 import expected_http_body_size
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import DropStream, GetHttpConnection, SendHttp
from mitmproxy.proxy.layers.http._base import HttpEvent
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
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

from hark.policy.decide import Deny
from mediator import answers, outgoing, pages
from mediator.echo import EchoScan, PackedError
from mediator.fields import one_line, trailer_allowed
from mediator.held import Held
from mediator.judgement import Forward, Refusal, judge_trailers
from mediator.link import Link
from mediator.scan import FoundError
from mediator.transcript import MAX_WHOLE_BODY, Headers, Transcript, recorded_host

MAX_DISCARDED: Final = 1 << 20  # of a refused upload: enough for a small client to finish and read the answer
DISCARD_S: Final = 2.0

type Commands = layer.CommandGenerator[None]


class Agent(Enum):
    """How far the agent's side is."""

    HEAD = auto()
    WHOLE = auto()
    STREAM = auto()
    DONE = auto()
    DISCARD = auto()
    GONE = auto()


class Server(Enum):
    """How far the server's side is."""

    NONE = auto()
    HEAD = auto()
    BODY = auto()
    DONE = auto()


class Exchange(layer.Layer):
    """One stream of the agent's connection."""

    def __init__(self, context: Context, stream_id: int, link: Link) -> None:
        super().__init__(context)
        self.stream_id = stream_id
        self.link = link
        self.transcript = Transcript(link.ledger, link.clock)
        self._agent = Agent.HEAD
        self._server = Server.NONE
        self._upstream: Connection | None = None
        self._asked: http.Request | None = None
        self._forward: Forward | None = None
        self._held = Held(link.room)
        self._request_trailers: Headers = ()
        self._response_trailers: Headers = ()
        self._outgoing = link.broker.outgoing()
        self._echo = EchoScan(link.broker)
        self._discarded = 0

    def let_go(self, reason: str) -> None:
        """The connection ended: record that, and hold nothing more."""
        self._held.out()
        if self.transcript.open:
            self.transcript.end(reason)

    @property
    def backlog(self) -> int:
        """Return how many events wait while this exchange waits for its connection."""
        return len(self._paused_event_queue)

    def _handle_event(self, event: events.Event) -> Commands:  # noqa: PLR0912  # one line for each event
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
            case ResponseHeaders():
                yield from self._on_answer(event)
            case ResponseData():
                yield from self._on_answer_data(event.data)
            case ResponseTrailers():
                self._response_trailers = _passed(event.trailers)
            case ResponseEndOfMessage():
                yield from self._on_answer_end()
            case ResponseProtocolError():
                yield from self._on_server_failed(event.message)
            case events.Wakeup():
                yield from self._on_wakeup()
            case _:
                raise RuntimeError(f"{type(event).__name__} has no place in an exchange")

    # The request

    def _on_head(self, event: RequestHeaders) -> Commands:
        self._asked = event.request
        judged = outgoing.judged(event.request, self.link)
        if isinstance(judged, Refusal):
            yield from self._refuse(judged, body_follows=not event.end_stream)
            return
        self._forward = judged
        if judged.wants_continue and not event.end_stream:
            interim = http.Response(b"HTTP/1.1", 100, b"Continue", (), None, None, 0, None)
            yield self._to_agent(ResponseHeaders(self.stream_id, interim))
        size = 0 if event.end_stream else expected_http_body_size(event.request)
        # HTTP/2 may announce no length and send a body all the same; in HTTP/1 that is no body.
        known = event.end_stream or bool(size) or not event.request.is_http2
        if size is not None and 0 <= size <= MAX_WHOLE_BODY and known and self._held.expect(size):
            self._agent = Agent.WHOLE
            return
        self._record_request(b"", streamed=True)
        self._agent = Agent.STREAM
        yield from self._connect(end_stream=False)

    def _on_data(self, data: bytes) -> Commands:
        if self._agent is Agent.WHOLE:
            self._held.add(data)
        elif self._agent is Agent.STREAM:
            yield from self._send_piece(data)
        elif self._agent is Agent.DISCARD:
            self._discarded += len(data)
            if self._discarded > MAX_DISCARDED:
                yield from self._hang_up()

    def _send_piece(self, data: bytes) -> Commands:
        try:
            passed = self._outgoing.feed(data)
        except FoundError as found:
            yield from self._refuse_body(found)
            return
        if passed and self._upstream is not None:
            self.transcript.request_chunk(passed, last=False)
            yield SendHttp(RequestData(self.stream_id, passed), self._upstream)

    def _on_end(self) -> Commands:
        if self._agent is Agent.DISCARD:
            self._agent = Agent.DONE
            yield DropStream(self.stream_id)
            return
        if self._agent not in (Agent.WHOLE, Agent.STREAM):
            return
        denied = judge_trailers(self._request_trailers, self.link)
        if denied is not None:
            yield from self._refuse_rest(denied)
        elif self._agent is Agent.WHOLE:
            yield from self._send_whole()
        else:
            self._agent = Agent.DONE
            rest = self._outgoing.finish()
            self.transcript.request_chunk(rest, last=True)
            if rest and self._upstream is not None:
                yield SendHttp(RequestData(self.stream_id, rest), self._upstream)
            yield from self._send_end()

    def _send_whole(self) -> Commands:
        body = self._held.out()
        try:
            body = self._outgoing.feed(body) + self._outgoing.finish()
        except FoundError as found:
            self._record_request(body, streamed=False, sent=False)
            yield from self._refuse_body(found)
            return
        self._agent = Agent.DONE
        self._record_request(body, streamed=False)
        yield from self._connect(end_stream=not body and not self._request_trailers)
        if self._upstream is None:
            return
        if body:
            yield SendHttp(RequestData(self.stream_id, body), self._upstream)
        yield from self._send_end()

    def _send_end(self) -> Commands:
        if self._upstream is None:
            return
        if self._request_trailers:
            self.transcript.trailers(self._request_trailers, from_agent=True)
            trailers = http.Headers(self._request_trailers)
            yield SendHttp(RequestTrailers(self.stream_id, trailers), self._upstream)
        yield SendHttp(RequestEndOfMessage(self.stream_id), self._upstream)
        if self._server is Server.DONE:
            yield from self._finish()

    def _refuse_rest(self, denied: Deny) -> Commands:
        """Refuse at the end of a request: of a streamed one, what came before has left already."""
        if self._agent is Agent.WHOLE:
            self._record_request(self._held.out(), streamed=False, sent=False)
        self.transcript.trailers(self._request_trailers, from_agent=True)
        self._agent = Agent.DONE
        yield from self._refuse_sent(Refusal(403, denied), body_follows=False)

    def _record_request(self, body: bytes, *, streamed: bool, sent: bool = True) -> None:
        """Record the request, and which credentials go with it unless it is not sent."""
        request = self._asked
        if request is None:
            raise RuntimeError("a body without a request")
        host = recorded_host(self.link.target, tls=self.link.tls)
        headers = tuple(request.headers.fields)
        self.transcript.request(
            host, request.data.method, request.data.path, headers, body, streamed=streamed
        )
        if not sent or self._forward is None:
            return
        for injection in self._forward.injections:
            self.link.ledger.injected(self.link.target, injection)

    def _connect(self, *, end_stream: bool) -> Commands:
        """Get a connection and send the head; on failure the agent is answered and `_upstream` stays None."""
        target = self.link.target
        connection, error = yield GetHttpConnection((target.host, target.port), self.link.tls, None)
        if error is not None:
            yield from self._fail(error)
            return
        self._upstream = connection
        self._server = Server.HEAD
        yield SendHttp(RequestHeaders(self.stream_id, self._outgoing_head(), end_stream), connection)

    def _outgoing_head(self) -> http.Request:
        request, forward = self._asked, self._forward
        if request is None or forward is None:
            raise RuntimeError("a connection without a request")
        return outgoing.head(request, forward, self.link, chunked=self._framed)

    @property
    def _framed(self) -> bool:
        """Tell whether HTTP/1 needs chunks where HTTP/2 had frames: for a body of unknown length."""
        request, upstream = self._asked, self._upstream
        if request is None or upstream is None or not request.is_http2 or upstream.alpn == b"h2":
            return False
        return self._agent is Agent.STREAM and "content-length" not in request.headers

    # The answer

    def _on_answer(self, event: ResponseHeaders) -> Commands:
        response = event.response
        headers = tuple(response.headers.fields)
        try:
            wrong = answers.unfit(response)
            self._echo.head(headers, body=not event.end_stream)
        except FoundError as found:
            wrong = answers.echoed(found)
        except PackedError as error:
            wrong = str(error)
        if wrong:
            yield from self._fail(wrong)
            return
        answers.standardise(response)
        self._server = Server.BODY
        self.transcript.response(response.status_code, headers)
        yield self._to_agent(ResponseHeaders(self.stream_id, response, event.end_stream))

    def _on_answer_data(self, data: bytes) -> Commands:
        if self._server is not Server.BODY:
            return
        try:
            passed = self._echo.body(data)
        except FoundError as found:
            yield from self._fail(answers.echoed(found))
            return
        except PackedError as error:
            yield from self._fail(str(error))
            return
        if passed:
            self.transcript.chunk(passed)
            yield self._to_agent(ResponseData(self.stream_id, passed))

    def _on_answer_end(self) -> Commands:
        if self._server is not Server.BODY:
            return
        rest = self._echo.finish()
        if rest:
            self.transcript.chunk(rest)
            yield self._to_agent(ResponseData(self.stream_id, rest))
        if self._response_trailers:
            try:
                self._echo.fields(self._response_trailers)
            except FoundError as found:
                yield from self._fail(answers.echoed(found))
                return
            self.transcript.trailers(self._response_trailers, from_agent=False)
            trailers = http.Headers(self._response_trailers)
            yield self._to_agent(ResponseTrailers(self.stream_id, trailers))
        self._server = Server.DONE
        self.transcript.end()
        if self._agent is Agent.DONE:
            yield from self._finish()
        else:
            yield from self._answered_early()

    def _answered_early(self) -> Commands:
        """The server answered before it had read the request (413): the rest is not sent any more."""
        if self._upstream is not None:
            yield SendHttp(
                RequestProtocolError(self.stream_id, "answered early", ErrorCode.CANCEL), self._upstream
            )
            self._upstream = None
        self._agent = Agent.DISCARD
        yield self._to_agent(ResponseEndOfMessage(self.stream_id))
        yield commands.RequestWakeup(DISCARD_S)

    def _finish(self) -> Commands:
        yield DropStream(self.stream_id)
        yield self._to_agent(ResponseEndOfMessage(self.stream_id))

    # What goes wrong

    def _on_agent_gone(self, event: RequestProtocolError) -> Commands:
        self._agent = Agent.GONE
        self._held.out()
        if self.transcript.open:
            self.transcript.end("the agent went away")
        if self._upstream is not None and self._server is not Server.DONE:
            yield SendHttp(event, self._upstream)
        self._server = Server.DONE
        yield DropStream(self.stream_id)

    def _on_server_failed(self, message: str) -> Commands:
        if self._server in (Server.HEAD, Server.BODY):
            yield from self._fail(f"it broke off: {answers.calm(message)}")

    def _fail(self, reason: str) -> Commands:
        """No answer, or no more of it: say why where the agent can still be told, and record what it got."""
        self.link.ledger.warn(f"no whole answer from {self.link.target}: {reason}")
        if self._server is Server.BODY:
            self._server = Server.DONE
            self.transcript.end(reason)
            yield from self._drop_upstream()
            if not self._multiplexed:
                self.context.client.error = reason  # how the connection closes shows that this is no end
            yield self._to_agent(ResponseProtocolError(self.stream_id, reason, ErrorCode.KILL))
            yield DropStream(self.stream_id)
            return
        body_follows = self._agent is not Agent.DONE
        page = pages.upstream_failure(self.link.target, reason)
        response = answers.page(502, page, close=body_follows)
        self.transcript.response(502, tuple(response.headers.fields))
        if not self._bodiless:
            self.transcript.chunk(page)
        self.transcript.end(reason)
        yield from self._drop_upstream()
        yield from self._answer(response, body_follows=body_follows)

    def _refuse(self, refusal: Refusal, *, body_follows: bool) -> Commands:
        link = self.link
        link.ledger.attempt(link.target, link.protocol, link.sni_text, refusal.denied)
        if not self.transcript.open:
            self._record_request(b"", streamed=False, sent=False)
        page = pages.refusal(link.target, refusal.denied)
        response = answers.page(refusal.status, page, close=body_follows)
        shown = b"" if self._bodiless else page
        self.transcript.refused(refusal.status, tuple(response.headers.fields), shown, refusal.denied.reason)
        yield from self._answer(response, body_follows=body_follows)

    def _refuse_body(self, found: FoundError) -> Commands:
        """A placeholder in a body: of a streamed one, what came before it has left already."""
        refusal = Refusal(403, Deny(self.link.broker.body_refusal(found).reason, ""))
        yield from self._refuse_sent(refusal, body_follows=self._agent is Agent.STREAM)

    def _refuse_sent(self, refusal: Refusal, *, body_follows: bool) -> Commands:
        yield from self._drop_upstream()
        if self._server is Server.BODY:
            yield from self._fail(refusal.denied.reason)
            return
        yield from self._refuse(refusal, body_follows=body_follows)

    def _answer(self, response: http.Response, *, body_follows: bool) -> Commands:
        self._server = Server.DONE
        self._agent = Agent.DISCARD if body_follows else Agent.DONE
        body = b"" if self._bodiless else response.raw_content or b""
        yield self._to_agent(ResponseHeaders(self.stream_id, response, not body))
        if body:
            yield self._to_agent(ResponseData(self.stream_id, body))
        if not body_follows:
            yield from self._finish()
            return
        yield self._to_agent(ResponseEndOfMessage(self.stream_id))
        yield commands.RequestWakeup(DISCARD_S)

    def _on_wakeup(self) -> Commands:
        if self._agent is Agent.DISCARD:
            yield from self._hang_up()

    def _hang_up(self) -> Commands:
        """End a refused upload that goes on: one stream of HTTP/2, the connection of HTTP/1."""
        self._agent = Agent.GONE
        yield self._to_agent(ResponseProtocolError(self.stream_id, "refused", ErrorCode.CANCEL))
        yield DropStream(self.stream_id)

    @property
    def _bodiless(self) -> bool:
        """Tell whether the answer has no body, whatever its headers say."""
        return self._asked is not None and self._asked.data.method == b"HEAD"

    @property
    def _multiplexed(self) -> bool:
        return self._asked is not None and self._asked.is_http2

    def _drop_upstream(self) -> Commands:
        if self._upstream is not None:
            error = RequestProtocolError(self.stream_id, "ended by hark", ErrorCode.CANCEL)
            yield SendHttp(error, self._upstream)
            self._upstream = None

    def _to_agent(self, event: HttpEvent) -> SendHttp:
        return SendHttp(event, self.context.client)


def _passed(trailers: http.Headers) -> Headers:
    """Return what an answer's trailers may say. The rest is dropped: it is the server's mistake or worse."""
    return tuple(field for field in trailers.fields if trailer_allowed(field[0]) and one_line((field,)))
