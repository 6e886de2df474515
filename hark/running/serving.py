"""The mediator of one run, loaded and made while its agent is being executed.

Always: what may be refused was refused before; what goes wrong here ends the agent, with all that is inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hark.errors import HarkError

if TYPE_CHECKING:
    from mediator.serve import Mediator


class Serving:
    """Used once, from the main thread."""

    def __init__(self, make: Callable[[type[Mediator]], Mediator]) -> None:
        self._make = make
        self._made: Mediator | None = None

    @property
    def mediator(self) -> Mediator:
        """What was started."""
        if self._made is None:
            raise RuntimeError("it was not started")
        return self._made

    def start(self) -> None:
        """Load it and begin to serve."""
        from mediator.serve import Mediator

        try:
            self._made = self._make(Mediator)
            self._made.start()
        except HarkError as error:
            # No refusal any more: the agent may have begun, and the record must not say that it never did.
            raise RuntimeError(f"the mediator could not be started: {error}") from error

    def stop(self) -> None:
        """Stop it, where it was started."""
        if self._made is not None:
            self._made.stop()
