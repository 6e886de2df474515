"""The HTTP layer of one agent connection: own streams, own way to a server, framed by `mediator.wire`.

Always: a server is dialled only when an exchange asks for it (nothing is dialled ahead of a verdict), and a
connection is used again only for the same host, port and scheme of the same agent connection.
"""

from typing import Final

from mitmproxy.connection import ConnectionState, Server
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import (
    GetHttpConnection,
    GetHttpConnectionCompleted,
    HttpLayer,
    HTTPMode,
    RegisterHttpConnection,
)

from hark.policy.decide import Deny
from mediator.exchange import Exchange
from mediator.link import Link
from mediator.wire import AgentHttp1, UpstreamHttp1
from mediator.wire_h2 import AgentHttp2, UpstreamHttp2

H2 = b"h2"
MAX_AHEAD: Final = 1 << 18  # of requests sent before the answer to an earlier one
MAX_BACKLOG: Final = 16  # pieces of 64 KiB that may wait for connections to be made


class UpstreamStart(layer.Layer):
    """Opens one connection to the real server and becomes the protocol that was agreed on."""

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        server = self.context.server
        error = yield commands.OpenConnection(server)
        if not error:
            spoken = UpstreamHttp2(self.context) if server.alpn == H2 else UpstreamHttp1(self.context)
            self._handle_event = spoken.handle_event  # type: ignore[method-assign]
            yield from spoken.handle_event(event)
        yield RegisterHttpConnection(server, error)


class AgentHttp(HttpLayer):
    """All exchanges of one agent connection."""

    def __init__(self, context: Context, link: Link) -> None:
        super().__init__(context, HTTPMode.transparent)
        self._link = link

    @property
    def exchanges(self) -> list[Exchange]:
        """Return the exchanges that are under way."""
        return [stream for stream in self.streams.values() if isinstance(stream, Exchange)]

    @property
    def full(self) -> bool:
        """Tell whether enough waits that nothing more is read of the agent."""
        spoken = self.connections.get(self.context.client)
        ahead = spoken.ahead if isinstance(spoken, AgentHttp1) else 0
        return ahead > MAX_AHEAD or sum(exchange.backlog for exchange in self.exchanges) > MAX_BACKLOG

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Start):
            spoken = AgentHttp2 if self.context.client.alpn == H2 else AgentHttp1
            self.connections[self.context.client] = spoken(self.context.fork(), self._malformed)
        yield from super()._handle_event(event)
        if isinstance(event, events.ConnectionClosed):
            self._forget(event.connection)

    def make_stream(self, stream_id: int) -> layer.CommandGenerator[None]:
        """Begin an exchange."""
        exchange = Exchange(self.context.fork(), stream_id, self._link)
        self.streams[stream_id] = exchange  # type: ignore[assignment]
        yield from self.event_to_child(exchange, events.Start())

    def get_connection(self, event: GetHttpConnection, *, reuse: bool = True) -> layer.CommandGenerator[None]:
        """Give an exchange a connection: one that is idle or multiplexed, or a new one."""
        for connection in list(self.connections) if reuse else ():
            if not isinstance(connection, Server) or not event.connection_spec_matches(connection):
                continue
            if connection in self.waiting_for_establishment:
                self.waiting_for_establishment[connection].append(event)
                return
            if connection.connected and (connection.alpn == H2 or self.context.client.alpn != H2):
                stream = self.command_sources.pop(event)
                yield from self.event_to_child(stream, GetHttpConnectionCompleted(event, (connection, None)))
                return
        yield from self._open(event)

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

    def _malformed(self, why: str) -> None:
        link = self._link
        denied = Deny(f"the request cannot be read: {why}", "")
        link.ledger.attempt(link.target, link.protocol, link.sni_text, denied)

    def _forget(self, connection: object) -> None:
        """Drop a server's connection that is closed for good, or a long-lived agent's would pile up."""
        if isinstance(connection, Server) and connection.state is ConnectionState.CLOSED:
            self.connections.pop(connection, None)
