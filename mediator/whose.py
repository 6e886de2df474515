"""Which of the agent's processes has made the connection that is handled, for the record.

Always: it is asked of the boundary (`launcher.whose`), never of the agent; a connection waits `WAIT_S` for it
at the most, and then its process is unknown. Where no boundary stands, every process is.
"""

import asyncio
import socket
from collections import deque
from typing import Final

from launcher import whose
from launcher.whose import UNKNOWN, Address, Process

WAIT_S: Final = 2.0  # an answer takes a fraction of a millisecond where the machine is not out of breath


class Whose:
    """Asks; one a run, from the mediator's loop."""

    def __init__(self, channel: socket.socket | None) -> None:
        """`channel` leads to who answers, and is this value's from now on; None: nobody does."""
        self._channel = channel
        self._asked: deque[asyncio.Future[Process]] = deque()

    def start(self) -> None:
        """Begin to listen for answers."""
        if self._channel is not None:
            self._channel.settimeout(0)
            asyncio.get_running_loop().add_reader(self._channel, self._take)

    async def of(self, near: Address, far: Address) -> Process:
        """Return whose the connection from `near` to `far` is."""
        if self._channel is None:
            return UNKNOWN
        try:
            whose.ask(self._channel, near, far)
        except OSError:  # it is gone, or asked too much at once
            return UNKNOWN
        waiting: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
        self._asked.append(waiting)
        try:
            async with asyncio.timeout(WAIT_S):
                return await waiting
        except TimeoutError:
            return UNKNOWN

    def close(self) -> None:
        """Ask nothing more. Idempotent."""
        if self._channel is not None:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()
            self._channel = None
        while self._asked:
            _tell(self._asked.popleft(), UNKNOWN)

    def _take(self) -> None:
        if self._channel is None:
            return
        found = whose.answer(self._channel)
        if found is None:
            self.close()
        elif self._asked:
            _tell(self._asked.popleft(), found)


def _tell(waiting: asyncio.Future[Process], found: Process) -> None:
    if not waiting.done():
        waiting.set_result(found)
