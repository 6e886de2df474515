"""What is fixed for one accepted connection, for every layer that handles it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from hark.policy.model import Policy
from mediator.authority import Destination, Unproven
from mediator.credentials import Broker
from mediator.held import Room, for_files
from mediator.ledger import Ledger
from mediator.mcp.sessions import Sessions
from mediator.slices import Slices
from mediator.standing import Standing
from mediator.text import as_text
from mediator.transcript import Later

if TYPE_CHECKING:
    from mediator.playback.playback import Playback


@dataclass(frozen=True, slots=True)
class Link:
    """An accepted, allowed connection: where it goes, and what judges and records it."""

    target: Destination
    tls: bool
    sni: bytes | None
    standing: Standing
    broker: Broker
    ledger: Ledger
    clock: Callable[[], int]
    """Monotonic nanoseconds."""
    playback: Playback | None = None
    """What answers in place of servers, in a replay."""
    later: Later | None = None
    """For the heads of responses that go on."""
    sessions: Sessions = field(default_factory=Sessions)
    """Tool calls over HTTP that wait for their results: the whole run's."""
    process: int = 0
    """Of the agent's, that made it; 0: unknown."""
    room: Room = field(default_factory=Room)
    """For bodies that are held: the whole run's."""
    files: Room = field(default_factory=for_files)
    """For packed files that are held, likewise."""
    slices: Slices = field(default_factory=Slices)
    """Does what would keep everybody waiting: the whole run's."""
    began: int = 0
    """When the run began, by `clock`."""
    near: bool = False
    """Whether a service of this machine answers, by the operator's word (`mediator.nearby`)."""

    @property
    def receiver(self) -> Destination:
        """Return who would be given a credential: the target, or whoever answers where nothing proves it."""
        return self.target if self.tls or self.near else Unproven(self.target.host, self.target.port)

    @property
    def policy(self) -> Policy:
        """Return the policy in force: it may have changed since the connection began."""
        return self.standing.policy

    def now(self) -> datetime:
        """Return the time that rules are judged by."""
        return self.standing.now()

    @property
    def age_s(self) -> float:
        """Return for how many seconds the run has gone on."""
        return (self.clock() - self.began) / 1e9

    @property
    def live(self) -> bool:
        """Tell whether servers are asked: always, but in a replay and in a fork before its branch point."""
        return self.playback is None or self.playback.live

    @property
    def beyond(self) -> bool:
        """Tell whether the run is beyond a fork's branch point, where the world is not changed again."""
        return self.playback is not None and self.playback.beyond

    @property
    def protocol(self) -> str:
        """Return the word for the record."""
        return "https" if self.tls else "http"

    @property
    def sni_text(self) -> str:
        """Return the server name for the record."""
        return as_text(self.sni or b"")
