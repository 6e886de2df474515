"""One connection of the agent to a tool server: every message judged, recorded, and only then passed on.

Always: nothing that the server says reaches the agent with a credential in it, nothing that the agent says
reaches the server unless `Talk` passes it. What cannot be read ends the connection, and the agent is told
why. The server is started by the first message that passes, and ended with the connection. Where a run goes
live, one that was open goes on with a process of the forker's own, which is told again what the agent had
said to begin with.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final

from hark.bundle.events import Rewritten
from hark.visible import printable
from mediator import strays
from mediator.credentials import Broker
from mediator.ledger import Ledger
from mediator.mcp.introduction import ANSWERED, Introduction
from mediator.mcp.jsonrpc import MessageError
from mediator.mcp.judge import unreadable
from mediator.mcp.lines import MAX_FROM_AGENT, MAX_FROM_SERVER, LineError, Lines
from mediator.mcp.log import BY_HARK, Log
from mediator.mcp.program import Program
from mediator.mcp.server import Server
from mediator.mcp.talk import Answered, Passed, Refused, Talk
from mediator.playback.words import WENT_LIVE
from mediator.scan import FoundError
from mediator.text import as_text
from mediator.transport import Streams, closed

if TYPE_CHECKING:
    from mediator.playback.playback import Playback
    from mediator.playback.toolserver import PlayedServer

GRACE_S: Final = 30.0  # for answers after the agent's last message: some clients ask once and close at once
GONE: Final = "the agent went away"
_NOT_PASSED: Final = "a message of the server's was not passed on: "
_STEP: Final = 1 << 16


class Connection:
    """Carries one connection. `serve` once, `stop` whenever; both in the event loop."""

    def __init__(
        self,
        program: Program,
        ledger: Ledger,
        broker: Broker,
        streams: Streams,
        warn: Callable[[str], None],
        *,
        playback: Playback | None = None,
        again: Callable[[str], str] = lambda _tool: "",
    ) -> None:
        """`playback` answers in place of the server, in a replay.

        `again` says why a tool is not called, in a fork, or nothing.
        """
        self.port = program.port
        self._program = program
        self._ledger = ledger
        self._warn = warn
        self._playback = playback
        self._broker = broker
        self._reader, self._writer = streams
        self._log = Log(program.name, ledger)
        self._talk = Talk(program.tools, "allow_tools", ledger.next_exchange, again)
        self._server: Server | PlayedServer | None = None
        self._introduction = Introduction()
        self._going_live = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._agent_done = False

    @property
    def heard(self) -> bool:
        """Tell whether all that the agent sent was read."""
        return self._agent_done or self._ended.done()

    def branched(self, program: Program) -> None:
        """Have another policy's tools behind it, and in a fork another server."""
        self._program = program
        self._talk.tools = program.tools

    def stop(self, why: str) -> None:
        """End it. The first reason is the one that counts."""
        if not self._ended.done():
            self._ended.set_result(why)

    async def serve(self) -> None:
        """Carry it until it ends. Raises RecordError where it cannot be recorded."""
        why = ""
        self._spawn(self._from_agent())
        try:
            why = await self._ended
        except OSError:
            why = GONE
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._server is not None:
                await self._server.end()
            self._log.end(why)
            self._ledger.ended(self._program, why.removeprefix(_NOT_PASSED))
        self._writer.close()
        await closed(self._writer)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.append(task)
        task.add_done_callback(self._look_at)

    def _look_at(self, task: asyncio.Task[None]) -> None:
        """An exception in either direction ends both."""
        if not task.cancelled() and (error := task.exception()) is not None and not self._ended.done():
            self._ended.set_exception(error)

    # What the agent says

    async def _from_agent(self) -> None:
        lines = Lines(MAX_FROM_AGENT)
        try:
            while piece := await self._reader.read(_STEP):
                for line in lines.feed(piece):
                    await self._judge(line)
        except (LineError, MessageError) as error:
            await self._last_words(f"a message of the agent's was not passed on: {error}")
            return
        self._agent_done = True
        if lines.unfinished:
            await self._last_words("the agent's last message has no end")
        elif self._server is None:
            self.stop("")
        else:
            self._server.stdin.close()
            await asyncio.sleep(GRACE_S)
            self.stop(f"the server did not end within {GRACE_S:.0f} s after the agent's last message")

    async def _judge(self, line: bytes) -> None:
        try:
            verdict = self._verdict(line)
        except MessageError as error:
            self._log.message(line, from_agent=True, note=f"refused: {error}")
            await self._ledger.settled()
            raise
        if isinstance(verdict, Refused):
            await self._refuse(line, verdict)
            return
        self._log.message(line, from_agent=True)
        for call in verdict.calls:
            self._log.call(call)
        server = await (self._gone_live() if self._is_left else self._started())
        if server is None:
            return
        if self._playback is not None:
            self._introduction.heard(line)
        await self._say(server, line)

    async def _say(self, server: Server | PlayedServer, line: bytes) -> None:
        server.stdin.write(line + b"\n")
        with contextlib.suppress(OSError):  # it is ending: its other pipe says so
            await server.stdin.drain()

    def _verdict(self, line: bytes) -> Passed | Refused:
        try:
            self._broker.stopping(from_agent=True).feed(line)
        except FoundError as found:
            reason = f"the placeholder of secrets.{found.name} stands in it, and is not replaced there"
            return self._talk.refused(line, reason)
        return self._talk.from_agent(line)

    async def _refuse(self, line: bytes, refused: Refused) -> None:
        reason = refused.denied.reason
        self._log.message(line, from_agent=True, note=f"refused: {reason}")
        hint = f"; to allow it: {refused.denied.hint}" if refused.denied.hint else ""
        self._warn(printable(f"denied to {self._program}: {reason}{hint}"))
        for call in refused.calls:
            self._log.call(call)
            self._log.answered(Answered(call, refused.reply, is_error=True))
        await self._ledger.settled()
        if refused.reply:
            await self._answer(refused.reply)

    # Where the run goes live

    @property
    def _is_left(self) -> bool:
        """Tell whether the run went live: this was played."""
        return self._playback is not None and self._playback.live

    async def _gone_live(self) -> Server | None:
        """Return the forker's own server, which has been told what the agent said first."""
        async with self._going_live:
            if isinstance(self._server, Server):
                return self._server
            if not self._program.argv:
                self._warn(
                    printable(f"{self._program}: {WENT_LIVE}; name it in the policy that -policy gives")
                )
                self.stop(WENT_LIVE)
                return None
            self._server = None
            server = await self._started()
            if not isinstance(server, Server):
                return None
            try:
                await self._introduction.say(server.stdin)
            except (MessageError, OSError) as error:
                await self._last_words(f"the server cannot go on in this fork: {error}")
                return None
            return server

    async def _asked_anew(self, lines: Sequence[bytes]) -> None:
        """Go live with a call: it is the first that the forker's own server is asked."""
        altering = None if self._playback is None else self._playback.altering
        said = "the call at the branch point is not there" if altering is None else altering.message(lines)
        if isinstance(said, str):
            await self._last_words(said)
            return
        server = await self._gone_live()
        if server is None:
            return
        if said not in lines:
            self._ledger.append(Rewritten(self._talk.exchange_of(said), (), said, "the patch"))
        await self._say(server, said)

    # What the server says

    async def _started(self) -> Server | PlayedServer | None:
        if self._server is None:
            try:
                self._server = await self._start()
            except OSError as error:
                reason = os.strerror(error.errno or 0).lower()
                await self._last_words(f"the server cannot be started: {reason}")
                return None
            self._spawn(self._from_server(self._server))
        return self._server

    async def _start(self) -> Server | PlayedServer:
        if self._playback is None or self._playback.live:
            return await Server.start(self._program)
        from mediator.playback.toolserver import PlayedServer

        number = self._log.connection
        return await PlayedServer.start(self._playback, number, self._stop_played, self._asked_anew)

    def _stop_played(self, why: str) -> None:
        """End it as it was ended when it was recorded, unless it goes on with another server."""
        if not isinstance(self._server, Server):
            self.stop(why)

    async def _from_server(self, server: Server | PlayedServer) -> None:
        lines = Lines(MAX_FROM_SERVER)
        try:
            while piece := await server.stdout.read(_STEP):
                for line in lines.feed(piece):
                    await self._pass(line)
        except (LineError, MessageError) as error:
            await self._last_words(f"{_NOT_PASSED}{error}")
            return
        if server is not self._server:
            return  # it was played, and another one goes on
        if lines.unfinished:
            await self._last_words("the server's last message has no end")
            return
        await self._server_ended(server)

    async def _pass(self, line: bytes) -> None:
        name = self._broker.real_value_in(line)
        if name is not None:
            astray = name in self._broker.astray_at(str(self._program))
            why = f"it gives secrets.{name} away, which the agent must not see"
            raise MessageError(strays.reason(name) if astray else why)
        if self._introduction.takes(line):
            self._log.message(line, from_agent=False, note=ANSWERED)
            return
        answers = self._talk.from_server(line)
        self._log.message(line, from_agent=False)
        for answer in answers:
            self._log.answered(answer)
        await self._to_agent(line)

    async def _server_ended(self, server: Server | PlayedServer) -> None:
        status = await server.status()
        if self._agent_done and status == 0:
            self.stop("")
            return
        why = f"the server ended with exit code {status}"
        tail = server.tail.strip()
        fit = bool(tail) and self._broker.real_value_in(tail) is None
        said = f"; its last words: {as_text(tail)}" if fit else ""
        await self._last_words(why, said)

    # Both

    async def _last_words(self, why: str, more: str = "") -> None:
        """Tell the agent why this is the end, and the user, who hears more; then end."""
        self._warn(printable(f"{self._program}: {why}{more}"))
        await self._answer(unreadable(f"hark: {self._program}: {why}"))
        self.stop(why)

    async def _answer(self, reply: bytes) -> None:
        self._log.message(reply, from_agent=False, note=BY_HARK)
        await self._to_agent(reply)

    async def _to_agent(self, line: bytes) -> None:
        self._writer.write(line + b"\n")
        await self._writer.drain()
