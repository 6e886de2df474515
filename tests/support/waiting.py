"""Wait for what happens elsewhere, in another thread or process, and tells nobody."""

import time
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 20.0  # seconds, for a machine that does much else; what holds is seen at once
_STEP: Final = 0.01


def until(holds: Callable[[], object], what: str = "", patience: float = PATIENCE) -> None:
    """Return once `holds` does. Raises AssertionError when patience ends."""
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience:.0f} s for {what or 'what did not come'}")
        time.sleep(_STEP)
