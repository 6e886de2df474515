"""One exchange of a replay's: which recorded one it stands for, and how far its answer is. No IO."""

from dataclasses import dataclass
from typing import NamedTuple

from hark.bundle.events import LlmRequest
from hark.replay.canonical import Gathering
from hark.replay.pieces import Part, Refused, Withheld
from hark.replay.recorded import Recorded


class Miss(NamedTuple):
    """A request for which there is no recording."""

    request: LlmRequest
    words: str
    nearest: str
    """Which recorded request is nearest and what differs, in words."""


@dataclass(slots=True)
class Live:
    """An exchange of the replay's."""

    request: LlmRequest
    gathered: Gathering
    sent: int
    claim: Recorded | None = None
    """Whose head this one's stands for, until it is matched."""
    recorded: Recorded | None = None
    """What it was matched with."""
    at: int = 0
    """The part that comes next."""
    told: int = 0
    """How many parts were handed on to whoever writes to the agent."""
    ended: bool = False
    """Whether the request is known to its end."""
    asked: bool = False
    """Whether its answer is wanted of the recording: nothing waits for one that is not."""

    @property
    def part(self) -> Part | None:
        """Return what comes next of its answer."""
        if self.recorded is None or self.at >= len(self.recorded.parts):
            return None
        return self.recorded.parts[self.at]


def to_come(live: Live) -> Part | None:
    """Return what comes next of an answer, unless that is nothing at all."""
    part = live.part
    return None if part is None or isinstance(part.piece, (Withheld, Refused)) else part


def left_over(recorded: Recorded, live: Live | None) -> str:
    """Say what of a recorded answer was not used, or nothing."""
    if live is None:
        return f"the answer to {recorded} (event {recorded.seq}) was not asked for"
    rest = recorded.parts[live.at :]
    if not rest:
        return ""
    if isinstance(rest[0].piece, Refused):
        return f"{recorded} (event {recorded.seq}) was not refused as it was when recorded"
    if isinstance(rest[0].piece, Withheld):
        if recorded.left is None or recorded.left.done:
            return ""
        return f"the agent did not go away from {recorded} (event {recorded.seq}) as it did when recorded"
    if not live.at:
        return f"the answer to {recorded} (event {recorded.seq}) was not used"
    used = f"part {live.at} of {len(recorded.parts)}"
    return f"the answer to {recorded} (event {recorded.seq}) was used up to {used}"
