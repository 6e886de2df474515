"""An exchange that became a WebSocket: both sides talk, each message is recorded and then passed on.

Always: a message is on the record before any byte of it passes. A message that must not pass ends both sides
at once, the agent in words (close code 1008), and so does what is no WebSocket frame. A connection that ends
without the closing handshake of both sides is recorded as cut.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from mitmproxy import http
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http import DropStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)

from hark.policy.decide import Deny
from mediator import answers, bodies, handshake
from mediator.bodies import StoppedError
from mediator.ending import Ending
from mediator.playback.words import WENT_LIVE
from mediator.settled import SettledHook
from mediator.sliced import SLICE
from mediator.stream import Agent, Commands, Server
from mediator.transcript import Headers

if TYPE_CHECKING:
    from mediator.websocket import Direction, Piece

SWITCHED: Final = 101
_POLICY_VIOLATION: Final = 1008  # RFC 6455, 7.4.1
_GOING_AWAY: Final = 1001


class Talking(Ending):
    """Messages of both sides, once the server has agreed."""

    _agents: "Direction | None" = None
    _servers: "Direction | None" = None
    _head_over = False

    @property
    def _talks(self) -> bool:
        """Tell whether this is a WebSocket now."""
        return self._agents is not None

    def let_go(self, reason: str) -> None:
        """As of a stream; and no message is held any more."""
        for direction in (self._agents, self._servers):
            if direction is not None:
                direction.let_go()
        super().let_go(reason)

    def _agreed(self, response: http.Response, headers: Headers) -> str:
        """Begin to talk, or say what is wrong with the server's agreement."""
        from mediator.websocket import Direction

        forward, asked = self._forward, self._asked
        if forward is None or asked is None or not forward.websocket:
            return "it switched protocols unasked"
        wrong = handshake.answer_wrong(forward.headers, headers) or answers.unreadable(response)
        if wrong:
            return wrong
        link = self.link
        self._agents = Direction(from_agent=True, way=lambda: bodies.of_agents_message(link), room=link.room)
        across = bodies.Across(link)
        self._servers = Direction(
            from_agent=False, way=lambda: bodies.of_servers_message(link, across), room=link.room
        )
        return ""

    def _begin_talk(self, response: http.Response, headers: Headers) -> Commands:
        """Tell the agent that the server agreed."""
        answers.standardise(response)
        self._server = Server.BODY
        self.transcript.response(response.status_code, headers)
        yield self._to_agent(ResponseHeaders(self.stream_id, response, end_stream=True))
        yield self._to_agent(ResponseEndOfMessage(self.stream_id))

    def _on_talk(self, data: bytes, *, from_agent: bool) -> Commands:
        """One side said something."""
        direction = self._agents if from_agent else self._servers
        if self._server is not Server.BODY or direction is None:
            return
        from mediator.websocket import FramingError

        try:
            pieces = direction.feed(data)
            while (piece := (yield from self._next(pieces, direction.holds + len(data)))) is not None:
                self.transcript.message(piece.type, piece.data, more=piece.more, from_agent=from_agent)
                for injection in piece.injected:
                    self.link.ledger.injected(self.link.target, injection)
                if piece.wire:
                    yield self._say(piece.wire, to_agent=not from_agent)
            if from_agent and self._is_left:
                yield from self._part_ways(WENT_LIVE, _GOING_AWAY, from_agent=False)
        except FramingError as error:
            who = "the agent" if from_agent else "the server"
            yield from self._part_ways(f"{who} {error}", error.code, from_agent=from_agent)
        except StoppedError as stopped:
            if from_agent:
                denied = Deny(stopped.reason, "")
                self.link.ledger.attempt(self.link.target, "websocket", self.link.sni_text, denied)
                yield SettledHook()
            yield from self._part_ways(stopped.reason, _POLICY_VIOLATION, from_agent=from_agent)

    def _next(self, pieces: "Iterator[Piece]", size: int) -> "CommandGenerator[Piece | None]":
        """Return the next of the pieces that so many bytes make; a large message is searched in slices."""
        work: Callable[[], Piece | None] = partial(next, pieces, None)
        return (yield from self._sliced(work)) if size > SLICE else work()

    @property
    def _is_left(self) -> bool:
        """Tell whether the run went live, and nobody is there to hear what the agent says in this."""
        return self._played and self.link.live

    def _on_head_over(self) -> Commands:
        """The server's 101 is complete; the second time this is heard, the server has hung up."""
        if not self._head_over:
            self._head_over = True
            return
        yield from self._on_hush(from_agent=False)

    def _on_hush(self, *, from_agent: bool) -> Commands:
        """One side closed its connection."""
        if self._server is not Server.BODY or self._agents is None or self._servers is None:
            return
        who = "the agent" if from_agent else "the server"
        polite = self._agents.closed and self._servers.closed
        yield from self._hang_up_both("" if polite else f"{who} went away without the closing handshake")

    def _on_played_end(self, reason: str) -> Commands:
        """In a replay: it ended for this reason when it was recorded, and nobody here has ended it."""
        if self._server is not Server.BODY or self._agents is None:
            return
        if reason.startswith("the server went away"):
            yield from self._on_hush(from_agent=False)
            return
        from mediator.websocket import NO_FRAME

        code = _GOING_AWAY if NO_FRAME in reason else _POLICY_VIOLATION
        yield from self._part_ways(reason, code, from_agent=False)

    def _part_ways(self, reason: str, code: int, *, from_agent: bool) -> Commands:
        """Say goodbye to both and end: the side that is at fault hears the code."""
        from mediator.websocket import goodbye

        self.link.ledger.warn(f"the WebSocket to {self.link.target} was ended: {reason}")
        to_agent = code if from_agent or code == _POLICY_VIOLATION else _GOING_AWAY
        to_server = _GOING_AWAY if from_agent or code == _POLICY_VIOLATION else code
        yield self._say(goodbye(to_agent, f"hark: {reason}", to_agent=True), to_agent=True)
        yield self._say(goodbye(to_server, "", to_agent=False), to_agent=False)
        yield from self._hang_up_both(reason)

    def _hang_up_both(self, error: str) -> Commands:
        self._server = Server.DONE
        self._agent = Agent.GONE
        self.let_go(error)
        self.link.ledger.ended(self.link.target, error)
        if self._upstream is not None:
            ended = RequestProtocolError(self.stream_id, "ended", ErrorCode.PASSTHROUGH_CLOSE)
            yield SendHttp(ended, self._upstream)
            self._upstream = None
        yield self._to_agent(ResponseProtocolError(self.stream_id, "ended", ErrorCode.PASSTHROUGH_CLOSE))
        yield DropStream(self.stream_id)

    def _say(self, wire: bytes, *, to_agent: bool) -> SendHttp:
        if to_agent:
            return self._to_agent(ResponseData(self.stream_id, wire))
        if self._upstream is None:
            raise RuntimeError("a WebSocket without a server")
        return SendHttp(RequestData(self.stream_id, wire), self._upstream)
