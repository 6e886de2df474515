"""`hark replay` that goes live at an event and then plays on: what a fork does to clock and randomness.

    python -m tests.support.branching EVENT SHIFT_S fresh|kept WORDS OF HARK...

SHIFT_S is added to the real time that it goes live at, as if this machine's clock were wrong by that. `kept`
leaves the seed as it was, which no fork does.
"""

import os
import sys
import time
from typing import Any, Final

from hark.bundle.events import Branch
from hark.bundle.walk import BundleFile
from hark.cli.main import entry
from hark.rerun import replaying

EVENT, SHIFT_NS = int(sys.argv[1]), int(float(sys.argv[2]) * 1e9)
_Replayed: Final = replaying.Replayed


class Branching(_Replayed):
    """Goes live at the release of one event."""

    def recorder(self, writer: Any) -> Any:
        made = super().recorder(writer)
        with BundleFile(self._recalled.path) as file:
            at_ns = next(placed.frame.time for placed in file.frames() if placed.frame.seq == EVENT)
        release, timing = self.timing.release, self.timing

        def released(time_ns: int, gap_ns: int, most_ns: int | None = None) -> None:
            release(time_ns, gap_ns, most_ns)
            if not timing.live and time_ns >= at_ns - 1:  # a head is let in a nanosecond before its event
                seed = os.urandom(32) if sys.argv[3] == "fresh" else b""
                wall = timing.go_live(time.time_ns() + SHIFT_NS, seed)
                if SHIFT_NS:  # the machine's clock, which threads ask, is right all the same
                    self.boundary.page.go_live(wall - time.time_ns())
                made.append(
                    Branch(self._recalled.verified.root, EVENT, "response", wall, seed, note="a test")
                )

        timing.release = released  # type: ignore[method-assign]
        return made


if __name__ == "__main__":
    replaying.Replayed = Branching  # type: ignore[misc]
    sys.exit(entry(sys.argv[4:]))
