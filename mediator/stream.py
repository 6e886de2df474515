"""What both halves of an exchange share: how far each is, and the way to the agent and to the server.

Not done here: anything that decides. `mediator.asking` is the agent's half, `mediator.answering` the
server's, `mediator.ending` what goes wrong, and `mediator.exchange` tells each of them what happened.
"""

from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import cast

from mitmproxy import http
from mitmproxy.connection import Connection
from mitmproxy.proxy import layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http import SendHttp
from mitmproxy.proxy.layers.http._base import HttpEvent
from mitmproxy.proxy.layers.http._events import ErrorCode, RequestProtocolError, ResponseHeaders

from mediator import bodies
from mediator.held import Held
from mediator.judgement import Forward
from mediator.link import Link
from mediator.mcp.watch import Watch
from mediator.overriding import paths_of
from mediator.settled import SlicedHook
from mediator.transcript import Headers, Transcript, recorded_host

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


class Stream(layer.Layer):
    """One stream of the agent's connection, without what happens on it."""

    idle: Callable[[], Connection | None] | None = None
    """Returns a connection to the link's target over which a request may go now, if there is one."""
    listens_to: Callable[[Connection], bool] = staticmethod(lambda _: True)
    """Tells whether a server is being read, and nothing more has come of it."""
    said_all: Callable[["Stream"], None] | None = None
    """Told that the server has said all: ends the transcript once it has left. Else that is ended at once."""
    size = 0
    """Of the answer, as far as it was passed on."""

    def __init__(self, context: Context, stream_id: int, link: Link) -> None:
        super().__init__(context)
        self.stream_id = stream_id
        self.link = link
        self.transcript = Transcript(link.ledger, link.clock, link.later, link.process)
        self._agent = Agent.HEAD
        self._server = Server.NONE
        self._upstream: Connection | None = None
        self._asked: http.Request | None = None
        self._forward: Forward | None = None
        self._held = Held(link.room)
        self._request_trailers: Headers = ()
        self._request_body = bodies.RequestBody(bodies.Chain(), bodies.Chain())
        self._answer_body = bodies.Chain()
        self._unsaid: tuple[ResponseHeaders, Headers] | None = None
        """The head of an answer that waits for something of its body."""
        self._watch: Watch | None = None

    def let_go(self, reason: str) -> None:
        """The connection ended: record that, and hold nothing more."""
        self._held.out()
        if self.transcript.open and not self._had_come():
            self.transcript.end(reason)
        self._look_away()

    def _had_come(self) -> bool:
        """In a replay: record the rest of an answer where the agent is not known to have left amid it."""
        return False

    def _look_away(self) -> None:
        """Hold nothing of the answer that is only looked at."""
        if self._watch is not None:
            self._watch.end()

    @property
    def backlog(self) -> int:
        """Return how many events wait while this exchange waits for its connection."""
        return len(self._paused_event_queue)

    @property
    def upstream(self) -> Connection | None:
        """Return the server's connection that this exchange goes over, if there is one yet."""
        return self._upstream

    @property
    def _played(self) -> bool:
        """Tell whether the recording answers it."""
        playback = self.link.playback
        return playback is not None and playback.plays(self.transcript.exchange)

    @property
    def _targets(self) -> tuple[bytes, ...]:
        """Return every path that the request may stand for."""
        if self._asked is None:
            return ()
        return paths_of(self._asked.data.path, tuple(self._asked.headers.fields))

    @property
    def _bodiless(self) -> bool:
        """Tell whether the answer has no body, whatever its headers say."""
        return self._asked is not None and self._asked.data.method == b"HEAD"

    @property
    def _multiplexed(self) -> bool:
        return self._asked is not None and self._asked.is_http2

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

    def _drop_upstream(self) -> Commands:
        if self._upstream is not None:
            error = RequestProtocolError(self.stream_id, "ended by hark", ErrorCode.CANCEL)
            yield SendHttp(error, self._upstream)
            self._upstream = None

    def _sliced[T](self, work: Callable[[], T]) -> CommandGenerator[T]:
        """Do what would keep everybody waiting, and wait for it. Raises what it raises."""
        hook = SlicedHook(work)
        yield hook
        if hook.error is not None:
            raise hook.error
        return cast(T, hook.result)

    def _through(self, way: bodies.Chain, data: bytes, *, whole: bool = False) -> CommandGenerator[bytes]:
        """Return what may pass of a piece, or of a whole body. Raises StoppedError."""
        look = way.whole if whole else way.feed
        return (yield from self._sliced(partial(look, data))) if way.is_slow(data) else look(data)

    def _to_agent(self, event: HttpEvent) -> SendHttp:
        return SendHttp(event, self.context.client)
