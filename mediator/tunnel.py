"""An allowed raw TCP connection: bytes both ways, recorded before they are passed on. Nothing is waited for.

Always: a half-close is passed as a half-close and a reset as a reset; a stream with a placeholder or a real
value in it ends both ways before the byte that completes it is passed, with the reason on the record; what is
held in memory is one piece a direction and what the streams' own limit lets wait.

A piece that ends as a credential begins, by more than chance, waits for what follows or for the end.

Not done here: telling a server behind a proxy that speaks TLS that the agent has said all, which asyncio's
TLS cannot express. And understanding what passes: TLS goes through as it is, so what it hides is recorded
hidden and is not searched; a reset that comes after the same side's half-close is noticed at the next byte
toward it.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from hark.bundle.events import REFUSED, TunnelData
from hark.errors import UpstreamError
from hark.policy.model import Address
from mediator import strays
from mediator.authority import Destination
from mediator.callers import CALLER
from mediator.credentials import Broker
from mediator.ledger import Ledger
from mediator.scan import FoundError, StreamSwap
from mediator.sliced import is_slow
from mediator.transport import Streams, reset

PIECE: Final = 1 << 16  # one event; a larger one would hold up what comes behind it

type Dial = Callable[[], Awaitable[Streams]]
"""MUST connect to the tunnel's target, and raise UpstreamError where that fails."""


class BrokenError(Exception):
    """One side is gone without a regular end; the text says which, and how."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom a published connection is with, as the record names it: no host has a blank in its name."""

    port: int
    peer: Address

    def __str__(self) -> str:
        return f"published port {self.port} to {self.peer}"


@dataclass(slots=True)
class _Way:
    """One direction."""

    from_agent: bool
    scan: StreamSwap
    seq: int = 0
    ended: bool = False

    @property
    def sender(self) -> str:
        return "the agent" if self.from_agent else "the server"

    @property
    def receiver(self) -> str:
        return "the server" if self.from_agent else "the agent"


