"""One allowed connection of the agent's, driven through mitmproxy's layers. Whatever goes wrong, it ends.

Always: an exception in a hook, a layer or a dial marks the run (`Ledger.fail`) and resets every transport of
the connection at once; after that no event reaches a layer any more. mitmproxy by itself would log the
exception, and leave the client waiting or let the flow pass. Its log lines go nowhere: they quote bytes of
the agent's and of servers'.
"""

import asyncio
import functools
import logging
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from mitmproxy.connection import Client, Connection, ConnectionState
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.server import ConnectionHandler, ConnectionIO
from mitmproxy.tls import TlsData
from mitmproxy.utils import asyncio_utils

from hark.bundle.events import AGENT_LEFT
from hark.errors import HarkError, UpstreamError
from hark.policy.decide import Deny
from mediator import h2
from mediator.authority import Destination
from mediator.gated import BACKLOG_POLL_S, Gated
from mediator.http import AgentHttp, Drained
from mediator.link import Link
from mediator.playback.answer import TurnHook
from mediator.settled import SettledHook, SlicedHook
from mediator.tls import AgentContexts, AgentTls, Below, check_name
from mediator.transport import (
    BACKED_UP,
    READ_LIMIT,
    STALLED_S,
    Accepted,
    Streams,
    closed,
    no_linger,
    reset,
    unread,
    untaken,
    unwritten,
)

if TYPE_CHECKING:
    from mediator.dial import Dialler

IDLE_S: Final = 24 * 3600  # a model may think for long, and the run's end closes what is left
NOTHING_IN_COMMON: Final = ("no application protocol", "TLS failed (unknown reason)")
"""What is said of alert 120 (RFC 7301, 3.2); not every build of Python has a name for it."""
CLOSING_S: Final = 60.0
"""For a server to take what was sent to it before its connection was closed: nobody waits for its answer any
more, and agents that leave again and again must not fill our memory."""
SURE: Final = 1 << 14  # of an answer and what waits before it: what the kernel takes at the least
MAX_UNSENT: Final = 1 << 20  # to an agent in HTTP/2 that goes on asking: answers to its pings above all


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the layers in use ask of mitmproxy's options. An option that is missing here is an error."""

    tcp_timeout: int = IDLE_S
    validate_inbound_headers: bool = True
    normalize_outbound_headers: bool = True
    http2_ping_keepalive: int = 58
    proxy_debug: bool = False


