"""What the operator's side does in a replay, each at its recorded point: calls in, and other policies.

Always: a connection is made into the agent alone, and only to a port that the policy publishes; nothing
listens outside. What the operator's side said is played; what the agent says there is not compared (rule
`published`), but as much of it is waited for as it had said by then.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Final

from hark.bundle.events import PolicyLoaded, TunnelData
from hark.policy.model import Address, Policy
from hark.replay.pieces import Failed, Part
from hark.replay.talks import Talk
from mediator.engine import Engine
from mediator.ledger import Ledger
from mediator.playback.connection import NO_CONNECTION
from mediator.playback.playback import Playback
from mediator.playback.report import Divergence
from mediator.transport import Streams
from mediator.tunnel import Caller

TRY_S: Final = 0.05
TRIES: Final = 200  # for ten seconds: a server inside may take longer to come up than when it was recorded
_LIMIT: Final = 1 << 18  # bytes read ahead, as of every other connection

type Connect = Callable[[int], socket.socket]
"""MUST return a socket connected to this port of the agent's loopback, or raise OSError. May block."""
type Change = Callable[[Policy, PolicyLoaded], None]
"""MUST put a policy into force, on the record first."""


class Operator:
    """One replay's. `start` and `stop` in the event loop."""

    def __init__(
        self,
        playback: Playback,
        engine: Engine,
        ledger: Ledger,
        *,
        connect: Connect | None,
        change: Change,
        changes: Mapping[int, tuple[Policy, PolicyLoaded]],
    ) -> None:
        """`changes` are the policies by their events; those that are not there are not put into force."""
        self._playback = playback
        self._engine = engine
        self._ledger = ledger
        self._connect = connect
        self._change = change
        self._changes = changes
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to wait for the turns."""
        recording = self._playback.score.recording
        changes = [part for part in recording.changes if part.seq in self._changes]
        waiting = [
            *map(self._change_at, changes),
            *map(self._branch_at, recording.branches),
            *(self._call(part, talk) for part, talk in recording.calls),
        ]
        self._tasks = [asyncio.create_task(one) for one in waiting]

    async def stop(self) -> None:
        """Let go."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _change_at(self, part: Part) -> None:
        if await self._playback.own_turn(part, "a change of the policy"):
            self._change(*self._changes[part.seq])
            self._playback.passed(part)

    async def _branch_at(self, part: Part) -> None:
        """Have the run go live where it did: that it is released does all there is to do."""
        await self._playback.own_turn(part, "the branch point")
        self._playback.passed(part)

    async def _call(self, part: Part, talk: Talk) -> None:
        if not await self._playback.own_turn(part, str(talk)):
            return
        self._playback.passed(part)
        first = talk.parts[0].piece if talk.parts else None
        if isinstance(first, Failed) and first.reason.startswith(NO_CONNECTION):
            self._record_failure(talk, first.reason)
            return
        inside = await self._inside(talk, part.seq)
        if inside is not None:
            await self._engine.carry_played(_caller(talk), inside, self._playback)

    async def _inside(self, talk: Talk, seq: int) -> Streams | None:
        if self._connect is None:
            words = f"port {talk.port} of the agent, to which {talk} went (event {seq}), is not published now"
            self._playback.diverge(Divergence("uncovered", words, seq))
            return None
        for _ in range(TRIES):
            try:
                sock = await asyncio.to_thread(self._connect, talk.port)
                return Streams(*await asyncio.open_connection(sock=sock, limit=_LIMIT))
            except OSError:
                await asyncio.sleep(TRY_S)
        words = f"nobody listens at port {talk.port} of the agent, where {talk} was answered (event {seq})"
        self._playback.diverge(Divergence("difference", words, seq))
        return None

    def _record_failure(self, talk: Talk, why: str) -> None:
        """Record what was recorded of a call that nobody answered: no part of it is the agent's doing."""
        number = self._ledger.next_exchange()
        self._ledger.append(TunnelData(number, 0, from_agent=True, host=str(_caller(talk))))
        self._ledger.append(TunnelData(number, 1, from_agent=True, end=True, error=why))
        self._ledger.append(TunnelData(number, 0, from_agent=False, end=True, error=why))


def _caller(talk: Talk) -> Caller:
    """Return whom a recorded call was with, named as it was."""
    host, _, port = talk.lane[1].rpartition(" to ")[2].rpartition(":")
    number = int(port) if port.isascii() and port.isdigit() and len(port) < 6 else 0
    return Caller(talk.port, Address(host.strip("[]"), number))