class Tunnel:
    """One connection. `run` carries it; `end` may be called meanwhile, from the same event loop.

    `first` is what the agent's side sent and has been read already. `number` is that of its exchange.
    """

    def __init__(
        self,
        target: Destination | Caller,
        agent: Streams,
        ledger: Ledger,
        broker: Broker,
        *,
        first: bytes = b"",
    ) -> None:
        self.target = target
        self._agent = agent
        self._first = first
        self._server: Streams | None = None
        self._ledger = ledger
        self.number = ledger.next_exchange()
        self._process = CALLER.get().pid
        self._up = _Way(True, broker.stopping(from_agent=True))  # noqa: FBT003  # which way is what a way is
        self._down = _Way(False, broker.stopping(from_agent=False, patient=False))  # noqa: FBT003
        self._task: asyncio.Task[None] | None = None
        self._broker = broker
        self._why = ""
        """Why hark refused what one side said."""

    is_raw = True

    @property
    def busy(self) -> bool:
        """Tell whether the agent may still have sent something that is not recorded."""
        return not self._up.ended

    async def run(self, dial: Dial) -> None:
        """Connect and pass bytes until both directions have ended. Raises RecordError, with all reset."""
        self._task = asyncio.current_task()
        host = str(self.target)
        self._ledger.append(TunnelData(self.number, from_agent=True, host=host, process=self._process))
        self._up.seq = 1
        try:
            self._server = await dial()
            await self._both(self._server)
        except UpstreamError as error:
            self._ledger.warn(f"no connection to {self.target}: {error}")
            self._cut(f"no connection: {error}")
        except BrokenError as error:
            self._cut(str(error))
            self._ledger.ended(self.target, self._why or str(error).removeprefix(REFUSED))
        except asyncio.CancelledError:
            self._cut("the run ended")
            raise
        finally:
            self._reset()

    def end(self, reason: str) -> None:
        """Record why the connection ends and reset both sides. Raises RecordError."""
        self._cut(reason)
        self._reset()
        if self._task is not None:
            self._task.cancel()

    async def _both(self, server: Streams) -> None:
        for streams in (self._agent, server):
            limit = 0 if streams.writer.can_write_eof() else 1  # TLS's own 0 is never gone below
            streams.writer.transport.set_write_buffer_limits(high=limit)  # passed on means: in the kernel
        ways = (
            asyncio.create_task(self._pump(self._up, self._agent.reader, server.writer)),
            asyncio.create_task(self._pump(self._down, server.reader, self._agent.writer)),
        )
        try:
            await asyncio.gather(*ways)
        finally:
            for way in ways:
                way.cancel()
        await _closed(server.writer)
        await _closed(self._agent.writer)

    async def _pump(self, way: _Way, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        first = self._first if way.from_agent else b""
        while piece := first or await _read(way, source):
            first = b""
            await self._pass(way, await self._searched(way, piece), sink)
            if is_slow(piece):
                await asyncio.sleep(0)  # what is read without waiting would leave nobody else a turn
        await self._pass(way, await self._searched(way, b""), sink)
        self._record(way, end=True)
        if sink.can_write_eof():
            with contextlib.suppress(OSError):
                sink.write_eof()

    async def _searched(self, way: _Way, piece: bytes) -> bytes:
        """Return what may pass of a piece, or of what was held where the stream has ended."""
        try:
            return way.scan.at_once(piece) if piece else way.scan.finish()
        except FoundError as found:
            self._refuse(way, found, piece)
            await self._ledger.settled()
            raise BrokenError("the other direction was refused") from None

    async def _pass(self, way: _Way, data: bytes, sink: asyncio.StreamWriter) -> None:
        if not data:
            return
        self._record(way, data)
        try:
            sink.write(data)
            await sink.drain()
        except OSError as error:
            raise BrokenError(f"{way.receiver} {_how(error)}") from None

    def _refuse(self, way: _Way, found: FoundError, piece: bytes) -> None:
        """Record the reason; a real value itself is never recorded."""
        if way.from_agent:
            why = f"the placeholder of secrets.{found.name} stands in it, and raw TCP has no place for it"
        else:
            why = self._came(found.name)
        self._why = why
        shown = piece if way.from_agent else b""
        self._record(way, shown, end=True, error=f"{REFUSED}{why}")
        self._ledger.warn(f"the connection to {self.target} was ended: {why}")

    def _came(self, name: str) -> str:
        """Say that the server, or who calls from outside, sent a value."""
        source = self.target if isinstance(self.target, Destination) else None
        if name in self._broker.astray_at(source):
            return strays.reason(name)
        return f"the server sent the value of secrets.{name}, which the agent must not see"

    def _record(self, way: _Way, data: bytes = b"", *, end: bool = False, error: str = "") -> None:
        event = TunnelData(self.number, way.seq, way.from_agent, data, end, error)
        self._ledger.append(event)
        way.seq += 1
        way.ended = end

    def _cut(self, reason: str) -> None:
        """Record the end of what has not ended."""
        for way in (self._up, self._down):
            if not way.ended and self._ledger.fatal is None:
                self._record(way, end=True, error=reason)

    def _reset(self) -> None:
        """Reset what is still open: after a regular end nothing is."""
        for streams in (self._agent, self._server):
            if streams is not None:
                reset(streams.writer.transport)


async def _read(way: _Way, source: asyncio.StreamReader) -> bytes:
    try:
        return await source.read(PIECE)
    except OSError as error:
        raise BrokenError(f"{way.sender} {_how(error)}") from None


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Close after what was written last has left."""
    with contextlib.suppress(OSError):
        writer.close()
        await writer.wait_closed()


def _how(error: OSError) -> str:
    if isinstance(error, (ConnectionResetError, BrokenPipeError)):
        return "reset the connection"
    return f"was lost: {os.strerror(error.errno).lower()}" if error.errno else "was lost"
