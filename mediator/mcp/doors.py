"""The doors to the tool servers: a port each on the gateway's address, which only the agent can reach.

The connection arrives at the mediator's one listener like any other, so nothing new listens anywhere. What
goes through a door is judged message by message (`mediator.mcp.connection`). How many connections are open at
once, and how many are made, is bounded: each may start a process outside the boundary.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hark.policy.decide import Allow, Deny
from hark.policy.model import Policy
from launcher.plan import GATEWAY_V4
from mediator.authority import Destination
from mediator.credentials import Broker
from mediator.ledger import Ledger
from mediator.standing import Standing
from mediator.transport import Streams, reset

if TYPE_CHECKING:
    from mediator.mcp.connection import Connection
    from mediator.mcp.program import Program
    from mediator.playback.playback import Playback

MAX_OPEN: Final = 16  # of all servers together; a client holds one to each
MAX_MADE: Final = 2000  # in a run; some clients connect for each call
MAX_WARNINGS: Final = 20  # lines at the end of a run; the record has them all
HEAR_S: Final = 1.0  # at the end of a run: as long as for other connections
PROTOCOL: Final = "mcp"


class Doors:
    """The doors of one run. Only used in the mediator's event loop."""

    def __init__(
        self,
        programs: Iterable[Program],
        ledger: Ledger,
        broker: Broker,
        standing: Standing,
        playback: Playback | None = None,
    ) -> None:
        self._programs = {program.port: program for program in programs}
        self._ledger = ledger
        self._broker = broker
        self._standing = standing
        self._playback = playback
        self._open: set[Connection] = set()
        self._made = 0
        self._warned: set[str] = set()
        self._clock = time.monotonic

    def at(self, target: Destination) -> Program | None:
        """Return whose door a connection was made to."""
        return self._programs.get(target.port) if target.host == GATEWAY_V4 else None

    def branched(self, policy: Policy, programs: Iterable[Program]) -> None:
        """Have another policy's tools behind the same doors, and in a fork its servers."""
        tools = {server.name: server.tools for server in policy.mcp}
        live = {program.name: program for program in programs}
        for port, program in self._programs.items():
            found = live.get(program.name, program)
            self._programs[port] = replace(found, port=port, tools=tools.get(program.name, program.tools))
        for connection in self._open:
            connection.branched(self._programs[connection.port])

    async def serve(self, program: Program, target: Destination, streams: Streams) -> None:
        """Carry a connection to its end. Raises RecordError."""
        from mediator.mcp.connection import Connection

        self._made += 1
        if len(self._open) >= MAX_OPEN or self._made > MAX_MADE:
            many = f"{MAX_OPEN} are open" if self._made <= MAX_MADE else f"{MAX_MADE} were made"
            self._ledger.attempt(
                target, PROTOCOL, "", Deny(f"{many} already of the connections to tool servers", "")
            )
            await self._turn()
            await self._ledger.settled()
            reset(streams.writer.transport)
            return
        if self._is_live and not program.argv:
            why = f"{program} is not started in this fork; name it in the policy that -policy gives"
            self._ledger.attempt(target, PROTOCOL, "", Deny(why, ""))
            await self._ledger.settled()
            reset(streams.writer.transport)
            return
        self._ledger.attempt(target, PROTOCOL, "", Allow(str(program)))
        await self._turn()
        connection = Connection(
            program,
            self._ledger,
            self._broker,
            streams,
            self._warn,
            playback=None if self._is_live else self._playback,
            again=lambda tool: self._again(program, tool),
        )
        self._open.add(connection)
        try:
            await connection.serve()
        finally:
            self._open.discard(connection)

    @property
    def _is_live(self) -> bool:
        return self._playback is not None and self._playback.live

    def _again(self, program: Program, tool: str) -> str:
        """Say why a fork does not call a tool again; nothing where it may, or where this is no fork."""
        if self._playback is None or not self._playback.beyond:
            return ""
        from hark.patch.world import tool_changes_world

        return tool_changes_world(program.name, tool, self._standing.policy)

    async def _turn(self) -> None:
        """In a replay, wait for the turn of what was just decided."""
        if self._playback is not None:
            turn = self._playback.take()
            await self._playback.turn(turn)
            self._playback.passed(turn)

    def _warn(self, text: str) -> None:
        """Keep a sentence for the end of the run, unless the agent has caused enough of them."""
        if len(self._warned) < MAX_WARNINGS:
            self._warned.add(text)
            self._ledger.warn(text)
        elif text not in self._warned:
            self._ledger.warn(
                "more was denied to tool servers, or went wrong with them; `hark inspect` lists it"
            )

    async def stop(self) -> None:
        """End every connection and wait until its server is gone."""
        deadline = self._clock() + HEAR_S
        while self._talking() and self._clock() < deadline:  # noqa: ASYNC110  # what was sent is still read
            await asyncio.sleep(0.01)
        for connection in tuple(self._open):
            connection.stop("the run ended")
        while self._open:  # noqa: ASYNC110  # `Server.end` has its own ceilings
            await asyncio.sleep(0.01)

    def _talking(self) -> bool:
        return not all(connection.heard for connection in self._open)
