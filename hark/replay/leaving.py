"""An agent that leaves an answer earlier than it was recorded to have left: a race, or another act. No IO.

An agent that needs no more than the head closes its connection while the rest is on its way. How much of that
comes first is decided by the machine, and what crosses the boundary does not show whether anybody read it. So
where nothing but moments lay between, the rest is taken to have come as it did when it was recorded (rule
`left`). It is not where that can be told apart: the agent had done something before the rest came, the rest
took longer than a program needs to leave, or the answer is more than the kernel holds for one that does not
read.
"""

from collections.abc import Callable
from typing import Final

from hark.bundle.events import AGENT_LEFT, RUN_ENDED
from hark.replay.live import Live
from hark.replay.pieces import Data, Early, End, Failed, Head, Part, Tail, Withheld
from hark.replay.recorded import Recorded

BREATH_NS: Final = 1_000_000_000  # what a program needs to leave, on a machine with much else to do
KERNELS: Final = (
    8 << 20
)  # bytes of an answer that Linux holds on loopback for one who reads nothing, and some

_OF_ANSWERS: Final = (Early, Head, Data, Tail, End, Failed)


def not_told_apart(live: Live, now_ns: int, may_release: Callable[[Part], bool]) -> bool:
    """Tell whether the rest of an answer that its agent leaves is taken to have come, but for its size.

    `now_ns` is the recorded time at which the replay is.
    """
    recorded = live.recorded
    if recorded is None or recorded.talk is not None or not live.asked:
        return False
    parts = recorded.parts[:-1] if left_when_recorded(recorded) else recorded.parts
    if not parts or parts[-1].time_ns - now_ns > BREATH_NS:
        return False
    if not may_release(parts[-1]) or not (live.ended or live.sent >= parts[-1].sent):
        return False
    return all(isinstance(part.piece, _OF_ANSWERS) for part in parts[live.told :])


def left_when_recorded(recorded: Recorded) -> bool:
    """Tell whether an answer ends with the agent's leaving, or the run's end, also when it was recorded."""
    last = recorded.parts[-1].piece if recorded.parts else None
    return isinstance(last, Withheld) and last.reason in (AGENT_LEFT, RUN_ENDED)
