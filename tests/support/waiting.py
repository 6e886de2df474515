"""Wait for what happens elsewhere, in another thread or process, and tells nobody."""

import time
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 60.0  # seconds, for a machine that does much else; what holds is seen at once
_STEP: Final = 0.01


def until(holds: Callable[[], object], what: str = "", patience: float = PATIENCE) -> None:
    """Return once `holds` does. Raises AssertionError when patience ends."""
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience:.0f} s for {what or 'what did not come'}")
        time.sleep(_STEP)


def settled[T](value: Callable[[], T], quiet: float = 1.0, patience: float = PATIENCE) -> T:
    """Return a value that stayed the same for `quiet` seconds. Raises AssertionError when patience ends."""
    deadline = time.monotonic() + patience
    seen, since = value(), time.monotonic()
    while time.monotonic() - since < quiet:
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience:.0f} s for {seen} to stay")
        time.sleep(_STEP)
        if (now := value()) != seen:
            seen, since = now, time.monotonic()
    return seen
