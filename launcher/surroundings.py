"""What a run asks of what stands around its agent: a boundary, or in a test's own process its stand-in.

Always: a boundary contains; what stands in for one contains nothing, and the run's record says so.
"""

from collections.abc import Callable, Mapping
from socket import socket
from typing import TYPE_CHECKING, Protocol

from launcher.intake import Record
from launcher.plan import Sockets
from launcher.report import Ended, Facts

if TYPE_CHECKING:
    from launcher.doorway import Doorway
    from launcher.pages import Log, Page


class Surroundings(Protocol):
    """As `launcher.supervise.Boundary`, whose words it has. Whoever stands in MUST keep to them."""

    begun: bool
    """Whether the agent may have been executed: it was to be, and nothing said that it could not."""

    @property
    def sockets(self) -> Sockets:
        """Where the agent's connections are accepted."""
        ...

    @property
    def facts(self) -> Facts:
        """What is in force."""
        ...

    @property
    def doorway(self) -> "Doorway":
        """The way to published ports; only where the plan has some."""
        ...

    @property
    def page(self) -> "Page":
        """What the shims read; only where the plan has a shim."""
        ...

    @property
    def log(self) -> "Log":
        """As `page`."""
        ...

    def process(self) -> int:
        """Return the process that the agent is or descends from; -1 once it is gone. From any thread."""
        ...

    def whose(self) -> socket | None:
        """Return the channel of `launcher.whose`; None where nobody knows whose a connection is."""
        ...

    def heed(self) -> None:
        """Raise StoppedError where a signal has asked for the end, and the agent was not started."""
        ...

    def start(
        self, files: Mapping[str, bytes], record: Record, meanwhile: Callable[[], object] = bool
    ) -> None:
        """Let the agent go, with these files shown to it, and do `meanwhile` beside its first steps."""
        ...

    def wait(self) -> Ended:
        """Return how the agent ended, once it has, or was killed."""
        ...

    def terminate(self, why: str, grace_s: float) -> None:
        """Ask it to end, and `kill` it after `grace_s`. From any thread."""
        ...

    def kill(self, why: str) -> None:
        """End it at once: nothing of it reaches anything from then on. From any thread, more than once."""
        ...

    def end(self, why: str) -> None:
        """As `kill`; return once nothing of it is left, where it was contained."""
        ...
