"""Where the other side of a raw connection would be: takes all that is said, and says what was recorded.

Always: no socket is behind it. What is said to it is compared where it is recorded (`hark.replay.talks`);
what it says waits for its turn, and counts as written when more is asked of it, or when it is closed.
"""

import asyncio
from typing import cast

from hark.errors import UpstreamError
from hark.replay.pieces import Data, Failed, Part
from hark.replay.talks import LiveTalk
from mediator.playback.playback import Playback
from mediator.playback.words import WENT_LIVE
from mediator.transport import Streams
from mediator.tunnel import BrokenError

NO_CONNECTION = "no connection: "
"""How the reason begins that the record has of a connection that could not be made."""


class PlayedSide:
    """Both of its streams: as much of a StreamReader and a StreamWriter as a tunnel uses."""

    def __init__(self, playback: Playback, talk: LiveTalk) -> None:
        self._playback = playback
        self._talk = talk
        self._last: Part | None = None
        self._ended = False

    @property
    def transport(self) -> "PlayedSide":
        """Itself: as much of a transport as a tunnel uses."""
        return self

    async def read(self, _size: int) -> bytes:
        """Wait for what the other side says next."""
        self._written()
        self._last = part = await self._playback.next_of(self._talk)
        match None if part is None else part.piece:
            case Data(data):
                return data
            case Failed(reason):
                raise BrokenError(reason)
            case None:
                await asyncio.Event().wait()  # it says nothing more: the agent, or the run, ends it
        self._ended = True
        return b""

    def write(self, _data: bytes) -> None:
        """Take what the agent says: it is on the record, and was compared there."""

    async def drain(self) -> None:
        """Break, where the other side had half-closed and this was found at what the agent said last."""
        if self._playback.live:
            raise BrokenError(WENT_LIVE)
        part = self._talk.part
        if not self._ended or part is None or not isinstance(part.piece, Failed):
            return
        if self._playback.score.may_release(part) and await self._playback.next_of(self._talk) is not None:
            self._playback.passed(part)
            raise BrokenError(part.piece.reason)

    def can_write_eof(self) -> bool:
        """Tell that it does."""
        return True

    def write_eof(self) -> None:
        """Take that the agent says nothing more."""

    def is_closing(self) -> bool:
        """Tell that it can be let go of."""
        return False

    def close(self) -> None:
        """Let go."""
        self._written()

    abort = close

    async def wait_closed(self) -> None:
        """Wait for nothing."""

    def set_write_buffer_limits(self, high: int | None = None) -> None:
        """Hold nothing."""
        del high

    def get_extra_info(self, _name: str) -> None:
        """Know nothing of a socket."""

    def _written(self) -> None:
        self._playback.passed(self._last)
        self._last = None


class _AsFarAsRecorded:
    """What the agent says, up to where a connection that was cut then was cut: the rest was chance."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.talk: LiveTalk | None = None

    async def read(self, size: int) -> bytes:
        """As of a StreamReader."""
        talk = self.talk
        if talk is not None and talk.talk.is_cut:
            left = len(talk.talk.said) - len(talk.said)
            if left <= 0 and talk.talk.hushed is None:
                await asyncio.Event().wait()
            size = min(size, left) or size
        return await self._reader.read(size)


def as_far_as_recorded(agent: Streams) -> Streams:
    """Return the agent's side of a connection that is played."""
    return agent._replace(reader=cast(asyncio.StreamReader, _AsFarAsRecorded(agent.reader)))


async def connected(playback: Playback, number: int, agent: Streams) -> Streams:
    """Return the other side of a connection under a number, or raise UpstreamError as it was recorded."""
    talk = playback.talk(number)
    if talk is None:
        await asyncio.Event().wait()  # it was never made: the replay has ended
        raise UpstreamError("a replay dials nothing")
    if isinstance(agent.reader, _AsFarAsRecorded):
        agent.reader.talk = talk
    first = talk.part
    if first is not None and isinstance(first.piece, Failed) and first.piece.reason.startswith(NO_CONNECTION):
        part = await playback.next_of(talk)
        playback.passed(part)
        if part is None or not isinstance(part.piece, Failed):
            await asyncio.Event().wait()
        raise UpstreamError(first.piece.reason.removeprefix(NO_CONNECTION))
    side = PlayedSide(playback, talk)
    return Streams(cast(asyncio.StreamReader, side), cast(asyncio.StreamWriter, side))
