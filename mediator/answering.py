"""The server's half of an exchange: its answer checked, recorded and passed on.

Always: no piece of an answer reaches the agent before that piece is on the record, and nothing of an answer
that `mediator.bodies` stops.
"""

from collections.abc import Iterator
from typing import Final

from mitmproxy import http
from mitmproxy.proxy import commands
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http import SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseTrailers,
)

from mediator import answers, bodies, heads
from mediator.answers import passed_trailers
from mediator.bodies import StoppedError
from mediator.ending import DISCARD_S
from mediator.endpoints import minting_at
from mediator.fields import length
from mediator.parts import OK, PARTIAL, Part, is_part, part_of
from mediator.stream import Agent, Commands, Server
from mediator.streaming import Streaming
from mediator.talking import SWITCHED
from mediator.transcript import Headers
from mediator.wire import InterimHeaders

CONTINUE: Final = 100
_WHOLE: Final = ("GET", OK)
_UNASKED: Final = (
    "the server sent a part of a whole, for which hark does not ask a server that knows a credential: "
    "in parts none of which holds it whole it would come through unseen"
)
MAX_PIECE: Final = 1 << 18  # bytes, as of a read


class Answering(Streaming):
    """What the server sends."""

    _answer_trailers: Headers = ()
    _whole: int | None = None
    """What the body has by its announcement; None where nothing was announced, or something came already."""
    _over = False
    """Whether the body came whole, in one piece: what comes after it is none of it."""

    def _on_interim(self, event: InterimHeaders) -> Commands:
        """Pass an interim answer on, but no second 100: hark has given that one itself."""
        response = event.response
        if self._server is not Server.HEAD or response.status_code == CONTINUE:
            return
        fields = passed_trailers(tuple(response.headers.fields))
        try:
            fields = bodies.turned_trailers(self.link, fields, played=self._played)
        except StoppedError as stopped:
            yield from self._fail(stopped.reason)
            return
        response.headers = http.Headers(fields)
        answers.standardise(response)
        self.transcript.interim(response.status_code, fields)
        yield self._to_agent(InterimHeaders(self.stream_id, response))

    def _on_answer(self, event: ResponseHeaders) -> Commands:
        response = event.response
        headers = tuple(response.headers.fields)
        switched = response.status_code == SWITCHED
        wrong = self._agreed(response, headers) if switched else answers.unfit(response)
        part = None if wrong or event.end_stream else self._part_of(response)
        if not (wrong or event.end_stream or self._played):
            wrong = self._unasked(response.status_code, headers)
        if not wrong:
            try:
                headers, self._answer_body = bodies.of_answer(
                    self.link,
                    headers,
                    body=not event.end_stream,
                    asked=self._targets,
                    played=self._played,
                    part=part,
                )
            except StoppedError as stopped:
                wrong = stopped.reason
        if wrong:
            yield from self._fail(wrong)
            return
        response.data.headers = heads.fields(headers)
        if switched:
            yield from self._begin_talk(response, headers)
            return
        if part is not None:
            response.status_code = PARTIAL
        answers.standardise(response)
        self._server = Server.BODY
        self._whole = length(headers) if part is None else None
        self._unsaid = event, headers
        if not self._answer_body.late or event.end_stream:
            yield from self._begin_answer()

    def _unasked(self, status: int, headers: Headers) -> str:
        """Say why a part is not passed on, of a server that knows a credential and was not asked for one."""
        if not is_part(status, headers):
            return ""
        link = self.link
        if link.broker.binds(link.target) or self._mints():
            return _UNASKED
        return ""

    def _mints(self) -> bool:
        return minting_at(self.link.policy, self.link.target, *self._targets) is not None

    def _part_of(self, response: http.Response) -> Part | None:
        """Return the part that the agent wants of a whole, where hark asked for the whole in its place."""
        asked, forward = self._asked, self._forward
        if self._played or asked is None or forward is None or (asked.method, response.status_code) != _WHOLE:
            return None
        if self._mints():
            return None
        return part_of(tuple(asked.headers.fields), forward.headers, tuple(response.headers.fields))

    def _begin_answer(self) -> Commands:
        """Record the answer's head and pass it on, if that has not been done."""
        if self._unsaid is None:
            return
        (event, headers), self._unsaid = self._unsaid, None
        response, asked = event.response, self._asked
        self.size = sum([len(name) + len(value) for name, value in headers])
        self.transcript.response(response.status_code, headers)
        if self._watch is not None and not event.end_stream:
            self._watch.answered(headers)
        if asked is not None and not event.end_stream and self._framed_anew(response, asked):
            answers.reframe(response, asked)
        yield self._to_agent(ResponseHeaders(self.stream_id, response, event.end_stream))

    def _framed_anew(self, response: http.Response, asked: http.Request) -> bool:
        """Tell whether the agent must be told otherwise than the server told us where the body ends."""
        if self._answer_body.resizes:
            return True
        chunked = asked.http_version == "HTTP/1.0" and "transfer-encoding" in response.headers
        unsaid = response.is_http2 and not asked.is_http2 and "content-length" not in response.headers
        return chunked or unsaid

    def _on_answer_data(self, data: bytes) -> Commands:
        if self._server is not Server.BODY or not data:  # HTTP/2 has frames of padding alone
            return
        try:
            passed = yield from self._looked_at(data)
        except StoppedError as stopped:
            yield from self._fail(stopped.reason)
            return
        yield from self._pass_in_turns(passed)
        if self._answer_body.waiting:
            yield from self._wait_a_moment()

    def _looked_at(self, data: bytes) -> CommandGenerator[bytes]:
        """Return what may pass of a piece: of a whole body all, and nothing of it has to be held back."""
        if self._over:
            raise StoppedError("more of a body than was announced")
        self._over = self._whole == len(data)
        self._whole = None
        return (yield from self._through(self._answer_body, data, whole=self._over))

    def _release(self) -> Commands:
        """Pass on what waited: nothing came that would make a credential of it."""
        if self._server is Server.BODY and self._answer_body.waiting:
            yield from self._pass(self._answer_body.release())

    def _pass_in_turns(self, data: bytes) -> Commands:
        """Pass on what may be more than a read: each piece is searched again as it is recorded."""
        for piece in _pieces(data):
            yield from self._pass(piece)
            if len(data) > MAX_PIECE:
                yield from self._sliced(bool)  # nothing: others have their turn

    def _pass(self, data: bytes) -> Commands:
        if data:
            yield from self._begin_answer()
            self.size += len(data)
            self.transcript.chunk(data)
            if self._watch is not None:
                self._watch.feed(data)
            yield self._to_agent(ResponseData(self.stream_id, data))

    def _on_answer_end(self) -> Commands:
        if self._server is not Server.BODY:
            return
        try:
            if not self._over:
                yield from self._pass_in_turns((yield from self._last_of(self._answer_body)))
            if self._watch is not None:
                self._watch.finish()
            trailers = self._answer_trailers
            self._answer_trailers = bodies.turned_trailers(self.link, trailers, played=self._played)
        except StoppedError as stopped:
            yield from self._fail(stopped.reason)
            return
        yield from self._begin_answer()
        if self._answer_trailers:
            self.transcript.trailers(self._answer_trailers, from_agent=False)
            last = ResponseTrailers(self.stream_id, http.Headers(self._answer_trailers))
            yield self._to_agent(last)
        self._server = Server.DONE
        if self.said_all is None:
            self.transcript.end()
        else:
            self.said_all(self)
        if self._agent is Agent.DONE:
            yield from self._finish()
        else:
            yield from self._answered_early()

    def _last_of(self, body: bodies.Chain) -> CommandGenerator[bytes]:
        return (yield from self._sliced(body.finish)) if body.is_slow() else body.finish()

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


def _pieces(data: bytes) -> Iterator[bytes]:
    """Divide what was held: each piece becomes an event of the record."""
    for at in range(0, len(data), MAX_PIECE):
        yield data[at : at + MAX_PIECE]
