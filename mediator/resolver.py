"""The agent's only resolver, on sockets: UDP, and TCP to port 53. Judges, records and answers one by one.

Always: question and decision are on the record before the answer leaves, a denial on the disk. A query that
cannot be recorded is not answered. No query is passed on to anyone.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hark.errors import RecordError
from hark.policy.decide import Deny
from mediator import dns
from mediator.addresses import AddressPool
from mediator.credentials import Broker
from mediator.ledger import Ledger
from mediator.standing import Standing

if TYPE_CHECKING:
    from hark.replay.pieces import Part
    from mediator.playback.playback import Playback

TCP_FIRST_S: Final = 1.0  # whoever connects to port 53 for a name asks at once; anything else is refused
TCP_IDLE_S: Final = 10.0  # RFC 7766: a few seconds; a stub resolver asks at once
MAX_WAITING: Final = 4096  # denials whose answers wait for the disk, 500 bytes each at most

type Address = tuple[str | Any, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, empty where the query is dropped. One that denies waits until the denial is on the disk."""

    wire: bytes
    denied: bool
    turn: Part | None = None
    """What it waits for in a replay, beyond that."""


class Resolver(asyncio.DatagramProtocol):
    """Answers questions. One instance serves every socket."""

    def __init__(
        self,
        standing: Standing,
        pool: AddressPool,
        ledger: Ledger,
        broker: Broker,
        playback: Playback | None = None,
    ) -> None:
        self._standing = standing
        self._pool = pool
        self._ledger = ledger
        self._broker = broker
        self._transport: asyncio.DatagramTransport | None = None
        self._waiting: list[tuple[bytes, Address, bytes]] = []
        self._under_way: set[tuple[bytes, Address]] = set()
        """Questions over UDP, word for word and by who asked, whose answers have not left yet."""
        self._settling: asyncio.Task[None] | None = None
        self._playback = playback
        self._turns: set[asyncio.Task[None]] = set()

    def answer(self, wire: bytes) -> Answer:
        """Judge and record one query. Raises RecordError."""
        query = dns.parse(wire)
        if isinstance(query, dns.Malformed):
            self._ledger.query(query.shown, "MALFORMED", 0)
            self._ledger.answered(query.shown, Deny(query.why, ""), "")
            return Answer(query.reply, denied=True)
        self._ledger.query(query.name, query.type_name, query.kind)
        judged = self._judged(query)
        self._ledger.answered(query.name, judged.verdict, judged.answer)
        turn = None if self._playback is None else self._playback.take()
        return Answer(judged.reply, denied=isinstance(judged.verdict, Deny), turn=turn)

    def _judged(self, query: dns.Query) -> dns.Judged:
        # Under a wildcard a name goes where its question is never seen: into the server's name and Host.
        secret = self._broker.in_name(query.name)
        if secret is not None:
            return dns.refused(query, f"the placeholder of secrets.{secret} stands in the name")
        return dns.judge(query, self._standing.policy, self._pool, self._standing.now())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the UDP transport."""
        if isinstance(transport, asyncio.DatagramTransport):
            self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Send nothing over UDP any more: a denial may be on the disk after the agent has ended."""
        del exc
        self._transport = None

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        """Answer a UDP query to whoever sent it; the kernel puts the address that was asked back in.

        A packet that comes again before its answer has left, as stub resolvers send it after some seconds, is
        the same question: how often that happens is the machine's pace, and no act of the agent's.
        """
        if (data, addr) in self._under_way:
            return
        try:
            answer = self.answer(data)
        except RecordError:
            return  # the run is marked; the agent gets no answer
        if answer.turn is not None:
            self._under_way.add((data, addr))
            task = asyncio.create_task(self._in_turn(answer, addr, data))
            self._turns.add(task)
            task.add_done_callback(self._turns.discard)
        elif not answer.denied:
            self._send(answer.wire, addr)
        elif len(self._waiting) < MAX_WAITING:  # a client whose answer is dropped asks again
            self._under_way.add((data, addr))
            self._waiting.append((answer.wire, addr, data))
            if self._settling is None:
                self._settling = asyncio.create_task(self._settle())

    async def _in_turn(self, answer: Answer, address: Address, asked: bytes) -> None:
        """Send an answer of a replay when the recording did."""
        try:
            if answer.denied:
                await self._ledger.settled()
            if await self._turn(answer):
                self._send(answer.wire, address)
        except RecordError:
            return  # the run is marked
        finally:
            self._under_way.discard((asked, address))
            self._passed(answer)

    async def _turn(self, answer: Answer) -> bool:
        return self._playback is None or await self._playback.turn(answer.turn)

    def _passed(self, answer: Answer) -> None:
        if self._playback is not None:
            self._playback.passed(answer.turn)

    async def _settle(self) -> None:
        """Send the denials that wait, each after it is on the disk."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._ledger.settled()
                for reply, address, asked in batch:
                    self._under_way.discard((asked, address))
                    self._send(reply, address)
        except RecordError:
            self._waiting.clear()  # the run is marked
        finally:
            self._settling = None

    def _send(self, reply: bytes, address: Address) -> None:
        if reply and self._transport is not None:
            self._transport.sendto(reply, address)

    async def serve_stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer the queries of one TCP connection until it pauses or ends; False if it never made one."""
        answered = False
        try:
            while True:
                async with asyncio.timeout(TCP_IDLE_S if answered else TCP_FIRST_S):
                    size = int.from_bytes(await reader.readexactly(2))
                    wire = await reader.readexactly(size)
                answer = self.answer(wire)
                answered = True
                if answer.denied:
                    await self._ledger.settled()
                if not answer.wire or not await self._turn(answer):
                    return True
                writer.write(len(answer.wire).to_bytes(2) + answer.wire)
                self._passed(answer)
                await writer.drain()
        except (OSError, TimeoutError, EOFError, RecordError):
            return answered
        finally:
            if answered:
                writer.close()
