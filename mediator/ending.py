"""What goes wrong in an exchange, and how the agent and the record are told.

Always: a refusal is on the record before its answer, and an answer that was cut is never ended as if it were
whole.
"""

from typing import Final

from mitmproxy import http
from mitmproxy.proxy import commands
from mitmproxy.proxy.layers.http import DropStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)

from hark.bundle.events import AGENT_LEFT
from hark.policy.decide import Deny
from mediator import answers, pages
from mediator.judgement import Refusal
from mediator.settled import SettledHook
from mediator.stream import Agent, Commands, Server, Stream

MAX_DISCARDED: Final = 1 << 20  # of a refused upload: enough for a small client to finish and read the answer
DISCARD_S: Final = 2.0  # for the same; one that sends on for longer has its connection closed
HOLD_S: Final = 0.02  # a server that writes on writes sooner; one that waits for the agent is not held up


class Ending(Stream):
    """Both halves end here."""

    _discarded = 0
    _moment: commands.RequestWakeup | None = None

    def _on_agent_gone(self, event: RequestProtocolError) -> Commands:
        asked = self._upstream if self._server is not Server.DONE else None
        self.let_go(AGENT_LEFT)
        self._agent = Agent.GONE
        if asked is not None:
            yield SendHttp(event, asked)
        self._server = Server.DONE
        yield DropStream(self.stream_id)

    def _on_server_failed(self, message: str) -> Commands:
        if self._server in (Server.HEAD, Server.BODY):
            yield from self._fail(f"it broke off: {answers.calm(message)}")

    def _on_played_failure(self, reason: str) -> Commands:
        """It failed when it was recorded: so it does here, in the same words."""
        if self._server in (Server.HEAD, Server.BODY):
            yield from self._fail(reason)

    def _fail(self, reason: str) -> Commands:
        """No answer, or no more of it: say why where the agent can still be told, and record what it got."""
        self.link.ledger.warn(f"no whole answer from {self.link.target}: {reason}")
        self._look_away()
        unsaid, self._unsaid = self._unsaid, None
        if self._server is Server.BODY and unsaid is None:
            self._server = Server.DONE
            self.transcript.end(reason)
            self.link.ledger.ended(self.link.target, reason)
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
        self.link.ledger.ended(self.link.target, reason)
        yield from self._drop_upstream()
        yield from self._answer(response, body_follows=body_follows)

    def _refuse(self, refusal: Refusal, *, body_follows: bool) -> Commands:
        link = self.link
        link.ledger.attempt(link.target, link.protocol, link.sni_text, refusal.denied)
        if not self.transcript.open:
            self._record_request(b"", streamed=False, sent=False)
        page = refusal.answer or pages.refusal(link.target, refusal.denied)
        kind = pages.JSON if refusal.answer else pages.CONTENT_TYPE
        response = answers.page(refusal.status, page, close=body_follows, kind=kind)
        shown = b"" if self._bodiless else page
        self.transcript.refused(refusal.status, tuple(response.headers.fields), shown, refusal.denied.reason)
        yield SettledHook(None if link.playback is None else link.playback.take())
        yield from self._answer(response, body_follows=body_follows)

    def _refuse_rest(self, denied: Deny) -> Commands:
        """Refuse at the end of a request: of a streamed one, what came before has left already."""
        if self._agent is Agent.WHOLE:
            self._record_request(self._held.out(), streamed=False, sent=False)
        self.transcript.trailers(self._request_trailers, from_agent=True)
        self._agent = Agent.DONE
        yield from self._refuse_sent(Refusal(403, denied), body_follows=False)

    def _refuse_body(self, reason: str) -> Commands:
        """A body that must not leave: of a streamed one, what came before it has left already."""
        refusal = Refusal(403, Deny(reason, ""))
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

    def _discard(self, size: int) -> Commands:
        """Read what is not sent on, so that the agent's program comes to reading the answer; not for long."""
        self._discarded += size
        if self._discarded > MAX_DISCARDED:
            yield from self._hang_up()

    def _wait_a_moment(self) -> Commands:
        """Be woken when what is held of a body, likely by chance, has waited long enough."""
        self._moment = commands.RequestWakeup(HOLD_S)
        yield self._moment

    def _on_wakeup(self) -> Commands:
        if self._agent is Agent.DISCARD:
            yield from self._hang_up()

    def _hang_up(self) -> Commands:
        """End a refused upload that goes on: one stream of HTTP/2, the connection of HTTP/1."""
        self._agent = Agent.GONE
        yield self._to_agent(ResponseProtocolError(self.stream_id, "refused", ErrorCode.CANCEL))
        yield DropStream(self.stream_id)

    def _finish(self) -> Commands:
        yield DropStream(self.stream_id)
        yield self._to_agent(ResponseEndOfMessage(self.stream_id))
