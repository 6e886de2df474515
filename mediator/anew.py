"""The way of a request to a server; in a fork also of one that is asked anew, or otherwise than it was made.

Always: what is asked anew is judged anew, by the policy in force then, and gets the credentials of then.
What is sent in place of what the agent made is on the record before it leaves, with placeholders; the whole
body is at hand then, `MAX_KEPT` bytes at most, and more is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mitmproxy import http
from mitmproxy.proxy.layers.http import GetHttpConnection, SendHttp
from mitmproxy.proxy.layers.http._events import (
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestTrailers,
)

from hark.bundle.events import Rewritten
from hark.policy.decide import Deny
from hark.policy.model import Body
from mediator import bodies, outgoing
from mediator.bodies import StoppedError
from mediator.ending import Ending
from mediator.judgement import Refusal
from mediator.mcp.watch import Head, Watch
from mediator.outgoing import Framing
from mediator.stream import Agent, Commands, Server
from mediator.text import as_text
from mediator.transcript import recorded_host

if TYPE_CHECKING:
    from mediator.playback.altering import Altered

MAX_KEPT: Final = 32 << 20  # half of what an event of the format may have
TOO_LONG: Final = Refusal(
    413, Deny(f"a fork changes it or asks it anew, and its body has more than {MAX_KEPT} bytes", "")
)


class Anew(Ending):
    """How a request is sent."""

    _sent: bytes | None = None
    """A body that was held, as it is sent: it may have to be signed."""
    _size: int | None = None
    """What a body that is held has by its announcement; None where it has no length."""
    _judged_live = True
    """Whether it was judged by what is in force for real servers."""
    _may_ask_anew = False
    """Whether its body is kept, because it may be asked anew or altered."""
    _kept = bytearray()
    _is_held_for_anew = False
    """Whether it is asked anew as soon as it has ended."""
    _outgoing: http.Request | None = None
    """What is asked in place of `_asked`."""

    def _is_alterable(self, request: http.Request) -> bool:
        playback = self.link.playback
        if playback is None or playback.altering is None:
            return False
        host = recorded_host(self.link.target, tls=self.link.tls)
        method, path = as_text(request.data.method), as_text(request.data.path)
        self._kept = bytearray()
        return playback.altering.may_alter(method, host, path, live=playback.live)

    @property
    def _is_altered(self) -> bool:
        """Tell whether it waits for its end, to be asked in the altered form."""
        return self._may_ask_anew and self._judged_live and not self._played

    def _kept_too(self, piece: bytes) -> bool:
        """Keep a piece of a body that may be asked anew; False where that is too much."""
        if self._may_ask_anew:
            self._kept += piece
        return len(self._kept) <= MAX_KEPT

    def _on_asked_anew(self) -> Commands:
        """The run went live at this request: what it was judged by may be another now."""
        self._judged_live = True
        if self._played:  # a replay of that: what is played next is what was made of it then
            refused = self._judged_again(self._asked, bytes(self._kept))
            if refused is not None:
                yield from self._refuse_sent(refused, body_follows=self._agent is Agent.STREAM)
            return
        self._upstream = None
        self._server = Server.NONE
        if self._agent is Agent.STREAM:
            self._is_held_for_anew = True
            return
        yield from self._ask(bytes(self._kept))

    def _ask(self, body: bytes) -> Commands:
        """Ask a real server what is on record by now, or what the fork makes of it."""
        request, altered = self._altered(body)
        if isinstance(altered, str):
            yield from self._fail(altered)
            return
        if altered is not None:
            body, self._outgoing = altered.sent.body, request
        refused = self._judged_again(request, body)
        if refused is not None:
            yield from self._refuse_sent(refused, body_follows=False)
            return
        way = self._request_body
        try:
            passed = yield from self._through(way.sent, way.checked.whole(body), whole=True)
        except StoppedError as stopped:
            yield from self._refuse_body(stopped.reason)
            return
        if altered is not None:
            kept = self._forward is None or self._forward.body is Body.WHOLE
            shown = altered.sent.body if kept else b""
            self.link.ledger.append(
                Rewritten(self.transcript.exchange, altered.sent.headers, shown, altered.why)
            )
        for injection in self._forward.injections if self._forward is not None else ():
            self.link.ledger.injected(self.link.target, injection)
        self._tell_injected()
        self._sent = passed
        size = len(passed) if altered is not None or self._size is not None else None
        yield from self._connect(end_stream=not passed and not self._request_trailers, size=size)
        if self._upstream is None:
            return
        if passed:
            yield SendHttp(RequestData(self.stream_id, passed), self._upstream)
        yield from self._send_end()

    def _altered(self, body: bytes) -> tuple[http.Request, Altered | str | None]:
        """Return the request as it is asked, and how it was altered for that."""
        asked, playback = self._asked, self.link.playback
        if asked is None or playback is None or playback.altering is None:
            raise RuntimeError("nothing to be asked anew")
        from hark.patch.apply import Sent
        from mediator.playback.altering import Altered

        host = recorded_host(self.link.target, tls=self.link.tls)
        data = asked.data
        sent = Sent(as_text(data.method), host, as_text(data.path), tuple(asked.headers.fields), body)
        altered = playback.altering.altered(self.transcript.exchange, sent)
        return (outgoing.made(asked, altered.sent) if isinstance(altered, Altered) else asked), altered

    def _judged_again(self, request: http.Request | None, body: bytes | None = None) -> Refusal | None:
        """Judge a request by what is in force now, and take the credentials that are."""
        if request is None:
            raise RuntimeError("no request to be judged again")
        judged = outgoing.judged(request, self.link)
        self._judged_live = self.link.live
        if isinstance(judged, Refusal):
            return judged
        self._forward = judged
        headers = tuple(request.headers.fields)
        self._request_body = bodies.of_request(self.link, headers)
        head = Head(request.data.method, request.data.path, headers, judged.tools, judged.body, judged.again)
        watch = Watch(self.link, head)
        refused = watch.opened()
        if refused is None and body is not None:
            return watch.request(body)  # its calls are on record; who looks at the answer knows them
        if self._watch is not None and body is None:
            self._watch.end()
            self._watch = watch
        return refused

    def _tell_injected(self) -> None:
        """Record which credentials went into the body."""
        for injection in self._request_body.injected():
            self.link.ledger.injected(self.link.target, injection)

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

    def _connect(self, *, end_stream: bool, size: int | None = None) -> Commands:
        """Get a connection and send the head; on failure the agent is answered and `_upstream` stays None.

        `size` is that of the whole body as it is sent, None where it is sent in pieces.
        """
        target = self.link.target
        connection = None if self.idle is None or self._played else self.idle()
        if connection is None:
            connection, error = yield GetHttpConnection((target.host, target.port), self.link.tls, None)
            if error is not None:
                yield from self._fail(error)
                return
        self._upstream = connection
        self._server = Server.HEAD
        yield SendHttp(RequestHeaders(self.stream_id, self._outgoing_head(size), end_stream), connection)

    def _outgoing_head(self, size: int | None) -> http.Request:
        request, forward, upstream = self._outgoing or self._asked, self._forward, self._upstream
        if request is None or forward is None or upstream is None:
            raise RuntimeError("a connection without a request")
        resized = self._outgoing is not None or self._request_body.sent.resizes
        framing = Framing(size=size, resized=resized, h2=upstream.alpn == b"h2")
        return outgoing.head(request, forward, self.link, framing, self._sent)
