"""Where the process of a tool server would be: takes each message, gives the recorded ones in their turns.

Always: nothing is started. What went wrong with the server when it was recorded goes wrong again in the same
words, whether or not what it said then is there.
"""

import asyncio
import errno
import os
import re
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, cast

from hark.replay.pieces import Branched, Data, End, Failed, Part
from hark.replay.talks import LiveTalk
from mediator.mcp.jsonrpc import MessageError
from mediator.playback.playback import Playback

NOT_STARTED: Final = "the server cannot be started: "
NOT_PASSED: Final = "a message of the server's was not passed on: "
NO_END: Final = "the server's last message has no end"
MAX_LINES: Final = (
    64  # of the agent's that are kept, for the one at a branch point: agents ask for a few at once
)
_STATUS: Final = re.compile(r"the server ended with exit code (-?[0-9]{1,6})")

type AskedAnew = Callable[[Sequence[bytes]], Awaitable[None]]
"""MUST have the last messages of the agent's, of which one is at the branch point, asked of a real server."""


class PlayedServer:
    """As much of `mediator.mcp.server.Server` as a connection uses."""

    tail = b""

    def __init__(
        self, playback: Playback, talk: LiveTalk, stop: Callable[[str], None], asked_anew: AskedAnew
    ) -> None:
        self._playback = playback
        self._talk = talk
        self._stop = stop
        self._asked_anew = asked_anew
        self._last: Part | None = None
        self._status = 0
        self._input_over = asyncio.Event()
        self._half_said = False
        self._input = _Input(self._input_over)
        self.stdin = cast(asyncio.StreamWriter, self._input)
        self.stdout = cast(asyncio.StreamReader, self)

    @classmethod
    async def start(
        cls, playback: Playback, number: int, stop: Callable[[str], None], asked_anew: AskedAnew
    ) -> "PlayedServer":
        """Begin to play a connection. Raises OSError where the server could not be started then."""
        talk = playback.talk(number)
        if talk is None:
            await asyncio.Event().wait()  # it was never made: the replay has ended
            raise OSError(errno.ENOENT, "")
        first = talk.part
        if (
            first is not None
            and isinstance(first.piece, Failed)
            and first.piece.reason.startswith(NOT_STARTED)
        ):
            playback.passed(await playback.next_of(talk))
            raise OSError(_number_of(first.piece.reason.removeprefix(NOT_STARTED)), "")
        return cls(playback, talk, stop, asked_anew)

    async def read(self, _size: int) -> bytes:
        """Return what the server says next, with the end of its line; nothing at its end."""
        self._playback.passed(self._last)
        if self._half_said:
            return b""
        upcoming = self._talk.part
        if upcoming is not None and isinstance(upcoming.piece, End):
            await self._input_over.wait()  # that the agent had said all is no event of its own
        self._last = part = await self._playback.next_of(self._talk)
        match None if part is None else part.piece:
            case Data(line):
                return line + b"\n"
            case Failed(reason):
                return await self._failed(reason)
            case Branched():
                self._playback.passed(part)
                await self._asked_anew(tuple(self._input.lines))
                return await self.read(_size)
            case None:
                await asyncio.Event().wait()  # it says nothing more: the agent, or the run, ends it
        return b""

    async def _failed(self, reason: str) -> bytes:
        ended = _STATUS.fullmatch(reason)
        if ended is not None:
            self._status = int(ended[1])
            return b""
        if reason.startswith(NOT_PASSED):
            raise MessageError(reason.removeprefix(NOT_PASSED))
        if reason == NO_END:
            self._half_said = True
            return b"{"
        self._stop(reason)
        await asyncio.Event().wait()
        return b""

    async def status(self) -> int:
        """Return the recorded exit status."""
        return self._status

    async def end(self) -> None:
        """Let go."""
        self._playback.passed(self._last)


class _Input:
    """What the server reads: it is on the record, and was compared there."""

    def __init__(self, over: asyncio.Event) -> None:
        self._over = over
        self.lines: deque[bytes] = deque(maxlen=MAX_LINES)

    def write(self, data: bytes) -> None:
        """Take a message."""
        self.lines.append(data.removesuffix(b"\n"))

    async def drain(self) -> None:
        """Wait for nothing."""

    def close(self) -> None:
        """Take that the agent says nothing more."""
        self._over.set()


def _number_of(words: str) -> int:
    """Return the number of an error of the system by its words."""
    return next((number for number in errno.errorcode if os.strerror(number).lower() == words), 0)
