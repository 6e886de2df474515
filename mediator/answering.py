"""The server's half of an exchange: its answer checked, recorded and passed on.

Always: no piece of an answer reaches the agent before that piece is on the record, and nothing of an answer
that `mediator.bodies` stops.
"""

from mitmproxy import http
from mitmproxy.proxy import commands
from mitmproxy.proxy.layers.http import SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseTrailers,
)

from mediator import answers, bodies
from mediator.bodies import StoppedError
from mediator.ending import DISCARD_S, Ending
from mediator.stream import Agent, Commands, Server
from mediator.transcript import Headers


class Answering(Ending):
    """What the server sends."""

    _answer_trailers: Headers = ()

    def _on_answer(self, event: ResponseHeaders) -> Commands:
        response = event.response
        headers = tuple(response.headers.fields)
        wrong = answers.unfit(response)
        if not wrong:
            try:
                self._answer_body = bodies.of_answer(self.link, headers, body=not event.end_stream)
            except StoppedError as stopped:
                wrong = stopped.reason
        if wrong:
            yield from self._fail(wrong)
            return
        answers.standardise(response)
        self._server = Server.BODY
        self.transcript.response(response.status_code, headers)
        if self._answer_body.resizes and not event.end_stream and self._asked is not None:
            answers.reframe(response, self._asked)
        yield self._to_agent(ResponseHeaders(self.stream_id, response, event.end_stream))

    def _on_answer_data(self, data: bytes) -> Commands:
        if self._server is not Server.BODY:
            return
        try:
            passed = self._answer_body.feed(data)
        except StoppedError as stopped:
            yield from self._fail(stopped.reason)
            return
        yield from self._pass(passed)

    def _pass(self, data: bytes) -> Commands:
        if data:
            self.transcript.chunk(data)
            yield self._to_agent(ResponseData(self.stream_id, data))

    def _on_answer_end(self) -> Commands:
        if self._server is not Server.BODY:
            return
        try:
            yield from self._pass(self._answer_body.finish())
            bodies.check_trailers(self.link, self._answer_trailers)
        except StoppedError as stopped:
            yield from self._fail(stopped.reason)
            return
        if self._answer_trailers:
            self.transcript.trailers(self._answer_trailers, from_agent=False)
            trailers = http.Headers(self._answer_trailers)
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
