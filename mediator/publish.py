"""Ports of the agent's loopback that the operator's side may reach: the policy's `[[publish]]`.

Always: only a connection that the operator's side made is passed on, to that one port, with every byte
recorded before it is passed; the agent can neither make one nor choose where one goes. A port where nobody
listens inside answers with a reset, on the record. As in raw TCP, the run's credentials are looked for.

Not done here: judging what the agent serves. A browser that opens it runs the agent's script, outside.
"""

import asyncio
import ipaddress
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from hark.bundle.events import TunnelData
from hark.errors import ConfinementError, RecordError
from hark.policy.model import Address, Published
from mediator.engine import Engine
from mediator.ledger import Ledger
from mediator.transport import Streams, reset
from mediator.tunnel import Caller

MAX_OPEN: Final = 256
"""Connections at once: each takes two descriptors here, and a browser opens six for a host."""
_BACKLOG: Final = 64  # of connections that wait to be accepted: people and test runners open some at once
_LIMIT: Final = 1 << 18  # bytes read ahead, as of every other connection

type Connect = Callable[[int], socket.socket]
"""MUST return a socket connected to this port of the agent's loopback, or raise OSError. May block."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Listening sockets on the host, and the way inside."""

    listeners: tuple[tuple[Published, socket.socket], ...]
    connect: Connect


def listen(published: tuple[Published, ...], connect: Connect) -> Opened:
    """Listen at every address. Raises ConfinementError, with none left open, where one cannot be had."""
    with ExitStack() as held:
        listeners = [(one, held.enter_context(_listener(one))) for one in published]
        held.pop_all()
    return Opened(tuple(listeners), connect)


def _listener(published: Published) -> socket.socket:
    host, port = published.at.host, published.at.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        why = os.strerror(error.errno or 0).lower()
        raise ConfinementError(
            f"cannot publish port {published.port} at {published.at}: {why}; "
            "name another address with at in [[publish]]"
        ) from error
    return listener


def sentences(published: tuple[Published, ...]) -> Iterator[str]:
    """Yield what to tell the operator: where each port is, and whether others reach it too."""
    for one in published:
        yield f"port {one.port} of the agent is at {one.at}"
        if not ipaddress.ip_address(one.at.host).is_loopback:
            yield f"{one.at} can be reached from other machines: whoever reaches it talks to the agent"


class Ports:
    """The published ports of one run, from `serve` to `stop`, both called in the event loop."""

    def __init__(self, opened: Opened, engine: Engine, ledger: Ledger) -> None:
        self._opened = opened
        self._engine = engine
        self._ledger = ledger
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Begin to accept."""
        for published, listener in self._opened.listeners:

            def accept(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int = published.port
            ) -> None:
                self._accept(port, Streams(reader, writer))

            self._servers.append(await asyncio.start_server(accept, sock=listener, limit=_LIMIT))

    def _accept(self, port: int, outside: Streams) -> None:
        if len(self._tasks) >= MAX_OPEN:
            reset(outside.writer.transport)
            return
        task = asyncio.create_task(self._carry(port, outside))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, port: int, outside: Streams) -> None:
        peer = outside.writer.get_extra_info("peername") or ("unknown", 0)
        caller = Caller(port, Address(*peer[:2]))
        try:
            inside = await self._inside(caller, port)
            if inside is not None:
                await self._engine.carry_between(caller, inside, outside)
        except RecordError:
            return  # the run is marked
        finally:
            reset(outside.writer.transport)

    async def _inside(self, caller: Caller, port: int) -> Streams | None:
        try:
            sock = await asyncio.to_thread(self._opened.connect, port)
            return Streams(*await asyncio.open_connection(sock=sock, limit=_LIMIT))
        except OSError as error:
            exchange = self._ledger.next_exchange()
            self._ledger.append(TunnelData(exchange, 0, from_agent=True, host=str(caller)))
            why = f"no connection: {os.strerror(error.errno).lower() if error.errno else error}"
            self._ledger.append(TunnelData(exchange, 1, from_agent=True, end=True, error=why))
            self._ledger.append(TunnelData(exchange, 0, from_agent=False, end=True, error=why))
            return None

    async def stop(self) -> None:
        """Accept no more; the engine has ended what was under way."""
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
