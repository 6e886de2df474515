"""What changes where a fork goes live, all in one step; and the same where such a run is replayed.

Always: the record says first that the run is live, then which policy is in force from there; only then is it
in force, with its secrets, tool servers and connections. Nothing that is live can have passed before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hark.bundle.events import Branch, PolicyLoaded
from hark.policy.model import Policy, Secret

if TYPE_CHECKING:
    from hark.replay.pieces import Part
    from mediator.config import MediatorConfig
    from mediator.credentials import Broker
    from mediator.engine import Engine
    from mediator.ledger import Ledger
    from mediator.mcp.doors import Doors
    from mediator.mcp.program import Program
    from mediator.standing import Standing

type Begun = Callable[[int, int], Branch]
"""MUST move the clocks, and return what is recorded of the branch point: from this run's number of the
exchange and the actions that were found equal."""


@dataclass(frozen=True, slots=True)
class InForce:
    """What is in force from a branch point on. Secrets carry real values in a fork: never logged."""

    policy: Policy
    loaded: PolicyLoaded | None = None
    """For the record; None where the policy stays the one that it was."""
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    programs: tuple[Program, ...] = field(default=(), repr=False)
    """Tool servers that are started when they are called; in a replay none are."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """A fork's branch point."""

    begun: Begun
    then: InForce


class Branching:
    """One mediator's. Only used in its event loop."""

    def __init__(
        self,
        config: MediatorConfig,
        ledger: Ledger,
        standing: Standing,
        broker: Broker,
        *,
        engine: Engine,
        doors: Doors,
    ) -> None:
        self._config = config
        self._ledger = ledger
        self._standing = standing
        self._broker = broker
        self._engine = engine
        self._doors = doors

    def go_live(self, exchange: int, verified: int) -> None:
        """Put what a fork has into force. Raises RecordError."""
        ahead = self._config.ahead
        if ahead is None:
            raise RuntimeError("a fork without what comes into force")
        self._ledger.append(ahead.begun(exchange, verified), durable=True)
        self._ledger.begin_anew()
        self._put(ahead.then)

    def pass_by(self, part: Part) -> None:
        """Put into force what came into force when it was recorded. Raises RecordError."""
        from hark.replay.pieces import Branched

        playback = self._config.playback
        if playback is None or not isinstance(part.piece, Branched) or part.piece.event is None:
            return
        event = part.piece.event
        recorded = playback.score.recording.exchanges.get(event.exchange)
        number = playback.score.number_of(recorded)
        self._ledger.append(event._replace(exchange=number), durable=True)
        then = self._config.branches.get(part.seq)
        if then is not None:
            self._put(then)

    def _put(self, then: InForce) -> None:
        if then.loaded is not None:
            self._ledger.append(then.loaded, durable=True)
        self._broker.exchange(then.secrets)
        self._standing.policy = then.policy
        self._doors.branched(then.policy, then.programs)
        self._engine.branched()
