"""Each accepted TCP connection: where it was meant to go, what it speaks, whether it may. Denials end here.

Always: attempt and decision are on the record before a byte is answered or passed on; a refused connection
ends at once and in the words of its protocol (an HTTP page, a TLS alert, a reset). Of what is refused no more
is read than the record shows of it: what it speaks, and the head of a request. mitmproxy is not loaded for a
refusal, only when the first allowed connection needs it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from hark.errors import HarkError
from hark.policy import wanted
from hark.policy.decide import UNSAFE_ALLOW_ALL, Allow, Deny, Verdict
from hark.policy.model import SERVER_FIRST_PORTS, Speaks
from mediator import pages, refused
from mediator.addresses import AddressPool
from mediator.authority import Destination, destination, judge_dial, judge_sni
from mediator.callers import CALLER
from mediator.ledger import Ledger
from mediator.mcp.doors import Doors
from mediator.origin import Origin
from mediator.resolver import Resolver
from mediator.sniff import Http, More, Sniffed, Tls, Unknown, sniff
from mediator.standing import Standing
from mediator.text import as_text
from mediator.transcript import Transcript
from mediator.transport import Streams, closed, reset, unwritten
from mediator.whose import Whose

if TYPE_CHECKING:
    from mediator.playback.playback import Playback

DNS_PORT: Final = 53
PEEK_S: Final = 0.25
"""What a connection that is refused anyway gets to show its protocol in, for the record and the answer."""
IDLE_S: Final = 600.0  # where the policy allows the web: clients open connections before they need them
WEB_PORTS: Final = frozenset((80, 443, 8080, 8443))
"""Where whoever may reach everything speaks the web, however long it is silent first."""
ACCESS_DENIED: Final = b"\x15\x03\x03\x00\x02\x02\x31"
"""TLS record: alert, fatal, access_denied (49). curl and OpenSSL say so in words."""
LINGER_S: Final = 1.0  # for the last word to arrive; who has not read it by then does not want it
MAX_LINGER_BYTES: Final = 1 << 18  # of what was sent on meanwhile: more is an upload, and is cut off
_SILENT: Final = "it did not say what it is"
_STEP: Final = 1 << 16  # what one read takes at the most

type Carry = Callable[[Destination, Tls | Http, bytes, Streams], Awaitable[None]]
"""MUST take an allowed connection over until it ends; what it raises ends it and marks the run."""

type CarryRaw = Callable[[Destination, bytes, Streams], Awaitable[None]]
"""As `Carry`, for a connection for which raw TCP is allowed."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Judges connections. `carry` takes the allowed ones, `carry_raw` those whose rule allows raw TCP."""

    standing: Standing
    pool: AddressPool
    ledger: Ledger
    origin: Origin
    whose: Whose
    resolver: Resolver
    carry: Carry
    carry_raw: CarryRaw
    doors: Doors
    tasks: set[asyncio.Task[None]]
    """The connections that are open."""
    ceiling: int
    """How many may be; those beyond are refused in words."""
    playback: Playback | None = None
    """What lets a decision's consequence wait for its turn, in a replay."""

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection until it ends. Raises nothing but cancellation."""
        task = asyncio.current_task()
        if task is not None:
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        try:
            await self._judge(Streams(reader, writer))
        except HarkError as error:
            self.ledger.fail(str(error))
            _abort(writer)
        except OSError:
            _abort(writer)  # the agent went away while it was answered
        except Exception as error:
            _abort(writer)
            self.ledger.fail(f"a connection could not be judged: {type(error).__name__} (a bug in hark)")
            raise
        except asyncio.CancelledError:
            _abort(writer)
            raise

    async def _judge(self, streams: Streams) -> None:
        reader, writer = streams
        try:
            meant = self.origin(writer.get_extra_info("socket"))
            target = destination(*meant, self.pool)
        except OSError:
            await self._record(
                Destination("unknown", 0), "tcp", Deny("the kernel does not say where it went", "")
            )
            _abort(writer)
            return
        CALLER.set(await self.whose.of(writer.get_extra_info("peername")[:2], meant))
        program = self.doors.at(target)
        if program is not None:
            await self.doors.serve(program, target, streams)
            return
        verdict = judge_dial(self.standing.policy, target, self.standing.now())
        if len(self.tasks) > self.ceiling:
            why = f"{self.ceiling} connections are open already, all that the limit of open files allows"
            verdict = Deny(f"{why} (ulimit -n)", "")
        elif target.port == DNS_PORT and isinstance(verdict, Deny):
            if not await self.resolver.serve_stream(reader, writer):
                await self._refuse_raw(target, verdict, "tcp", "it did not ask for a name", writer)
            await closed(writer)
            return
        if isinstance(verdict, Allow) and verdict.by is not None and verdict.by.speaks is Speaks.TCP:
            await self._raw(target, "tcp", verdict, b"", streams)
            return
        first, spoken = await _first_bytes(reader, _patience(target, verdict))
        if isinstance(verdict, Allow):
            verdict = judge_dial(
                self.standing.policy, target, self.standing.now()
            )  # it may have waited for long
        await self._decide(target, verdict, spoken, first, streams)

    async def _decide(
        self,
        target: Destination,
        dialled: Verdict,
        spoken: Sniffed,
        first: bytes,
        streams: Streams,
    ) -> None:
        match spoken:
            case Tls():
                await self._tls(target, dialled, spoken, first, streams)
            case Http():
                await self._http(target, dialled, spoken, first, streams)
            case Unknown() | More() if isinstance(dialled, Allow) and dialled.rule == UNSAFE_ALLOW_ALL:
                protocol = spoken.protocol if isinstance(spoken, Unknown) else "tcp"
                await self._raw(target, protocol, dialled, first, streams)
            case Unknown():
                await self._refuse_raw(target, dialled, spoken.protocol, spoken.why, streams.writer)
            case More():
                await self._refuse_raw(target, dialled, "tcp", _SILENT, streams.writer)

    async def _raw(
        self, target: Destination, protocol: str, allowed: Allow, first: bytes, streams: Streams
    ) -> None:
        """Take a raw connection over, unless it is one that a fork does not make again."""
        again = ""
        if self.playback is not None and self.playback.beyond:
            from hark.patch.world import tcp_changes_world

            again = tcp_changes_world(target.host, target.port, self.standing.policy)
        if again:
            await self._record(target, protocol, Deny(again, ""))
            _abort(streams.writer)
            return
        await self._record(target, protocol, allowed)
        await self.carry_raw(target, first, streams)

    async def _tls(
        self, target: Destination, dialled: Verdict, spoken: Tls, first: bytes, streams: Streams
    ) -> None:
        verdict = dialled
        if isinstance(dialled, Allow):
            verdict = judge_sni(self.standing.policy, target, spoken.sni, self.standing.now())
        await self._record(target, "tls", verdict, spoken.sni or b"")
        if isinstance(verdict, Deny):
            await _say(streams, ACCESS_DENIED)
            return
        await self.carry(target, spoken, first, streams)

    async def _http(
        self, target: Destination, dialled: Verdict, spoken: Http, first: bytes, streams: Streams
    ) -> None:
        await self._record(target, "http", dialled)
        if isinstance(dialled, Allow):
            await self.carry(target, spoken, first, streams)
            return
        page = pages.refusal(target, dialled)
        head = await _rest_of_head(streams.reader, first)
        transcript = Transcript(self.ledger, time.monotonic_ns, process=CALLER.get().pid)
        refused.record(transcript, target, head, page, dialled)
        await _say(streams, pages.raw_response("403 Forbidden", page))

    async def _refuse_raw(
        self, target: Destination, dialled: Verdict, protocol: str, why: str, writer: asyncio.StreamWriter
    ) -> None:
        denied = dialled
        if isinstance(dialled, Allow):
            instead = f'[[allow]] host = "{target.host}", port = {target.port}, protocol = "tcp"'
            denied = Deny(
                f"{dialled.rule} allows the web alone, and {why}; raw TCP needs {instead} instead", ""
            )
        elif dialled.hint and not (why == _SILENT and target.port in WEB_PORTS):
            raw = wanted.table(target.host, target.port, speaks=Speaks.TCP)
            denied = replace(dialled, hint="", table=raw)
        await self._record(target, protocol, denied)
        _abort(writer)

    async def _record(self, target: Destination, protocol: str, verdict: Verdict, sni: bytes = b"") -> None:
        self.ledger.attempt(target, protocol, as_text(sni), verdict)
        turn = None if self.playback is None else self.playback.take()
        if isinstance(verdict, Deny):
            await self.ledger.settled()
        if self.playback is not None:
            await self.playback.turn(turn)
            self.playback.passed(turn)


def _patience(target: Destination, verdict: Verdict) -> float:
    if isinstance(verdict, Allow) and verdict.rule == UNSAFE_ALLOW_ALL and target.port not in WEB_PORTS:
        return PEEK_S
    if target.port in SERVER_FIRST_PORTS:
        return 0 if isinstance(verdict, Deny) else PEEK_S
    return PEEK_S if isinstance(verdict, Deny) else IDLE_S


async def _first_bytes(reader: asyncio.StreamReader, patience: float) -> tuple[bytes, Sniffed]:
    """Read until the protocol is clear, the agent ends or time is up."""
    first = b""
    spoken: Sniffed = More()
    try:
        async with asyncio.timeout(patience):
            while isinstance(spoken, More):
                piece = await reader.read(_STEP)
                if not piece:
                    break
                first += piece
                spoken = sniff(first)
    except TimeoutError:
        pass
    return first, spoken


async def _rest_of_head(reader: asyncio.StreamReader, first: bytes) -> bytes:
    """Read on to the end of the request's head, for the record; not for long, nor beyond a ceiling."""
    try:
        async with asyncio.timeout(PEEK_S):
            while b"\r\n\r\n" not in first and len(first) < refused.MAX_HEAD:
                piece = await reader.read(_STEP)
                if not piece:
                    break
                first += piece
    except TimeoutError:
        pass
    return first


async def _say(streams: Streams, words: bytes) -> None:
    """Send the last word and close so that it arrives: unread bytes would turn the close into a reset."""
    reader, writer = streams
    writer.write(words)
    try:
        async with asyncio.timeout(LINGER_S):
            await writer.drain()
            writer.write_eof()
            left = MAX_LINGER_BYTES
            while left > 0 and (piece := await reader.read(_STEP)):
                left -= len(piece)
    except (TimeoutError, OSError):
        pass
    writer.close()
    if unwritten(writer.transport):
        _abort(writer)


def _abort(writer: asyncio.StreamWriter) -> None:
    reset(writer.transport)
