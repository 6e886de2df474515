"""What an agent said to a tool server to begin with, said again to another process of it: a fork's own.

Always: the agent is not asked, and does not hear the answer, which it has had from the recorded server; what
it said first is what passed, a message each. Nothing of what it had the recorded server do is done again.
"""

import asyncio
from typing import Final, Protocol

from hark.bundle.events import TO_HARK
from mediator.mcp.jsonrpc import Id, MessageError, Request, Response, read

BEGIN: Final = "initialize"
READY: Final = "notifications/initialized"
WAIT_S: Final = 30.0  # some servers install themselves when they are started
ANSWERED: Final = f"{TO_HARK}which asked again what the agent had asked first"


class Input(Protocol):
    """As much of a StreamWriter as is used."""

    def write(self, data: bytes, /) -> None:
        """MUST take a line."""

    async def drain(self) -> None:
        """MUST wait until it is passed on."""


class Introduction:
    """One connection's. Used in the event loop."""

    def __init__(self) -> None:
        self._begin: tuple[Id, bytes] | None = None
        self._ready = b""
        self._answered: asyncio.Future[None] | None = None

    def heard(self, line: bytes) -> None:
        """Take a line of the agent's that was passed on."""
        if BEGIN.encode() not in line:
            return
        packet = read(line)
        message = packet.messages[0]
        if packet.batch or not isinstance(message, Request):
            return  # the protocol has no batch there, and one could bring a call that is not made again
        if message.method == BEGIN:
            self._begin = (message.id, line)
        elif message.method == READY:
            self._ready = line

    async def say(self, to: Input) -> None:
        """Say it, and wait for the answer. Raises MessageError where none comes, OSError likewise."""
        if self._begin is None:
            return
        self._answered = asyncio.get_running_loop().create_future()
        to.write(self._begin[1] + b"\n")
        await to.drain()
        try:
            async with asyncio.timeout(WAIT_S):
                await self._answered
        except TimeoutError:
            raise MessageError(f"it did not answer {BEGIN} within {WAIT_S:.0f} s") from None
        if self._ready:
            to.write(self._ready + b"\n")
            await to.drain()

    def takes(self, line: bytes) -> bool:
        """Tell whether a line of the server's is the answer. Raises MessageError."""
        if self._answered is None or self._answered.done() or self._begin is None:
            return False
        number = self._begin[0]
        if any(isinstance(one, Response) and one.id == number for one in read(line).messages):
            self._answered.set_result(None)
            return True
        return False
