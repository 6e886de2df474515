"""What one side of a connection says, read by a task or taken as it arrives.

Always: bytes are handled in their order, each once, and none while too many wait (`full`) or while what came
before them has not been written on (`clear`). A small piece that finds nobody before it is handled where it
arrives: to wake a task for it costs a future, two more turns of the event loop and a system call.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from mediator.transport import Reader

BACKLOG_POLL_S: Final = 0.005
PIECE: Final = 65535
"""What a task that reads is given at once, and what is taken as it arrives, if nothing else is said."""

type Take = Callable[[bytes], asyncio.Task[None] | None]
"""MUST handle a piece before it returns, and raise nothing; returns what has to end before the next piece."""


class Gated:
    """One side's bytes: those already read first. `most` is read at once."""

    def __init__(
        self,
        first: bytes,
        reader: asyncio.StreamReader,
        *,
        full: Callable[[], bool],
        take: Take,
        most: int = PIECE,
    ) -> None:
        self._first = first
        self._reader = reader
        self._full = full
        self._take = take
        self._most = most
        self._waits = False
        """Whether the task that reads waits, and nothing has come that wakes it."""
        self._takes = False
        """Whether a piece is being handled: another comes behind it."""
        self._clear: asyncio.Task[None] | None = None
        """What the next piece has to wait for."""
        if isinstance(reader, Reader):
            reader.taker = self._arrived

    @property
    def idle(self) -> bool:
        """Tell whether the next piece would be handled now, and none has come."""
        return self._waits and (self._clear is None or self._clear.done()) and not self._full()

    async def read(self, size: int) -> bytes:
        """As of a StreamReader."""
        if self._first:
            first, self._first = self._first[:size], self._first[size:]
            return first
        await self._passed()
        self._waits = True
        try:
            data = await self._reader.read(max(size, self._most))
        finally:
            self._waits = False
        await self._passed()  # by what was taken while this one waited
        return data

    async def _passed(self) -> None:
        """Wait until there is room for the next piece."""
        clear, self._clear = self._clear, None
        if clear is not None:
            await asyncio.wait([clear])
        while self._full():  # noqa: ASYNC110  # the queue is mitmproxy's and signals nothing
            await asyncio.sleep(BACKLOG_POLL_S)

    def _arrived(self, data: bytes) -> bool:
        """Take a piece where it arrives, if nothing stands before it."""
        clear = self._clear is None or self._clear.done()
        if self._takes or not self._waits or not clear or len(data) > self._most or self._full():
            self._waits = False  # and what comes next must not pass it
            return False
        self._takes = True
        try:
            self._clear = self._take(data)
        finally:
            self._takes = False
        return True