def fail_closed[**P](
    method: Callable[P, Coroutine[Any, Any, None]],
) -> Callable[P, Coroutine[Any, Any, None]]:
    """Wrap a coroutine method of `AgentConnection`: what it raises ends the connection and marks the run."""

    @functools.wraps(method)
    async def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            await method(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  # the one place where everything is caught: to end it all
            cast(AgentConnection, args[0]).crash(error)

    return guarded


class AgentConnection(ConnectionHandler):
    """See the module's docstring."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        first: bytes,
        link: Link,
        contexts: AgentContexts,
        dialler: "Callable[[], Dialler]",
    ) -> None:
        client = Client(
            peername=writer.get_extra_info("peername"),
            sockname=(link.target.host, link.target.port),
            timestamp_start=time.time(),
            state=ConnectionState.OPEN,
        )
        context = Context(client, cast(Options, _Settings()))
        super().__init__(context)
        self._link = link
        self._contexts = contexts
        self._dialler = dialler
        self._agent = writer
        self._crashed = False
        self._behind = False
        """Whether something that was written may still wait for its socket."""
        self._watched: dict[Connection, asyncio.Task[None]] = {}
        self._clearing: set[asyncio.Task[None]] = set()
        self._slicing: set[asyncio.Task[None]] = set()
        """What searches a body in slices, while that exchange waits."""
        gated = Gated(first, reader, full=self._full, take=partial(self._take, client), most=READ_LIMIT)
        self.transports[client] = ConnectionIO(reader=cast(asyncio.StreamReader, gated), writer=writer)
        Below(context)
        tls = AgentTls(context) if link.tls else None
        self._http = AgentHttp(context, link, self._unsent, self._fits, self._listens_to)
        self.layer = tls or self._http
        if tls is not None:
            tls.child_layer = self._http

    def crash(self, error: BaseException) -> None:
        """End everything about this connection and mark the run."""
        if self._crashed:
            return
        self._crashed = True
        self._link.ledger.fail(f"the connection to {self._link.target} was ended: {_words(error)}")
        self._reset_all()

    def end(self, reason: str) -> None:
        """End the connection because the run ends; what is under way is recorded as cut."""
        if not self._crashed:
            self._crashed = True
            for exchange in (*self._http.exchanges, *self._http.answered):
                exchange.let_go(reason)
        self._reset_all()

    async def delivered(self) -> None:
        """Wait until what was written has left for the agent, where the connection ended in order.

        What was cut is not waited for: it is about to be reset. A body that is searched is, for the record to
        have who ended it.
        """
        while self._slicing and not self._crashed:
            await asyncio.wait(self._slicing)
        if self._crashed:
            return
        if not self.client.error and not await closed(self._agent):
            took = f"took nothing of an answer for {STALLED_S:.0f} s; its connection was reset"
            self._link.ledger.warn(f"{self._link.target}: the agent {took}")
        if not self._crashed:
            self._http.left(AGENT_LEFT)

    is_raw = False

    @property
    def busy(self) -> bool:
        """Tell whether an exchange is under way."""
        return bool(self._http.answered) or any(one.transcript.open for one in self._http.exchanges)

    async def server_event(self, event: events.Event) -> None:
        """Pass an event to the layers, unless they failed before. A reset is no half-close."""
        ended = isinstance(event, events.ConnectionClosed) and event.connection is self.client
        if ended and self._agent.transport.is_closing():
            self.client.state = ConnectionState.CLOSED
        if isinstance(event, events.ConnectionClosed) and event.connection is not self.client:
            self._note_reset(event.connection)
        self._told(event)

    def _note_reset(self, server: Connection) -> None:
        """Note that a server did not end what it said in order. Over TLS that is not known."""
        io = self.transports.get(server)
        if io is not None and isinstance(io.writer, asyncio.StreamWriter):
            transport = io.writer.transport
            if transport.is_closing() and transport.can_write_eof():
                server.error = "reset"

    def _told(self, event: events.Event) -> None:
        """Carry out what the layers make of an event. What they raise ends the connection."""
        if self._crashed:
            return
        self.timeout_watchdog.register_activity()  # type: ignore[no-untyped-call]
        try:
            for command in self.layer.handle_event(event):
                if type(command) is commands.SendData:
                    self._write(command)
                else:
                    self._carry_out(command)
            if self._http.answered:
                self._settle()
        except Exception as error:  # noqa: BLE001  # as in `fail_closed`
            self.crash(error)

    def _settle(self) -> None:
        """Record the end of the answers that have been written, now or once they are."""
        transport = self._agent.transport
        protocol = transport.get_protocol()
        if unwritten(transport) and isinstance(protocol, Accepted):
            protocol.when_written(transport, self._written)
        elif transport.is_closing():  # with nothing left in it, and nobody was told: it is lost
            self._http.left(AGENT_LEFT)
        else:
            self._http.settle()

    def _written(self, all_of_it: bool) -> None:  # noqa: FBT001  (what Accepted tells)
        """Hear that what waited for the agent's socket has left, or was lost with it."""
        if self._crashed:
            return
        try:
            if all_of_it:
                self._http.settle()
            else:
                self._http.left(AGENT_LEFT)
        except Exception as error:  # noqa: BLE001  # as in `fail_closed`
            self.crash(error)

    def _take(self, connection: Connection, data: bytes) -> asyncio.Task[None] | None:
        """Handle what a side says where it arrives. Returns what waits until it has been written on."""
        if connection.state is ConnectionState.CLOSED:
            return None
        self._told(events.DataReceived(connection, data))
        if not self._behind:
            return None
        try:
            self._behind = any(map(self._unsent, self.transports))
            if not self._behind:
                return None
        except Exception as error:  # noqa: BLE001  # as in `fail_closed`
            self.crash(error)
            return None
        clear = asyncio.create_task(self._clear(from_agent=connection is self.client))
        self._clearing.add(clear)
        clear.add_done_callback(self._clearing.discard)
        return clear

    def _write(self, command: commands.SendData) -> None:
        io = self.transports.get(command.connection)
        if io is None:
            return  # it has been closed
        if io.writer is None:
            raise RuntimeError("data for a connection that is not open yet")
        transport: asyncio.WriteTransport = io.writer.transport  # type: ignore[union-attr]
        if not transport.is_closing():
            transport.write(command.data)
            if unwritten(transport):
                self._behind = True

    def _carry_out(self, command: commands.Command) -> None:
        """Carry out what is rarer than data."""
        match command:
            case commands.OpenConnection():
                opening = self._task(self.open_connection(command), "server connection")
                self.transports[command.connection] = ConnectionIO(handler=opening)
            case commands.RequestWakeup():
                self.wakeup_timer.add(self._task(self.wakeup(command), "wakeup"))
            case commands.CloseConnection() if command.connection in self.transports:
                half = isinstance(command, commands.CloseTcpConnection) and command.half_close
                self.close_connection(command.connection, half)
            case commands.StartHook():
                waited = self._task(self.hook_task(command), f"hook {command.name}", keep=True)
                if isinstance(command, SlicedHook):
                    self._slicing.add(waited)
                    waited.add_done_callback(self._slicing.discard)
            case commands.ConnectionCommand() | commands.Log():
                pass  # it has been closed; and nobody is told what layers say
            case _:
                raise RuntimeError(f"{type(command).__name__} cannot be carried out")

    def _task(self, work: Coroutine[Any, Any, None], name: str, *, keep: bool = False) -> asyncio.Task[None]:
        """Do something beside the layers."""
        return asyncio_utils.create_task(work, name=name, keep_ref=keep, client=self.client.peername)

    @fail_closed
    async def handle_hook(self, hook: commands.StartHook) -> None:
        """Answer the questions that the TLS layer and ours ask; the others are decided in our own layers."""
        match hook.name, hook.args():
            case "tls_start_client", [TlsData() as data]:
                self._contexts.start(data, self._link)
            case "tls_established_client", [TlsData() as data]:
                check_name(data, self._link)
            case "tls_failed_client", [TlsData() as data]:
                self._distrusted(data.conn.error or "")
                await self._link.ledger.settled()
            case SlicedHook.name, _ if isinstance(hook, SlicedHook):
                await self._sliced(hook)
            case SettledHook.name, _ if isinstance(hook, SettledHook):
                await self._link.ledger.settled()
                if self._link.playback is not None and hook.turn is not None:
                    await self._link.playback.turn(hook.turn)
            case TurnHook.name, _ if isinstance(hook, TurnHook) and self._link.playback is not None:
                await self._taken(hook.stream_id)
                hook.granted = await self._link.playback.turn(hook.part)
            case _:
                pass

    async def _sliced(self, hook: SlicedHook) -> None:
        try:
            hook.result = await self._link.slices.carry(hook.work, wanted=lambda: not self._crashed)
        except Exception as error:  # noqa: BLE001  # the layer raises it
            hook.error = error

    async def hook_task(self, hook: commands.StartHook) -> None:
        """As of mitmproxy's; and tell when what was let in has been written."""
        try:
            await super().hook_task(hook)
        finally:
            if self._link.playback is not None:
                if isinstance(hook, TurnHook):
                    self._link.playback.passed(hook.part)
                elif isinstance(hook, SettledHook):
                    self._link.playback.passed(hook.turn)

    async def _taken(self, stream_id: int) -> None:
        """Wait until the agent takes more of an answer that is played: no server is there to be held up."""
        await self._drained(self.client)
        while self._http.backed_up(stream_id):  # noqa: ASYNC110  # its windows signal nothing
            await asyncio.sleep(BACKLOG_POLL_S)

    @fail_closed
    async def open_connection(self, command: commands.OpenConnection) -> None:
        """Dial, tell the layers how it went, and read until the server is done."""
        server = command.connection
        if server.address is None:
            raise RuntimeError("a connection without an address")
        target = Destination(*server.address[:2])
        try:
            reader, writer = await self._dialled(target, tls=bool(server.tls))
        except (UpstreamError, asyncio.CancelledError) as error:
            self.transports.pop(server, None)
            server.error = str(error) or "the agent went away"
            await self.server_event(events.OpenConnectionCompleted(command, server.error))
            if isinstance(error, asyncio.CancelledError):
                raise
            return
        try:
            self._opened(server, reader, writer)
            await self.server_event(events.OpenConnectionCompleted(command, None))
            await self.handle_connection(server)
        except Exception:
            reset(writer.transport)
            raise
        finally:
            if writer.transport.is_closing() and unwritten(writer.transport):
                asyncio.get_running_loop().call_later(CLOSING_S, reset, writer.transport)

    async def _dialled(self, target: Destination, *, tls: bool) -> Streams:
        """Connect. HTTP/2 is offered where the agent speaks it, and to a server that takes nothing else."""
        multiplexed = self.client.alpn == h2.ALPN
        try:
            return await self._dialler().dial(target, tls=tls, h2=multiplexed)
        except UpstreamError as error:
            if multiplexed or not tls or not any(words in str(error) for words in NOTHING_IN_COMMON):
                raise
        return await self._dialler().dial(target, tls=True, h2=True)

    def _opened(self, server: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.state = ConnectionState.OPEN
        server.peername = writer.get_extra_info("peername")
        server.sockname = writer.get_extra_info("sockname")
        agreed = writer.get_extra_info("ssl_object")
        protocol = agreed.selected_alpn_protocol() if agreed is not None else None
        server.alpn = protocol.encode() if protocol else None
        full, take = partial(self._http.holds_up, server), partial(self._take, server)
        gated = Gated(b"", reader, full=full, take=take, most=READ_LIMIT)
        self.transports[server] = ConnectionIO(
            handler=asyncio.current_task(), reader=cast(asyncio.StreamReader, gated), writer=writer
        )

    async def drain_writers(self) -> None:
        """Wait until what this task reads can be written on, and for nothing else: each side may talk while
        the other is slow. What an agent sends in HTTP/2 leads to many servers and is held up by its windows.
        """
        agent = self.transports.get(self.client)
        await self._clear(from_agent=agent is not None and agent.handler is asyncio.current_task())

    @fail_closed
    async def _clear(self, *, from_agent: bool) -> None:
        """Wait until what one side said can be written on."""
        if not from_agent:
            await self._drained(self.client)
        elif self.client.alpn != h2.ALPN:
            for connection in [other for other in self.transports if other is not self.client]:
                await self._drained(connection)
        else:
            if self._unsent(self.client) > MAX_UNSENT:
                await self._drained(self.client)
            for connection in [other for other in self.transports if other is not self.client]:
                if self._unsent(connection) > BACKED_UP and connection not in self._watched:
                    self._watched[connection] = asyncio.create_task(self._watch(connection))

    @fail_closed
    async def _watch(self, connection: Connection) -> None:
        """Tell the layers once a connection takes more again."""
        try:
            await self._drained(connection)
        finally:
            self._watched.pop(connection, None)
        await self.server_event(Drained(connection))

    async def _drained(self, connection: Connection) -> None:
        io = self.transports.get(connection)
        if io is None or not isinstance(io.writer, asyncio.StreamWriter):
            return
        if not unwritten(io.writer.transport):
            return
        try:
            await io.writer.drain()
        except OSError as error:
            if io.handler is not None:
                io.handler.cancel(f"Error sending data: {error}")

    def _full(self) -> bool:
        return self._http.full

    def _unsent(self, connection: Connection) -> int:
        io = self.transports.get(connection)
        if io is None or not isinstance(io.writer, asyncio.StreamWriter):
            return 0
        return unwritten(io.writer.transport)

    def _listens_to(self, server: Connection) -> bool:
        io = self.transports.get(server)
        if io is None:
            return True  # what is played has no connection
        gated = cast(object, io.reader)
        reads = isinstance(gated, Gated) and gated.idle
        return reads and isinstance(io.writer, asyncio.StreamWriter) and not unread(io.writer.transport)

    def _fits(self, size: int) -> bool:
        return size <= SURE and size + untaken(self._agent.transport) <= SURE

    def close_connection(self, connection: Connection, half_close: bool = False) -> None:  # noqa: FBT001, FBT002
        """Close; what was cut is reset, and a half-close that TLS cannot express is left out."""
        writer = self.transports[connection].writer
        if isinstance(writer, asyncio.StreamWriter):
            if half_close and not writer.can_write_eof():
                return
            if connection.error and connection is self.client:
                no_linger(writer.transport)
        super().close_connection(connection, half_close)

    def log(
        self,
        message: str,
        level: int = logging.INFO,
        exc_info: Any = None,
    ) -> None:
        """Drop mitmproxy's words; a message that comes with an exception is a crash."""
        del message, level
        if exc_info:
            error = exc_info[1] if isinstance(exc_info, tuple) else sys.exception()
            self.crash(error or RuntimeError("unknown"))

    def _reset_all(self) -> None:
        for task in [*self._watched.values(), *self._clearing]:
            task.cancel()
        reset(self._agent.transport)
        for io in list(self.transports.values()):
            if isinstance(io.writer, asyncio.StreamWriter):
                reset(io.writer.transport)
            if io.handler is not None:
                io.handler.cancel("ended by hark")

    def _distrusted(self, error: str) -> None:
        link = self._link
        why = f"the agent's program ended the TLS handshake ({error.partition(':')[0] or 'no reason given'})"
        if any(word in error for word in ("unknown ca", "bad certificate", "certificate unknown")):
            why = "the agent's program does not trust the run's certificate authority"
        link.ledger.attempt(link.target, "tls", link.sni_text, Deny(why, ""))
        link.ledger.warn(f"{link.target}: {why}")


def _words(error: BaseException) -> str:
    """Return our own sentence, or where a bug is: other messages may quote what was on the wire."""
    if isinstance(error, HarkError):
        return str(error)
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f" at {last.tb_frame.f_code.co_qualname}:{last.tb_lineno}" if last is not None else ""
    return f"{type(error).__name__}{where} (a bug in hark)"
