"""The agent's half of an exchange: its request judged, recorded and sent.

Always: nothing goes to the server before the request is on the record, no piece of its body before that piece
is. A body that is held is `MAX_WHOLE_BODY` at most; a longer one passes in pieces.
"""

from typing import Final

from mitmproxy import http
from mitmproxy.net.http.http1 import expected_http_body_size
from mitmproxy.proxy.layers.http import DropStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    RequestData,
    RequestHeaders,
)

from hark.policy.decide import Deny
from mediator import bodies, outgoing
from mediator.anew import TOO_LONG, Anew
from mediator.bodies import StoppedError
from mediator.fields import length
from mediator.judgement import Refusal, judge_trailers
from mediator.mcp.watch import Head, Watch
from mediator.stream import Agent, Commands
from mediator.transcript import MAX_WHOLE_BODY
from mediator.wire import InterimHeaders

_UNFRAMED: Final = Refusal(
    413, Deny("hark changes its body on the way, and HTTP/1.0 has no chunks to send one this long in", "")
)
_SHORT: Final = "its body is shorter than its head says"  # RFC 9113, 8.1.1: malformed
_UNSIGNED: Final = Refusal(
    413, Deny("it is signed over a body that is too long to be held and signed again", "")
)


class Asking(Anew):
    """What the agent sends."""

    _owed: int | None = None
    """How much of the announced body is still to come; None where nothing was announced. HTTP/2 may end a
    request anywhere, and what is sent on may be HTTP/1, where the server would wait for the rest."""

    def _on_head(self, event: RequestHeaders) -> Commands:
        self._asked = event.request
        self._owed = length(event.request.headers.fields)
        judged = outgoing.judged(event.request, self.link)
        self._judged_live = self.link.live
        if event.end_stream and self._owed and not isinstance(judged, Refusal):
            judged = Refusal(400, Deny(_SHORT, ""))
        if isinstance(judged, Refusal):
            yield from self._refuse(judged, body_follows=not event.end_stream)
            return
        self._forward = judged
        self.transcript.keep(judged.body)
        data, headers = event.request.data, tuple(event.request.headers.fields)
        self._request_body = bodies.of_request(self.link, headers)
        self._may_ask_anew = self._is_alterable(event.request)
        self._watch = Watch(
            self.link, Head(data.method, data.path, headers, judged.tools, judged.body, judged.again)
        )
        refused = self._watch.opened()
        if refused is not None:
            yield from self._refuse(refused, body_follows=not event.end_stream)
            return
        if judged.wants_continue and not event.end_stream:
            interim = http.Response(b"HTTP/1.1", 100, b"Continue", (), None, None, 0, None)
            yield self._to_agent(InterimHeaders(self.stream_id, interim))
        if self._holds(self._announced(event), judged=self._watch.strict):
            self._agent = Agent.WHOLE
        elif self._watch.strict:
            yield from self._refuse(self._watch.too_large(), body_follows=True)
        elif judged.signing is not None and judged.signing.claim.needs_body and not self._is_altered:
            yield from self._refuse(_UNSIGNED, body_follows=True)
        elif (
            self._request_body.sent.resizes
            and event.request.http_version == "HTTP/1.0"
            and not self._is_altered
        ):
            yield from self._refuse(_UNFRAMED, body_follows=True)
        else:
            self._agent = Agent.STREAM
            self._record_request(b"", streamed=True)
            self._watch.streams()
            if not self._is_altered:
                yield from self._connect(end_stream=False)

    def _announced(self, event: RequestHeaders) -> int | None:
        """Return how long the body is by what the head says, None where it does not."""
        if event.end_stream:
            return 0
        if self._owed:
            return self._owed  # the head was judged: nothing in it says otherwise
        size = expected_http_body_size(event.request)
        # HTTP/2 may announce no length and send a body all the same; in HTTP/1 that is no body.
        return None if size is None or size < 0 or (not size and event.request.is_http2) else size

    def _holds(self, size: int | None, *, judged: bool) -> bool:
        """Take room for a body that is held: a small one, and one of any length that must be judged."""
        self._size = size
        if size is None:
            return judged and self._held.expect(MAX_WHOLE_BODY)
        return size <= MAX_WHOLE_BODY and self._held.expect(size)

    def _on_data(self, data: bytes) -> Commands:
        if self._owed is not None:
            self._owed -= len(data)
        if self._agent is Agent.WHOLE:
            yield from self._hold(data)
        elif self._agent is Agent.STREAM:
            yield from self._send_piece(data)
        elif self._agent is Agent.DISCARD:
            yield from self._discard(len(data))

    def _hold(self, data: bytes) -> Commands:
        """Hold a piece; of a body without a length, which is only held to be judged, not without end."""
        if self._size is not None or self._held.fits(len(data)) or self._watch is None:
            self._held.add(data)
            return
        self._record_request(self._held.out(), streamed=False, sent=False)
        yield from self._refuse(self._watch.too_large(), body_follows=True)

    def _send_piece(self, data: bytes) -> Commands:
        try:
            checked = self._request_body.checked.feed(data)
            if not checked or (self._upstream is None and not self._is_altered):
                return
            self.transcript.request_chunk(checked, last=False)
            if self._watch is not None:
                self._watch.piece(checked)
            if not self._kept_too(checked):
                yield from self._refuse_sent(TOO_LONG, body_follows=True)
                return
            if self._upstream is None:
                return
            passed = yield from self._through(self._request_body.sent, checked)
        except StoppedError as stopped:
            yield from self._refuse_body(stopped.reason)
            return
        self._tell_injected()
        if passed:
            yield SendHttp(RequestData(self.stream_id, passed), self._upstream)
        if self._request_body.sent.waiting:
            yield from self._wait_a_moment()

    def _release_request(self) -> Commands:
        """Send what waited: nothing came that would make a placeholder of it."""
        if self._agent is Agent.STREAM and self._upstream is not None and self._request_body.sent.waiting:
            passed = self._request_body.sent.release()
            yield SendHttp(RequestData(self.stream_id, passed), self._upstream)

    def _on_end(self) -> Commands:
        if self._agent is Agent.DISCARD:
            self._agent = Agent.DONE
            yield DropStream(self.stream_id)
            return
        if self._agent not in (Agent.WHOLE, Agent.STREAM):
            return
        denied = Deny(_SHORT, "") if self._owed else judge_trailers(self._request_trailers, self.link)
        if denied is not None:
            yield from self._refuse_rest(denied)
        elif self._agent is Agent.WHOLE:
            yield from self._send_whole()
        else:
            yield from self._send_rest()

    def _send_whole(self) -> Commands:
        body = self._held.out()
        stale = None
        if self._judged_live is not self.link.live:  # the run went live while it was held
            stale = self._judged_again(self._asked)
            self._may_ask_anew = self._asked is not None and self._is_alterable(self._asked)
        if stale is not None:
            yield from self._refuse(stale, body_follows=False)
            return
        way = self._request_body
        try:
            body = way.checked.whole(body)
            passed = yield from self._through(way.sent, body, whole=True)
        except StoppedError as stopped:
            self._record_request(body, streamed=False, sent=False)
            yield from self._refuse_body(stopped.reason)
            return
        self._agent = Agent.DONE
        refused = None if self._watch is None else self._watch.request(body)
        self._record_request(body, streamed=False, sent=refused is None)
        if self._watch is not None:
            self._watch.recorded(self.transcript.exchange, refused)
        if refused is not None:
            yield from self._refuse_sent(refused, body_follows=False)
            return
        if self._is_altered:
            yield from self._ask(body)
            return
        if self._may_ask_anew:
            self._kept = bytearray(body)
        self._tell_injected()
        size = None if self._size is None else len(passed)
        self._sent = passed
        yield from self._connect(end_stream=not passed and not self._request_trailers, size=size)
        if self._upstream is None:
            return
        if passed:
            yield SendHttp(RequestData(self.stream_id, passed), self._upstream)
        yield from self._send_end()

    def _send_rest(self) -> Commands:
        """Send what was held back of a body that passed in pieces, and its end."""
        way = self._request_body
        try:
            checked = way.checked.finish()
            self.transcript.request_chunk(checked, last=True)
            if self._watch is not None:
                self._watch.piece(checked)
                self._watch.streamed(self.transcript.exchange)
            fits = self._kept_too(checked)
            rest = b""
            if not self._is_altered and not self._is_held_for_anew:
                rest = (way.sent.feed(checked) if checked else b"") + way.sent.finish()
        except StoppedError as stopped:
            self._agent = Agent.DONE
            yield from self._refuse_body(stopped.reason)
            return
        self._agent = Agent.DONE
        if not fits:
            yield from self._refuse_sent(TOO_LONG, body_follows=False)
            return
        if self._is_altered or self._is_held_for_anew:
            yield from self._ask(bytes(self._kept))
            return
        self._tell_injected()
        if rest and self._upstream is not None:
            yield SendHttp(RequestData(self.stream_id, rest), self._upstream)
        yield from self._send_end()
