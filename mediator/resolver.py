"""The agent's only resolver, on sockets: UDP, and TCP to port 53. Judges, records and answers one by one.

Always: question and decision are on the record before the answer leaves, a denial on the disk. A query that
cannot be recorded is not answered. No query is passed on to anyone.
"""

import asyncio
from typing import Any, Final

from hark.errors import RecordError
from hark.policy.decide import Deny
from hark.policy.model import Policy
from mediator import dns
from mediator.addresses import AddressPool
from mediator.ledger import Ledger
from mediator.wall import local_now

TCP_FIRST_S: Final = 1.0  # whoever connects to port 53 for a name asks at once; anything else is refused
TCP_IDLE_S: Final = 10.0  # RFC 7766: a few seconds; a stub resolver asks at once


class Resolver(asyncio.DatagramProtocol):
    """Answers questions. One instance serves every socket."""

    def __init__(self, policy: Policy, pool: AddressPool, ledger: Ledger) -> None:
        self._policy = policy
        self._pool = pool
        self._ledger = ledger
        self._transport: asyncio.DatagramTransport | None = None

    def answer(self, wire: bytes) -> bytes:
        """Return the reply to one query, empty where it is dropped. Raises RecordError."""
        query = dns.parse(wire)
        if isinstance(query, dns.Malformed):
            self._ledger.query(query.shown, "MALFORMED", 0)
            self._ledger.answered(query.shown, Deny(query.why, ""), "")
            return query.reply
        self._ledger.query(query.name, query.type_name, query.kind)
        judged = dns.judge(query, self._policy, self._pool, local_now())
        self._ledger.answered(query.name, judged.verdict, judged.answer)
        return judged.reply

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the UDP transport."""
        if isinstance(transport, asyncio.DatagramTransport):
            self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        """Answer a UDP query to whoever sent it; the kernel puts the address that was asked back in."""
        try:
            reply = self.answer(data)
        except RecordError:
            return  # the run is marked; the agent gets no answer
        if reply and self._transport is not None:
            self._transport.sendto(reply, addr)

    async def serve_stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer the queries of one TCP connection until it pauses or ends; False if it never made one."""
        answered = False
        try:
            while True:
                async with asyncio.timeout(TCP_IDLE_S if answered else TCP_FIRST_S):
                    size = int.from_bytes(await reader.readexactly(2))
                    wire = await reader.readexactly(size)
                reply = self.answer(wire)
                answered = True
                if not reply:
                    return True
                writer.write(len(reply).to_bytes(2) + reply)
                await writer.drain()
        except (OSError, TimeoutError, EOFError, RecordError):
            return answered
        finally:
            if answered:
                writer.close()
