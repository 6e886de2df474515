"""What the mediator is told about one run, as values, and the one thing it must be able to do: record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hark.bundle.events import Event, PolicyLoaded
from hark.policy.model import Policy, Secret

if TYPE_CHECKING:
    from socket import socket

    from mediator.branching import Ahead, InForce
    from mediator.mcp.program import Program
    from mediator.playback.playback import Playback
    from mediator.proxy import Proxies


class Recorder(Protocol):
    """Where events go. The bundle writer is one; tests have another."""

    def append(self, event: Event, *, durable: bool = False) -> int:
        """Record `event` and return its sequence number.

        MUST return only once the event is in the file (on the disk too, if `durable`), MUST be callable
        from any thread, and MUST raise `hark.errors.RecordError` otherwise: the caller then kills the flow.
        """
        ...

    def sync(self, seq: int) -> None:
        """Return once event `seq` is on the disk.

        MUST be callable from any thread, MUST not keep `append` waiting meanwhile, and MUST raise RecordError
        otherwise.
        """
        ...


@dataclass(frozen=True, slots=True)
class MediatorConfig:
    """One run's mediation. Secrets carry real values: this object is never logged, pickled or recorded."""

    policy: Policy
    secrets: tuple[Secret, ...] = ()
    upstreams: Mapping[str, str] = field(default_factory=dict)
    """`-upstream HOST=ADDR[:PORT]`: where to dial instead, by canonical host name."""
    upstream_roots: tuple[bytes, ...] = ()
    """`-upstream-ca`: extra PEM roots trusted for upstreams, beside the host's trust store."""
    proxies: Proxies | None = None
    """`-via-proxy`: the caller's proxies, through which upstreams are dialled."""
    mcp: tuple[Program, ...] = ()
    """The tool servers behind doors."""
    host_roots: bytes = b""
    """The host's trust store as PEM (`mediator.trust.host_roots`): what upstreams are verified with."""
    changes: Mapping[int, tuple[Policy, PolicyLoaded]] = field(default_factory=dict)
    """In a replay, the policies that came into force later, by their recorded events."""
    branches: Mapping[int, InForce] = field(default_factory=dict)
    """In a replay of a fork, what came into force where it went live, by the recorded events of that."""
    ahead: Ahead | None = None
    """In a fork, what comes into force where it goes live."""
    whose: Callable[[], socket | None] = lambda: None
    """Leads to who knows whose a connection is. Called once, from the thread that starts the mediator."""
    near: frozenset[str] = frozenset()
    """In a replay, what the recorded run dialled on its own machine (`mediator.nearby.recorded`)."""
    playback: Playback | None = None
    """What answers in place of servers, in a replay: with it nothing is dialled."""
