"""What a replay moves when it lets something in, and how it asks whether the agent has nothing more to do."""

from collections.abc import Callable
from typing import Protocol

from hark.bundle.events import Branch


class Clock(Protocol):
    """The clocks that the agent reads."""

    def release(self, time_ns: int, gap_ns: int, most_ns: int | None = None) -> None:
        """Be at `time_ns` since the run began, `gap_ns` of the recording after the release before this one.

        `most_ns`: how much of that the agent waited there and has not waited here. A clock that goes on by
        more has timers run out that the agent set after it had worked, and right before it asked.
        MUST be done when it returns: what comes in comes in right after. MUST not block.
        """
        ...

    def branched(self, branch: Branch, time_ns: int) -> None:
        """Go on from here as the recorded run did when it went live, `time_ns` after it began.

        MUST be called right after the release of that moment.
        """
        ...


class RealClock:
    """Leaves the agent's clocks as they are."""

    def release(self, time_ns: int, gap_ns: int, most_ns: int | None = None) -> None:
        """Do nothing."""

    def branched(self, branch: Branch, time_ns: int) -> None:
        """Do nothing."""


type Idle = Callable[[], bool]
"""MUST tell whether no thread of the agent's has anything to do, and cost well under a millisecond."""


type Starved = Callable[[], float]
"""MUST tell how many seconds the agent's threads have waited for a processor so far, added up."""


def never_starved() -> float:
    """Say so of an agent that cannot be looked at."""
    return 0.0


def always_idle() -> bool:
    """Say so of an agent that cannot be looked at."""
    return True
