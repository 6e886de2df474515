"""The HTTP layer of one agent connection: own streams, own way to a server, framed by `mediator.wire`.

Always: a server is dialled only when an exchange asks for it (nothing is dialled ahead of a verdict), and a
connection is used again only for the same host, port and scheme of the same agent connection.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from mitmproxy.connection import Connection, ConnectionState, Server
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import (
    DropStream,
    GetHttpConnection,
    GetHttpConnectionCompleted,
    HttpLayer,
    HTTPMode,
    RegisterHttpConnection,
    SendHttp,
)
from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
from mitmproxy.proxy.layers.http._events import RequestHeaders, RequestProtocolError

from hark.bundle.events import AGENT_LEFT
from hark.policy.decide import Deny
from mediator import h2
from mediator.exchange import Exchange
from mediator.link import Link
from mediator.playback.answer import PlayedServer
from mediator.playback.playback import Playback
from mediator.stream import Stream
from mediator.together import together
from mediator.transport import BACKED_UP
from mediator.wire import AgentHttp1, UpstreamHttp1

if TYPE_CHECKING:
    from mediator.wire_h2 import UpstreamHttp2

MAX_AHEAD: Final = 1 << 18  # of requests sent before the answer to an earlier one
MAX_BACKLOG: Final = 4  # pieces of 256 KiB that may wait for connections to be made
MAX_PLAYED: Final = 1 << 20  # that waits for windows: more than what waited when it was recorded
MAX_FRAMES: Final = 1024  # of HTTP/2, where windows bound the bytes: frames may be empty


_DIRECT: Final = (Exchange, AgentHttp1)
"""Layers whose events `AgentHttp` hands out as `Layer.handle_event` would: paused by a command that waits."""


class Drained(events.ConnectionEvent):
    """What waited to be written to a connection has been written."""


class UpstreamStart(layer.Layer):
    """Opens one connection to the real server and becomes the protocol that was agreed on."""

    spoken: "UpstreamHttp1 | UpstreamHttp2 | None" = None

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        server = self.context.server
        error = yield commands.OpenConnection(server)
        if not error:
            self.spoken = spoken = (
                h2.server_side()(self.context) if server.alpn == h2.ALPN else UpstreamHttp1(self.context)
            )
            self._handle_event = spoken.handle_event  # type: ignore[method-assign]  # of what waits by now
            self.handle_event = spoken.handle_event  # type: ignore[method-assign]
            yield from spoken.handle_event(event)
        yield RegisterHttpConnection(server, error)


class AgentHttp(HttpLayer):
    """All exchanges of one agent connection. `unsent` tells how many bytes wait to be written to a socket,
    `fits` whether the kernel surely takes so many for the agent's, `listens_to` whether a server is being
    read and nothing more has come of it.
    """

    def __init__(
        self,
        context: Context,
        link: Link,
        unsent: Callable[[Connection], int],
        fits: Callable[[int], bool] = lambda _: False,
        listens_to: Callable[[Connection], bool] = lambda _: True,
    ) -> None:
        super().__init__(context, HTTPMode.transparent)
        self._link = link
        self._unsent = unsent
        self._fits = fits
        self._listens_to = listens_to
        self.answered: list[Stream] = []
        """Those of which the server has said all, which may not have left for the agent yet."""

    @property
    def exchanges(self) -> list[Exchange]:
        """Return the exchanges that are under way."""
        return [stream for stream in self.streams.values() if isinstance(stream, Exchange)]

    def settle(self) -> None:
        """Record the end of what was answered, now that nothing waits for the agent's socket.

        What still waits for the agent's windows has not ended.
        """
        answered, self.answered = self.answered, []
        for exchange in answered:
            if self._windowed(exchange):
                self.answered.append(exchange)
            elif exchange.transcript.open:
                exchange.transcript.end()

    def left(self, reason: str, stream_id: int | None = None) -> None:
        """Record that nobody takes the rest of what was answered: on one stream, or on all."""
        answered, self.answered = self.answered, []
        for exchange in answered:
            if stream_id not in (None, exchange.stream_id):
                self.answered.append(exchange)
            else:
                exchange.let_go(reason)

    @property
    def full(self) -> bool:
        """Tell whether enough waits that nothing more is read of the agent."""
        spoken = self.connections.get(self.context.client)
        waiting = sum(exchange.backlog for exchange in self.exchanges)
        if isinstance(spoken, AgentHttp1):
            return spoken.ahead > MAX_AHEAD or waiting > MAX_BACKLOG
        return waiting > MAX_FRAMES

    def holds_up(self, server: Connection) -> bool:
        """Tell whether an answer is searched, or taken by the agent, too slowly for more of it to be read.

        Only for a server that speaks HTTP/1; in HTTP/2 it is told by its windows.
        """
        agent = self.connections.get(self.context.client)
        if server.alpn == h2.ALPN:
            return False
        flow = agent.flow if h2.is_agent_side(agent) else None
        return any(
            exchange.backlog or (flow is not None and flow.waiting(exchange.stream_id) > BACKED_UP)
            for exchange in self.exchanges
            if exchange.upstream is server
        )

    def handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Handle an event. What has to be waited for, the layers above wait for, each by itself."""
        return together(self._handled(event))

    def _handled(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Start):
            yield from self.event_to_child(self._agent(), event)
        elif isinstance(event, events.DataReceived) and event.connection in self.connections:
            yield from self.event_to_child(self.connections[event.connection], event)
        elif not isinstance(event, Drained):
            yield from super()._handle_event(event)
        if isinstance(event, events.ConnectionClosed):
            self._forget(event.connection)
        yield from self._release()

    def _agent(self) -> layer.Layer:
        """Make what speaks with the agent."""
        spoken = h2.agent_side() if self.context.client.alpn == h2.ALPN else AgentHttp1
        made = spoken(self.context.fork(), self._malformed)
        self.connections[self.context.client] = made
        if h2.is_agent_side(made):
            made.flow.stuck = self._stuck_at_server
        return made

    def event_to_child(self, child: layer.Layer, event: events.Event) -> layer.CommandGenerator[None]:
        """Pass an event on and carry out what comes of it, as mitmproxy does but told apart by type."""
        direct = type(child) in _DIRECT and child._paused is None  # noqa: SLF001
        steps = child._handle_event(event) if direct else child.handle_event(event)  # noqa: SLF001
        for command in steps:
            kind = type(command)
            if kind is commands.SendData:
                yield command
            elif kind is SendHttp:
                sent: SendHttp = command  # type: ignore[assignment]  # no call of `cast`: thirty a request
                spoken = self.connections.get(sent.connection)
                if spoken is not None:
                    yield from self.event_to_child(spoken, sent.event)
                elif sent.connection.state is not ConnectionState.CLOSED:  # else it closed while one waited
                    raise RuntimeError("a message for a connection that nobody speaks on")
            elif kind is ReceiveHttp:
                yield from self._received(command.event)  # type: ignore[attr-defined]
            elif direct and command.blocking is True:
                command.blocking = child
                child._paused = layer.Paused(command, steps)  # noqa: SLF001
                yield from self._carry_out(command, child)
                return
            else:
                yield from self._carry_out(command, child)

    def _carry_out(self, command: commands.Command, child: layer.Layer) -> layer.CommandGenerator[None]:
        """Carry out what is rarer. The answer to a command that waits for one goes to the child."""
        if command.blocking or isinstance(command, commands.RequestWakeup):
            self.command_sources[command] = child
        match command:
            case DropStream():
                self.streams.pop(command.stream_id, None)
            case GetHttpConnection():
                yield from self.get_connection(command)
            case RegisterHttpConnection():
                yield from self.register_connection(command)
            case commands.OpenConnection():
                self.connections[command.connection] = child
                yield command
            case _:
                yield command

    def _received(self, event: HttpEvent) -> layer.CommandGenerator[None]:
        if isinstance(event, RequestHeaders):
            yield from self.make_stream(event.stream_id)
        stream = self.streams.get(event.stream_id)
        if self.answered and isinstance(event, RequestProtocolError):
            self.left(AGENT_LEFT, event.stream_id)
        if stream is not None:  # else it is over already, and what comes is too late
            yield from self.event_to_child(stream, event)

    def make_stream(self, stream_id: int) -> layer.CommandGenerator[None]:
        """Begin an exchange."""
        exchange = Exchange(_forked(self.context), stream_id, self._link)
        exchange.context.layers.clear()  # else it stands in there itself: a circle
        exchange.idle = self._idle
        exchange.listens_to = self._listens_to
        exchange.said_all = self._said_all
        self.streams[stream_id] = exchange  # type: ignore[assignment]
        yield from self.event_to_child(exchange, events.Start())

    def _said_all(self, exchange: Stream) -> None:
        """End an answer that the kernel takes whole; of another the end is kept until it was written."""
        if self._fits(exchange.size) and not self._windowed(exchange):
            exchange.transcript.end()
        else:
            self.answered.append(exchange)

    def _windowed(self, exchange: Stream) -> bool:
        """Tell whether some of an answer waits for the agent's windows."""
        agent = self.connections.get(self.context.client)
        return h2.is_agent_side(agent) and bool(agent.flow.waiting(exchange.stream_id))

    def get_connection(self, event: GetHttpConnection, *, reuse: bool = True) -> layer.CommandGenerator[None]:
        """Give an exchange a connection: one that is idle or multiplexed, or a new one; or the recording."""
        playback = self._link.playback
        stream = cast(Exchange, self.command_sources[event])
        if playback is not None and playback.plays(stream.transcript.exchange):
            yield from self._play(event, playback)
            return
        for connection in list(self.connections) if reuse else ():
            if type(connection) is not Server or not event.connection_spec_matches(connection):
                continue
            if isinstance(self.connections[connection], PlayedServer):
                continue
            if connection in self.waiting_for_establishment:
                self.waiting_for_establishment[connection].append(event)
                return
            if self._leaves(connection):
                continue
            if connection.connected and self._fits_protocol(connection):
                self.command_sources.pop(event)
                yield from self.event_to_child(stream, GetHttpConnectionCompleted(event, (connection, None)))
                return
        yield from self._open(event)

    def _fits_protocol(self, server: Connection) -> bool:
        """Tell whether what an agent says in HTTP/2 can be said there."""
        return server.alpn == h2.ALPN or self.context.client.alpn != h2.ALPN

    def _idle(self) -> Connection | None:
        """Return the connection that an exchange gets at once, if there is one: what most get."""
        for connection, spoken in self.connections.items():
            if type(connection) is Server and not isinstance(spoken, PlayedServer):
                waits = connection in self.waiting_for_establishment or self._leaves(connection)
                fits = connection.connected and self._fits_protocol(connection)
                return connection if fits and not waits else None
        return None

    def _play(self, event: GetHttpConnection, playback: Playback) -> layer.CommandGenerator[None]:
        """Let the recording answer. Its server has an address and is never opened."""
        for connection, spoken in list(self.connections.items()):
            if isinstance(spoken, PlayedServer) and spoken.over:
                self.connections.pop(connection)
        stream = cast(Exchange, self.command_sources.pop(event))
        context = self.context.fork()
        context.server = Server(address=event.address, transport_protocol="tcp")
        context.server.alpn = self.context.client.alpn
        played = PlayedServer(context, stream.transcript.exchange, playback)
        self.connections[context.server] = played
        yield from self.event_to_child(played, events.Start())
        yield from self.event_to_child(stream, GetHttpConnectionCompleted(event, (context.server, None)))

    def backed_up(self, stream_id: int) -> bool:
        """Tell whether so much of an answer waits for the agent's windows that no more is played."""
        agent = self.connections.get(self.context.client)
        return h2.is_agent_side(agent) and agent.flow.waiting(stream_id) > MAX_PLAYED

    def register_connection(self, command: RegisterHttpConnection) -> layer.CommandGenerator[None]:
        """Tell the exchanges that waited; a connection that failed is not tried again for later ones."""
        if command.err:
            self.connections.pop(command.connection, None)
        yield from super().register_connection(command)

    def _open(self, event: GetHttpConnection) -> layer.CommandGenerator[None]:
        context = self.context.fork()
        context.server = Server(address=event.address, transport_protocol="tcp")
        context.server.tls = event.tls
        context.server.sni = event.address[0] if event.tls else None
        start = UpstreamStart(context)
        self.connections[context.server] = start
        self.waiting_for_establishment[context.server].append(event)
        yield from self.event_to_child(start, events.Start())

    def _release(self) -> layer.CommandGenerator[None]:
        """Let go on what was held up."""
        for connection, spoken in list(self.connections.items()):
            inner = spoken.spoken if isinstance(spoken, UpstreamStart) else spoken
            if h2.is_server_side(inner):
                inner.flow.stuck = partial(self._stuck_at_agent, inner)
            elif not h2.is_agent_side(inner):
                continue
            if inner.flow.release():
                yield commands.SendData(connection, inner.flow.data_to_send())

    def _leaves(self, connection: Connection) -> bool:
        start = self.connections.get(connection)
        spoken = start.spoken if isinstance(start, UpstreamStart) else None
        return h2.is_server_side(spoken) and spoken.leaving

    def _stuck_at_server(self, stream_id: int) -> bool:
        exchange = cast(Exchange | None, self.streams.get(stream_id))
        if exchange is None:
            return False
        server = exchange.upstream
        if exchange.backlog or server is None:
            return bool(exchange.backlog)
        start = self.connections.get(server)
        spoken = start.spoken if isinstance(start, UpstreamStart) else None
        waits = spoken.waiting(stream_id) if h2.is_server_side(spoken) else 0
        return max(waits, self._unsent(server)) > BACKED_UP  # who has wide windows need not read either

    def _stuck_at_agent(self, spoken: "UpstreamHttp2", ours: int) -> bool:
        agent, stream_id = self.connections.get(self.context.client), spoken.their_stream_id.get(ours, 0)
        exchange = cast(Exchange | None, self.streams.get(stream_id))
        if exchange is not None and exchange.backlog:
            return True  # what came before is searched still
        return h2.is_agent_side(agent) and agent.flow.waiting(stream_id) > BACKED_UP

    def _malformed(self, why: str) -> None:
        link = self._link
        denied = Deny(f"the request cannot be read: {why}", "")
        link.ledger.attempt(link.target, link.protocol, link.sni_text, denied)

    def _forget(self, connection: object) -> None:
        """Drop a server's connection that is closed for good, or a long-lived agent's would pile up."""
        if isinstance(connection, Server) and connection.state is ConnectionState.CLOSED:
            self.connections.pop(connection, None)


def _forked(context: Context) -> Context:
    """Return what `Context.fork` does, without the connection that it makes and drops: that costs most.

    It names no layers: an exchange stands above all of them, and asks for none.
    """
    fork = Context.__new__(Context)
    fork.client, fork.server, fork.options = context.client, context.server, context.options
    fork.layers = []
    return fork
